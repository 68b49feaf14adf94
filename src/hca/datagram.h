// SPDX-License-Identifier: Apache-2.0
// What passes between a queue pair and the port it sends through.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "hca/types.h"

namespace weft::hca {

// A packet on its way out: transport headers inline, payload by reference, pad and ICRC to follow.
// The port adds addressing, pad bytes (zero) and the ICRC.
struct OutPacket {
  static constexpr std::size_t kMaxHeader = 44;  // BTH, XRCETH, AtomicETH
  std::array<std::byte, kMaxHeader> header{};
  std::uint8_t header_length = 0;
  std::uint8_t pad = 0;              // 0..3
  std::uint32_t payload_length = 0;  // bytes, without pad
  std::uint32_t first_piece = 0;     // into Burst::pieces
  std::uint32_t piece_count = 0;

  // Bytes from the first header byte to the last pad byte.
  [[nodiscard]] std::size_t length() const { return header_length + payload_length + pad; }
};

// The unit between an engine and its port: one destination, packets of one length except that the
// last may be shorter; at most kMaxPackets packets and kMaxBytes bytes on the wire below IP. A port
// hands the whole of it to the kernel in one call. Payload stays valid until the sink returns.
class Burst {
 public:
  static constexpr std::size_t kMaxPackets = 64;
  static constexpr std::size_t kMaxBytes = 65'507;  // largest UDP payload over IPv4
  static constexpr std::size_t kNoLimit = ~std::size_t{0};

  void clear() {
    count_ = 0;
    bytes_ = 0;
    alone_above = kNoLimit;
    raw.reset();
    pieces_.clear();
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::span<const OutPacket> packets() const { return {packets_.data(), count_}; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // trailers included
  [[nodiscard]] std::span<const Bytes> pieces(const OutPacket& packet) const {
    return std::span<const Bytes>(pieces_).subspan(packet.first_piece, packet.piece_count);
  }

  // Whether a packet of `length` bytes (as OutPacket::length, without `trailer`) may follow.
  [[nodiscard]] bool takes(std::size_t length, std::size_t trailer) const {
    if (count_ == 0) return true;
    const std::size_t first = packets_[0].length();
    return count_ < kMaxPackets && first <= alone_above && length <= first &&
           packets_[count_ - 1].length() == first && bytes_ + length + trailer <= kMaxBytes;
  }
  // How many of that length may follow, for which the burst goes on as long as before.
  [[nodiscard]] std::size_t room(std::size_t length, std::size_t trailer) const {
    if (count_ == 0 || packets_[0].length() != length || length > alone_above ||
        packets_[count_ - 1].length() != length) {
      return 0;
    }
    return std::min(kMaxPackets - count_, (kMaxBytes - bytes_) / (length + trailer));
  }
  // A packet with the headers of `model`, one of the burst that has one piece, and another piece as
  // long. Of a run, give the first: headers that have just been changed cannot be copied at once.
  OutPacket& repeat(const OutPacket& model, Bytes piece, std::size_t trailer) {
    assert(count_ > 0 && count_ < kMaxPackets && piece.size() == model.payload_length);
    OutPacket& packet = packets_[count_];
    packet = model;
    packet.first_piece = static_cast<std::uint32_t>(pieces_.size());
    pieces_.push_back(piece);
    close(packet, trailer);
    return packet;
  }
  // So many of them, whose payload lies side by side from `data` on.
  std::span<OutPacket> repeat(const OutPacket& model, const std::byte* data, std::size_t count,
                              std::size_t trailer) {
    assert(count_ > 0 && count <= kMaxPackets - count_);
    const std::span<OutPacket> packets(packets_.data() + count_, count);
    auto piece = static_cast<std::uint32_t>(pieces_.size());
    pieces_.resize(piece + count);
    for (OutPacket& packet : packets) {
      packet = model;
      pieces_[piece] = {data, model.payload_length};
      packet.first_piece = piece++;
      data += model.payload_length;
    }
    count_ += count;
    bytes_ += count * (model.length() + trailer);
    return packets;
  }
  // The next packet, whose pieces the caller appends with add_piece before calling close.
  OutPacket& open() {
    OutPacket& packet = packets_[count_];
    packet.first_piece = static_cast<std::uint32_t>(pieces_.size());
    packet.piece_count = 0;
    packet.pad = 0;
    packet.payload_length = 0;
    return packet;
  }
  void add_piece(OutPacket& packet, Bytes piece) {
    pieces_.push_back(piece);
    ++packet.piece_count;
    packet.payload_length += static_cast<std::uint32_t>(piece.size());
  }
  // The packet of a burst that has one; and adds to its header what has been written behind it.
  [[nodiscard]] OutPacket& only() {
    assert(count_ == 1);
    return packets_[0];
  }
  void lengthen_header(std::size_t bytes) {
    OutPacket& packet = only();
    packet.header_length = static_cast<std::uint8_t>(packet.header_length + bytes);
    bytes_ += bytes;
    assert(packet.header_length <= OutPacket::kMaxHeader);
  }
  void close(const OutPacket& packet, std::size_t trailer) {
    bytes_ += packet.length() + trailer;
    ++count_;
  }

  Path path{};
  Qpn destination{};
  // Packets are whole ones, from the LRH on, in their pieces, and the port adds what they lack: the
  // VCRC, and what this says. `path` and `destination` say nothing then.
  struct Raw {
    bool make_icrc = false;
    std::optional<PKey> pkey;
    friend bool operator==(const Raw&, const Raw&) = default;
  };
  std::optional<Raw> raw;
  // Nothing follows a packet that is longer than this. clear() sets it to no limit.
  std::size_t alone_above = kNoLimit;

 private:
  std::array<OutPacket, kMaxPackets> packets_;
  std::vector<Bytes> pieces_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

enum class SendOutcome : std::uint8_t {
  kSent,        // the wire has it
  kWouldBlock,  // nothing was taken: offer it again later
  kRefused,     // the wire cannot carry it (no route, too long, bad local memory): see `reason`
};

struct SendResult {
  SendOutcome outcome = SendOutcome::kSent;
  CompletionStatus reason = CompletionStatus::kSuccess;  // with kRefused
};

// What a queue pair sends through. A burst is taken whole or not at all.
class BurstSink {
 public:
  virtual ~BurstSink() = default;
  virtual SendResult send(const Burst& burst) = 0;
};

// A packet that arrived for a raw queue pair, as it lay on the link, in up to three stretches: all
// headers are in the first. Others may be writing to the payload.
struct RawPacket {
  Qpn to{};  // the queue pair
  Bytes header{};
  Bytes payload{};
  Bytes trailer{};
  bool sealed = true;  // else its ICRC and VCRC are not filled in, but there is room for them

  [[nodiscard]] std::size_t size() const { return header.size() + payload.size() + trailer.size(); }
};

// A datagram that arrived, stripped by the port of everything below the transport header, its
// ICRC verified and removed.
struct InDatagram {
  // Whether LIDs brought it here, as on a fabric.
  [[nodiscard]] bool by_lid() const { return dlid != Lid{}; }

  // What the packet carries, given what follows its transport headers there and its pad count.
  // Nothing: it is shorter than it says.
  [[nodiscard]] std::optional<Bytes> payload(Bytes rest, std::size_t pad) const {
    if (apart.empty()) {
      if (rest.size() < pad) return std::nullopt;
      return rest.first(rest.size() - pad);
    }
    if (!rest.empty()) return std::nullopt;
    return apart;
  }

  const RawPacket* raw = nullptr;  // with this, nothing else says anything
  Bytes transport{};               // BTH .. pad; on a wire without headers, the message itself
  // Where the payload lies apart, `transport` is the headers alone, and this the payload without
  // pad bytes, in memory that others may be writing to: it is read once.
  Bytes apart{};
  // Null where there is none, as of a packet without a GRH, and where none is shown: connections.
  const std::array<std::byte, kGrhArea>* network_header = nullptr;
  Gid source{};       // sender's address; zero for a packet that is not global
  Gid destination{};  // the address it was sent to; a multicast group for multicast
  std::uint32_t scope_id = 0;
  Qpn source_qpn{};  // wires without headers: the sender's UDP port
  std::uint8_t traffic_class = 0;
  bool multicast = false;
  bool global = true;  // it says GIDs: always on the wires of IP, with a GRH on a fabric
  // Fabrics; zeros elsewhere.
  Lid slid{};
  Lid dlid{};
  std::uint8_t path_bits = 0;  // of `dlid`, below the port's LMC; 0 of a multicast LID
  Sl sl{};
};

// What the network says of a packet that was sent: it did not get there. Not authenticated, so a
// hint at most.
struct Undelivered {
  // Nobody listens at the port (RFC 1122 calls that hard); or no way to it (soft).
  enum class Reason : std::uint8_t { kRefused, kUnreachable };
  Reason reason = Reason::kUnreachable;
  Gid destination{};  // of the packet
  Bytes transport{};  // what is quoted of it, from the BTH on: at least a BTH
};

}  // namespace weft::hca

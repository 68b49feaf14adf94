// SPDX-License-Identifier: Apache-2.0
#include "port/ring/link_frame.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "port/ring/block_copy.h"
#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/opcode.h"
#include "wire/packet.h"

namespace weft::port {
namespace {

constexpr Lid kFirstMulticastLid{0xC000};  // IBA 4.1.3
constexpr std::size_t kShortest =
    wire::Lrh::kSize + wire::Bth::kSize + wire::kIcrcSize + wire::kVcrcSize;

// Whether `headers`, the front of a packet of `size` bytes, has all that the checks below and the
// ICRC read, and says how long the packet is.
bool headers_agree(Bytes headers, std::size_t size) {
  if (size < kShortest || headers.size() < wire::Lrh::kSize) return false;
  const wire::Lrh lrh = wire::Lrh::read(headers);
  const bool global = lrh.next_header == wire::Lnh::iba_global;
  if (!global && lrh.next_header != wire::Lnh::iba_local) return false;
  if (lrh.packet_bytes() != size - wire::kVcrcSize) return false;
  const std::size_t needed = wire::link_headers_size(headers);
  return headers.size() >= needed && size >= needed + wire::kIcrcSize + wire::kVcrcSize;
}

// What is looked at is the copy: the other may be written to by whoever made it.
bool copy_headers(const LinkPieces& packet, LinkFrame& frame) {
  frame.size = packet.size();
  if (frame.size > frame.bytes.size()) return false;
  std::copy(packet.header.begin(), packet.header.end(), frame.bytes.begin());
  return headers_agree(Bytes(frame.bytes).first(packet.header.size()), frame.size);
}

// Whether `front`, which has a BTH, ends with the transport headers, and a trailer of so many bytes
// begins with the pad bytes: what lies between them is the payload then. Of packets by the
// standard; what Weft peers say to each other besides is read more than once.
bool is_all_headers(Bytes front, std::size_t trailer) {
  const std::size_t before = wire::link_headers_size(front) - wire::Bth::kSize;
  const wire::Bth bth = *wire::Bth::parse(front.subspan(before));
  const wire::OpcodeInfo& info = wire::info(bth.opcode);
  return info.known() && info.transport != wire::Transport::vendor &&
         front.size() == before + wire::Bth::kSize + info.headers_size &&
         trailer == bth.pad_count + wire::kIcrcSize + wire::kVcrcSize;
}

// Where a packet comes from and goes to, into `out`, which is new; `transport` becomes all that
// follows that.
void address(Bytes packet, std::uint8_t lmc, GrhArea& grh, hca::InDatagram& out) {
  const wire::Lrh lrh = wire::Lrh::read(packet);
  out.global = lrh.next_header == wire::Lnh::iba_global;
  out.slid = lrh.slid;
  out.dlid = lrh.dlid;
  out.sl = lrh.sl;
  if (lrh.dlid < kFirstMulticastLid) {
    out.path_bits = static_cast<std::uint8_t>(lrh.dlid.value() & ((1u << lmc) - 1));
  }
  out.transport = packet.subspan(wire::Lrh::kSize);
  if (!out.global) return;
  std::copy_n(out.transport.begin(), grh.size(), grh.begin());
  const wire::Grh header = *wire::Grh::parse(out.transport);
  out.network_header = &grh;
  out.source = header.sgid;
  out.destination = header.dgid;
  out.traffic_class = header.traffic_class;
  out.multicast = header.dgid.is_multicast();
  out.transport = out.transport.subspan(wire::Grh::kSize);
}

// Copies stretches of a packet to one place and runs the ICRC over what it covers.
class Joining {
 public:
  // `covered`: bytes before the ICRC. `front` is copied, and its ICRC taken, already.
  Joining(std::byte* to, std::size_t covered, Bytes front)
      : to_(to), covered_(covered), at_(front.size()), crc_(wire::link_icrc_front(front)) {}

  void add(Bytes piece) {
    const std::size_t inside = std::min(piece.size(), covered_ - std::min(covered_, at_));
    crc_ = wire::crc32_copy(crc_, to_ + at_, piece.first(inside));
    std::copy(piece.begin() + static_cast<std::ptrdiff_t>(inside), piece.end(), to_ + at_ + inside);
    at_ += piece.size();
  }
  [[nodiscard]] FrameVerdict verdict() const {
    const bool right = wire::load_le32(to_ + covered_) == wire::crc32_finish(crc_);
    return right ? FrameVerdict::kGood : FrameVerdict::kBadIcrc;
  }

 private:
  std::byte* to_;
  std::size_t covered_;
  std::size_t at_;
  std::uint32_t crc_;
};

}  // namespace

std::size_t Route::packet_size(const hca::OutPacket& packet) const {
  return size() + packet.length() + wire::kIcrcSize + wire::kVcrcSize;
}

Route route_of(const hca::Path& path, const PortFacts& facts) {
  const PortAttributes& port = facts.attributes;
  Route out;
  out.lrh.sl = path.sl;
  out.lrh.dlid = path.dlid;
  out.lrh.slid = Lid{
      static_cast<std::uint16_t>(port.lid.value() | (path.source_path_bits & facts.path_mask()))};
  if (!path.global) return out;
  out.lrh.next_header = wire::Lnh::iba_global;
  out.grh = wire::Grh{.traffic_class = path.traffic_class,
                      .flow_label = path.flow_label,
                      .hop_limit = path.hop_limit,
                      .sgid = port.gids[path.sgid_index].gid,
                      .dgid = path.dgid};
  return out;
}

std::size_t write_link_headers(const Route& route, const hca::OutPacket& packet, MutableBytes out) {
  wire::Lrh lrh = route.lrh;
  lrh.packet_words = static_cast<std::uint16_t>((route.packet_size(packet) - wire::kVcrcSize) / 4);
  lrh.write(out);
  if (route.grh) {
    wire::Grh grh = *route.grh;
    grh.payload_length = static_cast<std::uint16_t>(packet.length() + wire::kIcrcSize);
    grh.write(out.subspan(wire::Lrh::kSize));
  }
  std::copy_n(packet.header.data(), packet.header_length, out.data() + route.size());
  return route.size() + packet.header_length;
}

void write_link_packet(const Route& route, const hca::OutPacket& packet,
                       std::span<const Bytes> payload, MutableBytes block, ring::SendSlot& slot) {
  const MutableBytes header(slot.header);
  std::byte* at = header.data() + write_link_headers(route, packet, header);
  const bool apart = !route.fits_header(packet);
  assert(!apart || block.size() >= packet.payload_length);
  std::byte* to = apart ? block.data() : at;
  for (const Bytes piece : payload)
    to = apart ? ring::copy_to_block(piece, to) : std::copy(piece.begin(), piece.end(), to);
  if (!apart) at = to;
  slot.header_size = static_cast<std::uint8_t>(at - header.data());
  slot.payload_size = apart ? packet.payload_length : 0;
  slot.trailer_size = static_cast<std::uint8_t>(packet.pad + wire::kIcrcSize + wire::kVcrcSize);
  slot.trailer = {};
  slot.unsealed = 1;
}

FrameVerdict join_link_packet(const LinkPieces& packet, LinkFrame& frame) {
  if (!copy_headers(packet, frame)) return FrameVerdict::kMalformed;
  const std::size_t covered = frame.size - wire::kIcrcSize - wire::kVcrcSize;
  const std::size_t front = std::min(packet.header.size(), covered);
  Joining joining(frame.bytes.data(), covered, Bytes(frame.bytes).first(front));
  joining.add(packet.header.subspan(front));
  joining.add(packet.payload);
  joining.add(packet.trailer);
  return joining.verdict();
}

FrameVerdict join_unsealed_packet(const LinkPieces& packet, LinkFrame& frame) {
  if (!copy_headers(packet, frame)) return FrameVerdict::kMalformed;
  std::byte* const at = std::copy(packet.payload.begin(), packet.payload.end(),
                                  frame.bytes.data() + packet.header.size());
  std::copy(packet.trailer.begin(), packet.trailer.end(), at);
  return FrameVerdict::kGood;
}

FrameVerdict check_link_packet(Bytes packet) {
  if (!headers_agree(packet, packet.size())) return FrameVerdict::kMalformed;
  const Bytes covered = packet.first(packet.size() - wire::kIcrcSize - wire::kVcrcSize);
  const std::uint32_t icrc = wire::load_le32(covered.data() + covered.size());
  return wire::link_icrc(covered) == icrc ? FrameVerdict::kGood : FrameVerdict::kBadIcrc;
}

hca::InDatagram link_datagram(Bytes packet, std::uint8_t lmc, GrhArea& grh) {
  hca::InDatagram out;
  address(packet, lmc, grh, out);
  out.transport = out.transport.first(out.transport.size() - wire::kIcrcSize - wire::kVcrcSize);
  return out;
}

std::optional<hca::InDatagram> datagram_in_place(const LinkPieces& packet, std::uint8_t lmc,
                                                 LinkFrame& frame, GrhArea& grh) {
  std::optional<hca::InDatagram> out;
  if (packet.payload.empty() || !copy_headers(packet, frame)) return out;
  const Bytes headers = Bytes(frame.bytes).first(packet.header.size());
  if (!is_all_headers(headers, packet.trailer.size())) return out;
  // Made where it stays: to copy it would be to read what has only just been written in parts.
  address(headers, lmc, grh, out.emplace());
  out->apart = packet.payload;
  return out;
}

}  // namespace weft::port

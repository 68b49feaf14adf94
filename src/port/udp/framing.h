// SPDX-License-Identifier: Apache-2.0
// Bursts to datagrams and back (docs/wire-udp.md, docs/wire-roce.md).
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "hca/datagram.h"
#include "io/udp_socket.h"
#include "port/port.h"
#include "port/udp/udp_counters.h"
#include "port/udp/wire_rules.h"
#include "wire/roce.h"

namespace weft::port {

class Capture;

inline constexpr std::size_t kIcrcBytes = 4;

// The ICRC of the flow used last: the next datagram is nearly always of the same one.
class IcrcFlowCache {
 public:
  const wire::IcrcFlow& get(const Gid& source, const Gid& destination, std::uint16_t source_port,
                            std::uint16_t destination_port);

 private:
  Gid source_;
  Gid destination_;
  std::uint16_t source_port_ = 0;
  std::uint16_t destination_port_ = 0;
  std::optional<wire::IcrcFlow> flow_;
};

// The IPv4 Identifications that the kernel gives to what one send makes: 0, 1, 2, ... to the
// datagrams of a segmented one, 0 to one that leaves alone (both with the don't-fragment bit and
// from an unconnected socket).
enum class Identification : std::uint8_t { kCounted, kZero };

// A burst, or several that go the same way, as the datagrams that carry it. Used again and again;
// refers to the burst's memory.
class SendFrames {
 public:
  // At most as many packets and bytes in all as a burst may have.
  void build(std::span<const hca::Burst* const> bursts, const WireRules& rules,
             std::uint16_t source_port, Identification identification);

  [[nodiscard]] const io::SocketAddress& destination() const { return destination_; }
  [[nodiscard]] std::span<const iovec> all() const { return pieces_; }
  // One frame of them; valid until the next call.
  [[nodiscard]] std::span<const iovec> one(std::size_t frame);
  [[nodiscard]] std::size_t frame_length(std::size_t frame) const { return lengths_[frame]; }
  void record(Capture& capture);

 private:
  static constexpr std::size_t kFrames = hca::Burst::kMaxPackets;

  void add(Bytes piece);
  Bytes stage(Bytes piece);
  void stage(const hca::Burst& burst, const wire::IcrcFlow& flow);
  void refer_to(const hca::Burst& burst);
  void seal(const wire::IcrcFlow& flow);
  // What the ICRC of that frame covers.
  [[nodiscard]] std::uint16_t identification_of(std::size_t frame) const {
    return static_cast<std::uint16_t>(counted_ ? frame : 0);
  }

  IcrcFlowCache flows_;
  io::SocketAddress destination_;
  Gid source_;
  std::uint16_t source_port_ = 0;
  std::uint8_t traffic_class_ = 0;
  std::uint8_t hop_limit_ = 0;
  std::size_t count_ = 0;
  bool counted_ = false;  // the ICRC of frame i covers Identification i
  // Frames, as they go. All are multiples of 4 bytes long, and payload is copied faster to where
  // that is known of its address. Behind the last one there is room for the longest header.
  alignas(64) std::array<std::byte, hca::Burst::kMaxBytes + hca::OutPacket::kMaxHeader> staging_;
  std::size_t staged_ = 0;
  bool unsealed_ = false;  // some of them have no ICRC yet
  std::array<std::size_t, kFrames> lengths_{};
  std::vector<iovec> pieces_;     // what lies side by side in memory is one
  std::vector<iovec> one_frame_;  // of one()
};

// The first datagram of a run, which may be all of it.
[[nodiscard]] Bytes first_frame(Bytes run, const io::ReceivedDatagram& datagram);
// False too for what is too short to have an ICRC.
[[nodiscard]] bool icrc_is_right(Bytes frame, const wire::IcrcFlow& flow, const WireRules& rules);
[[nodiscard]] bool is_right(wire::IcrcVerdict verdict, const WireRules& rules);

// What one receive brought, taken apart into the datagrams of a run.
class ReceivedFrames {
 public:
  ReceivedFrames(Bytes bytes, const io::ReceivedDatagram& datagram, std::uint16_t local_port,
                 const WireRules& rules);

  [[nodiscard]] std::size_t count() const;
  // Verifies each and hands the good ones on; counts the others.
  // `first_is_good`: the first one's ICRC has been verified already.
  void deliver(DatagramSink& sink, UdpCounters& counters, IcrcFlowCache& flows, Capture* capture,
               bool first_is_good) const;

 private:
  [[nodiscard]] std::array<std::byte, hca::kGrhArea> network_header(std::size_t length) const;
  void record(Capture& capture, Bytes frame, const wire::IcrcFlow& flow) const;
  [[nodiscard]] std::uint16_t identification(Bytes frame, const wire::IcrcFlow& flow) const;

  Bytes bytes_;
  const io::ReceivedDatagram& datagram_;
  std::uint16_t local_port_;
  const WireRules& rules_;
  std::size_t segment_;
};

}  // namespace weft::port

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "hca/ud_queue_pair.h"

namespace weft::port {

// The UDP port of queue pair 1 on wire `udp`, unless configured; no other queue pair is given it.
inline constexpr std::uint16_t kManagementPort = 14791;

// Of a queue pair number on wire `roce`: the bits from here on say at which socket its packets
// arrive, where the peer is Weft.
inline constexpr unsigned kSlotShift = 16;

// In what the wires on UDP sockets differ.
struct WireRules {
  hca::UdFraming framing = hca::UdFraming::kBth;
  std::uint16_t fixed_port = 0;       // UDP destination of every packet; 0: told by its DestQP
  std::uint16_t management_port = 0;  // that of queue pair 1, where others have theirs by number
  // The ICRC covers the IPv4 Identification that the packet carries, as the standard has it, and
  // not zero: 0, 1, 2, ... over the datagrams of one send.
  bool counts_identification = false;

  // Whether a right ICRC says which of our addresses a datagram was sent to. Where the
  // Identification is unknown, one in 65,536 wrong ones passes for right.
  [[nodiscard]] bool icrc_tells_destination() const {
    return framing == hca::UdFraming::kBth && !counts_identification;
  }
  // RoCEv2 packets are never fragmented (annex A17), and the ICRC would not survive it.
  [[nodiscard]] bool may_fragment() const { return fixed_port == 0; }
  [[nodiscard]] std::uint16_t port_of(Qpn destination) const {
    if (fixed_port != 0) return fixed_port;
    if (destination == kQp1) return management_port;
    return static_cast<std::uint16_t>(destination.value());
  }
  // Whether packets to both arrive at one socket of a host. Those of one send must: its receiver
  // may find its socket for all of them by the first.
  [[nodiscard]] bool share_socket(Qpn one, Qpn other) const {
    if (fixed_port == 0) return port_of(one) == port_of(other);
    return one.value() >> kSlotShift == other.value() >> kSlotShift;
  }
};

}  // namespace weft::port

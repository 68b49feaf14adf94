// SPDX-License-Identifier: Apache-2.0
// What tells the flow of a packet from others: all packets of one flow have the same, so that who
// sends each to one place keeps their order.
//
//   always                SLID, DLID; destination QP, but of raw packets
//   where there is a GRH  SGID, DGID
//   datagrams             source QP (DETH)
//   IPoIB, EoIB, raw IP   addresses, protocol, and ports of TCP, UDP and SCTP
//
// IPoIB is recognised by its four bytes before the packet (RFC 4391), EoIB by those of its own, and
// either only where what follows is an IP packet of just the length that there is, since any other
// datagram may begin so. Fragments have no ports: they are of the flow of their hosts. The LAN of
// Weft sends a frame in several datagrams, of which the first alone has headers: its flows are
// those between its ports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace weft::hca {

struct PacketFlow {
  // Each at a place of its own; zeros where the packet has none.
  static constexpr std::size_t kSlid = 0;
  static constexpr std::size_t kDlid = 2;
  static constexpr std::size_t kDestinationQp = 4;
  static constexpr std::size_t kSourceQp = 7;
  static constexpr std::size_t kProtocol = 10;
  static constexpr std::size_t kIpVersion = 11;  // 4 or 6
  static constexpr std::size_t kGids = 12;       // SGID, DGID
  static constexpr std::size_t kAddresses = 44;  // source, destination: 4 or 16 bytes each
  static constexpr std::size_t kPorts = 76;      // source, destination
  static constexpr std::size_t kSize = 80;

  std::array<std::byte, kSize> bytes{};
  bool global = false;  // has GIDs
  bool inner = false;   // has addresses of IP

  friend bool operator==(const PacketFlow&, const PacketFlow&) = default;
};

// Of a packet from its LRH on: `header` and then `payload`, which may be empty; whatever is behind
// the payload does not matter. Of one that ends early, the flow is told by what is there. The
// payload may be where others write at the same time: its bytes are copied before they are looked
// at.
[[nodiscard]] PacketFlow flow_of(Bytes header, Bytes payload);

}  // namespace weft::hca

// SPDX-License-Identifier: Apache-2.0
// A frame of Ethernet as hosts with RoCE send it, and how it is carried between sites: as a raw
// packet of InfiniBand (IBA 5.3), whose EtherType says that a whole frame follows.
//
//   LRH | raw header, EtherType 0x6558 | frame, from the destination address | zeros | VCRC
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "link/packet.h"
#include "link/packet_pool.h"
#include "wan/encapsulation/ends.h"

namespace weft::wan {

struct HostFrame {
  static constexpr std::size_t kHeader = 14;  // of Ethernet

  enum class Kind : std::uint8_t {
    kRoce,        // a RoCEv2 packet
    kResolution,  // ARP (RFC 826), or a neighbour's solicitation or advertisement (RFC 4861)
    kOther,
    kMalformed,  // of the first two, but it cannot be; or no frame at all
  };
  Kind kind = Kind::kMalformed;
  MacAddress destination{};
  MacAddress source{};
  std::uint8_t traffic_class = 0;  // of a RoCEv2 packet: DSCP and ECN
  // Without what Ethernet fills short frames up with. Points into what was read.
  Bytes bytes{};

  // From the destination address, without FCS and VLAN tags.
  [[nodiscard]] static HostFrame read(Bytes frame);
  [[nodiscard]] bool to_group() const { return (destination[0] & 1) != 0; }
};

// The longest packet that carries one, LRH through VCRC.
inline constexpr std::size_t kLongestRawPacket = 4096 + 124 + 2;

// The packet that carries it on this lane, if it is one of the first two kinds; `mark`: it says
// that its way was congested (RFC 3168) where its ends want to know, which its ICRC bears. Null:
// the pool is used up, or the frame is too long.
[[nodiscard]] link::PacketPtr raw_packet(const HostFrame& frame, Vl vl, bool mark,
                                         link::PacketPool& pool);
// What such a packet carries, in `room`, of kLongestRawPacket bytes. kMalformed: it is no such
// packet; kOther: nothing that is carried.
[[nodiscard]] HostFrame carried_frame(const link::Packet& packet, MutableBytes room);

}  // namespace weft::wan

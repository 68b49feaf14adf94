// SPDX-License-Identifier: Apache-2.0
// From an Ethernet frame or an IP packet to the RoCEv2 packet in it. Which UDP port means RoCEv2 is
// the caller's business: any port is accepted here. IPv6 extension headers are not followed.
#pragma once

#include "base/bytes.h"
#include "wire/ip.h"
#include "wire/packet.h"

namespace weft::wire {

// Spans point into the bytes parsed.
struct RoceFrame {
  Datagram datagram;
  Bytes ip_header{};  // with IPv4 options, if any
  Bytes udp_header{};
  Bytes transport{};  // BTH through ICRC: all that UDP carries
};

// Ethernet from the destination address, without FCS; VLAN tags are skipped, padding is ignored.
[[nodiscard]] Walked<RoceFrame> parse_ethernet(Bytes frame);
// From the IP header; bytes after the IP packet are ignored.
[[nodiscard]] Walked<RoceFrame> parse_ip(Bytes packet);

// Whether the ICRC that the frame carries is right for its headers; false if it has none.
[[nodiscard]] bool check_icrc(const RoceFrame& frame);

}  // namespace weft::wire

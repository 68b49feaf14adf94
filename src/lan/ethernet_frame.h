// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/mac_address.h"

namespace weft::lan {

// What a LAN port looks at of an Ethernet frame, of Ethernet II or IEEE 802.3 with LLC alike: it
// carries all of them, and knows a few protocols.
struct EthernetFrame {
  static constexpr std::uint16_t kIpv4 = 0x0800;
  static constexpr std::uint16_t kArp = 0x0806;
  static constexpr std::uint16_t kIpv6 = 0x86DD;

  MacAddress destination{};
  MacAddress source{};
  unsigned tags = 0;       // of VLANs (IEEE 802.1Q, 9.4), at most kMostVlanTags are looked behind
  std::uint16_t type = 0;  // behind them; below 0x0600 it is a length (IEEE 802.3, 3.2.6)
  Bytes payload{};         // behind that, with what short frames are filled up with

  // From the destination address on, without FCS. Nothing: it is too short for its header.
  [[nodiscard]] static std::optional<EthernetFrame> read(Bytes frame);
  // Of ARP (RFC 826), or a neighbour's solicitation or advertisement (RFC 4861): whoever sends it
  // is about to say more to whom it is for.
  [[nodiscard]] bool is_resolution() const;
};

}  // namespace weft::lan

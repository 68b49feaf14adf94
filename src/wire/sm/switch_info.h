// SPDX-License-Identifier: Apache-2.0
// SwitchInfo, IBA 14.2.5.4.
//
//   byte 0-1 LinearFDBCap  2-3 RandomFDBCap  4-5 MulticastFDBCap  6-7 LinearFDBTop  8 DefaultPort
//   9 DefaultMulticastPrimaryPort  10 DefaultMulticastNotPrimaryPort
//   11 LifeTimeValue(5) PortStateChange(1) OptimizedSLtoVLMappingProgramming(2)
//   12-13 LIDsPerPort  14-15 PartitionEnforcementCap
//   16 InboundEnforcementCap(1) OutboundEnforcementCap(1) FilterRawInboundCap(1)
//      FilterRawOutboundCap(1) EnhancedPort0(1) rsv(3)  17 rsv  18-19 MulticastFDBTop
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

struct SwitchInfo {
  static constexpr std::size_t kSize = 20;

  std::uint16_t linear_cap = 0;     // entries of the linear forwarding table
  std::uint16_t random_cap = 0;     // of a random one; a switch has one kind only
  std::uint16_t multicast_cap = 0;  // of the multicast forwarding table
  Lid linear_top{};                 // LIDs above it are not forwarded
  std::uint8_t default_port = 0;
  std::uint8_t default_multicast_primary_port = 0;
  std::uint8_t default_multicast_not_primary_port = 0;
  std::uint8_t life_time = 0;           // 5 bits: 4.096 us * 2^n, above 19 for ever
  bool port_state_change = false;       // a link came up or went down; written as 1 to clear it
  std::uint8_t optimized_sl_to_vl = 0;  // 2 bits
  std::uint16_t lids_per_port = 0;      // of random forwarding tables
  std::uint16_t partition_enforcement_cap = 0;  // P_Key entries of each external port
  bool inbound_enforcement_cap = false;
  bool outbound_enforcement_cap = false;
  bool filter_raw_inbound_cap = false;
  bool filter_raw_outbound_cap = false;
  bool enhanced_port0 = false;
  Lid multicast_top{};  // 0: as MulticastFDBCap says

  friend bool operator==(const SwitchInfo&, const SwitchInfo&) = default;

  [[nodiscard]] static std::optional<SwitchInfo> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    const std::uint8_t life = load_u8(at + 11);
    const std::uint8_t caps = load_u8(at + 16);
    return SwitchInfo{.linear_cap = load_be16(at),
                      .random_cap = load_be16(at + 2),
                      .multicast_cap = load_be16(at + 4),
                      .linear_top = Lid{load_be16(at + 6)},
                      .default_port = load_u8(at + 8),
                      .default_multicast_primary_port = load_u8(at + 9),
                      .default_multicast_not_primary_port = load_u8(at + 10),
                      .life_time = static_cast<std::uint8_t>(life >> 3),
                      .port_state_change = (life & 4) != 0,
                      .optimized_sl_to_vl = static_cast<std::uint8_t>(life & 3),
                      .lids_per_port = load_be16(at + 12),
                      .partition_enforcement_cap = load_be16(at + 14),
                      .inbound_enforcement_cap = (caps & 0x80) != 0,
                      .outbound_enforcement_cap = (caps & 0x40) != 0,
                      .filter_raw_inbound_cap = (caps & 0x20) != 0,
                      .filter_raw_outbound_cap = (caps & 0x10) != 0,
                      .enhanced_port0 = (caps & 0x08) != 0,
                      .multicast_top = Lid{load_be16(at + 18)}};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be16(at, linear_cap);
    store_be16(at + 2, random_cap);
    store_be16(at + 4, multicast_cap);
    store_be16(at + 6, linear_top.value());
    store_u8(at + 8, default_port);
    store_u8(at + 9, default_multicast_primary_port);
    store_u8(at + 10, default_multicast_not_primary_port);
    store_u8(at + 11, static_cast<std::uint8_t>(life_time << 3 | (port_state_change ? 4 : 0) |
                                                (optimized_sl_to_vl & 3)));
    store_be16(at + 12, lids_per_port);
    store_be16(at + 14, partition_enforcement_cap);
    store_u8(at + 16, static_cast<std::uint8_t>((inbound_enforcement_cap ? 0x80 : 0) |
                                                (outbound_enforcement_cap ? 0x40 : 0) |
                                                (filter_raw_inbound_cap ? 0x20 : 0) |
                                                (filter_raw_outbound_cap ? 0x10 : 0) |
                                                (enhanced_port0 ? 0x08 : 0)));
    store_u8(at + 17, 0);
    store_be16(at + 18, multicast_top.value());
  }
};

}  // namespace weft::wire

// SPDX-License-Identifier: Apache-2.0
// PathRecord, IBA 15.2.5.16: a path between two ports, as the subnet administrator knows it.
//
//   0-7 ServiceID  8-23 DGID  24-39 SGID  40-41 DLID  42-43 SLID
//   44-47 RawTraffic(1) rsv(3) FlowLabel(20) HopLimit(8)  48 TClass  49 Reversible(1) NumbPath(7)
//   50-51 P_Key  52-53 QoSClass(12) SL(4)  54 MTU  55 Rate  56 PacketLifeTime, each with a
//   selector(2) before its value(6)  57 Preference  58-63 rsv
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "wire/grh.h"
#include "wire/sa/sa_header.h"

namespace weft::wire {

struct PathRecord {
  static constexpr std::uint16_t kAttributeId = 0x0035;
  static constexpr std::size_t kSize = 64;

  // Bits of the ComponentMask of a question.
  static constexpr std::uint64_t kHasServiceId = 3u << 0;
  static constexpr std::uint64_t kHasDgid = 1u << 2;
  static constexpr std::uint64_t kHasSgid = 1u << 3;
  static constexpr std::uint64_t kHasDlid = 1u << 4;
  static constexpr std::uint64_t kHasSlid = 1u << 5;
  static constexpr std::uint64_t kHasRawTraffic = 1u << 6;
  static constexpr std::uint64_t kHasFlowLabel = 1u << 8;
  static constexpr std::uint64_t kHasHopLimit = 1u << 9;
  static constexpr std::uint64_t kHasTrafficClass = 1u << 10;
  static constexpr std::uint64_t kHasReversible = 1u << 11;
  static constexpr std::uint64_t kHasNumbPath = 1u << 12;
  static constexpr std::uint64_t kHasPKey = 1u << 13;
  static constexpr std::uint64_t kHasQosClass = 1u << 14;
  static constexpr std::uint64_t kHasSl = 1u << 15;
  static constexpr std::uint64_t kHasMtuSelector = 1u << 16;
  static constexpr std::uint64_t kHasMtu = 1u << 17;
  static constexpr std::uint64_t kHasRateSelector = 1u << 18;
  static constexpr std::uint64_t kHasRate = 1u << 19;
  static constexpr std::uint64_t kHasLifeSelector = 1u << 20;
  static constexpr std::uint64_t kHasLife = 1u << 21;

  std::uint64_t service_id = 0;
  Gid dgid{};
  Gid sgid{};
  Lid dlid{};
  Lid slid{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  bool reversible = false;
  std::uint8_t paths = 0;  // 7 bits; of a question: the most that are wanted
  PKey pkey{};
  std::uint16_t qos_class = 0;  // 12 bits
  Sl sl{};
  SaValue mtu{};          // 1: 256 … 5: 4096 bytes
  SaValue rate{};         // a code
  SaValue packet_life{};  // 4.096 us * 2^n

  friend bool operator==(const PathRecord&, const PathRecord&) = default;

  [[nodiscard]] static std::optional<PathRecord> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    const std::uint32_t flow_hop = load_be32(at + 44);
    const std::uint16_t class_sl = load_be16(at + 52);
    return PathRecord{.service_id = load_be64(at),
                      .dgid = load_gid(at + 8),
                      .sgid = load_gid(at + 24),
                      .dlid = Lid{load_be16(at + 40)},
                      .slid = Lid{load_be16(at + 42)},
                      .flow_label = flow_hop >> 8 & 0xFFFFF,
                      .hop_limit = static_cast<std::uint8_t>(flow_hop),
                      .traffic_class = load_u8(at + 48),
                      .reversible = (load_u8(at + 49) & 0x80) != 0,
                      .paths = static_cast<std::uint8_t>(load_u8(at + 49) & 0x7F),
                      .pkey = PKey{load_be16(at + 50)},
                      .qos_class = static_cast<std::uint16_t>(class_sl >> 4),
                      .sl = Sl{static_cast<std::uint8_t>(class_sl & 0xF)},
                      .mtu = SaValue::load(at + 54),
                      .rate = SaValue::load(at + 55),
                      .packet_life = SaValue::load(at + 56)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_be64(at, service_id);
    store_gid(at + 8, dgid);
    store_gid(at + 24, sgid);
    store_be16(at + 40, dlid.value());
    store_be16(at + 42, slid.value());
    store_be32(at + 44, (flow_label & 0xFFFFF) << 8 | hop_limit);
    store_u8(at + 48, traffic_class);
    store_u8(at + 49, static_cast<std::uint8_t>((reversible ? 0x80 : 0) | (paths & 0x7F)));
    store_be16(at + 50, pkey.value());
    store_be16(at + 52, static_cast<std::uint16_t>(qos_class << 4 | (sl.value() & 0xF)));
    mtu.store(at + 54);
    rate.store(at + 55);
    packet_life.store(at + 56);
  }
};

}  // namespace weft::wire

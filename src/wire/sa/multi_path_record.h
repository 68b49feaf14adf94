// SPDX-License-Identifier: Apache-2.0
// MultiPathRecord, IBA 15.2.5.20: a question for paths between any of several ports and any of
// several others. The answer has PathRecords.
//
//   0-3 RawTraffic(1) rsv(3) FlowLabel(20) HopLimit(8)  4 TClass  5 Reversible(1) NumbPath(7)
//   6-7 P_Key  8-9 QoSClass(12) SL(4)  10 MTU  11 Rate  12 PacketLifeTime  13 ServiceID (first
//   byte) 14 IndependenceSelector(2) rsv(6)  15 SGIDCount  16 DGIDCount  17-23 ServiceID  24- the
//   GIDs
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wire/grh.h"
#include "wire/sa/path_record.h"
#include "wire/sa/sa_header.h"

namespace weft::wire {

struct MultiPathRecord {
  static constexpr std::size_t kFixedSize = 24;

  // Bits of the ComponentMask; those from kHasFlowLabel to kHasLife are in the order of
  // PathRecord's.
  static constexpr std::uint64_t kHasFlowLabel = 1u << 2;
  static constexpr std::uint64_t kHasLife = 1u << 15;
  static constexpr std::uint64_t kHasSgidCount = 1u << 19;
  static constexpr std::uint64_t kHasDgidCount = 1u << 20;

  PathRecord like{};  // what both kinds of question have in common
  bool independent = false;
  std::vector<Gid> sgids{};
  std::vector<Gid> dgids{};

  // Nothing: fewer GIDs than it says.
  [[nodiscard]] static std::optional<MultiPathRecord> parse(Bytes bytes);
  // What it asks of each path, as PathRecord's ComponentMask.
  [[nodiscard]] static std::uint64_t path_mask(std::uint64_t mask) {
    constexpr unsigned kShift = 6;  // PathRecord::kHasFlowLabel is bit 8
    constexpr std::uint64_t kCommon = (kHasLife << 1) - kHasFlowLabel;
    return (mask & kCommon) << kShift;
  }
};

inline std::optional<MultiPathRecord> MultiPathRecord::parse(Bytes bytes) {
  if (bytes.size() < kFixedSize) return std::nullopt;
  const std::byte* at = bytes.data();
  const std::size_t sources = load_u8(at + 15);
  const std::size_t destinations = load_u8(at + 16);
  if (bytes.size() < kFixedSize + (sources + destinations) * sizeof(Gid)) return std::nullopt;
  MultiPathRecord record;
  const std::uint32_t flow_hop = load_be32(at);
  const std::uint16_t class_sl = load_be16(at + 8);
  record.like.flow_label = flow_hop >> 8 & 0xFFFFF;
  record.like.hop_limit = static_cast<std::uint8_t>(flow_hop);
  record.like.traffic_class = load_u8(at + 4);
  record.like.reversible = (load_u8(at + 5) & 0x80) != 0;
  record.like.paths = static_cast<std::uint8_t>(load_u8(at + 5) & 0x7F);
  record.like.pkey = PKey{load_be16(at + 6)};
  record.like.qos_class = static_cast<std::uint16_t>(class_sl >> 4);
  record.like.sl = Sl{static_cast<std::uint8_t>(class_sl & 0xF)};
  record.like.mtu = SaValue::load(at + 10);
  record.like.rate = SaValue::load(at + 11);
  record.like.packet_life = SaValue::load(at + 12);
  record.independent = load_u8(at + 14) >> 6 != 0;
  for (std::size_t i = 0; i < sources + destinations; ++i) {
    auto& gids = i < sources ? record.sgids : record.dgids;
    gids.push_back(load_gid(at + kFixedSize + i * sizeof(Gid)));
  }
  return record;
}

}  // namespace weft::wire

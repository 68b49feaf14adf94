// SPDX-License-Identifier: Apache-2.0
// MCMemberRecord, IBA 15.2.5.17: a multicast group, and the membership of a port in it.
//
//   0-15 MGID  16-31 PortGID  32-35 Q_Key  36-37 MLID  38 MTU  39 TClass  40-41 P_Key  42 Rate
//   43 PacketLifeTime  44-47 SL(4) FlowLabel(20) HopLimit(8)  48 Scope(4) JoinState(4)
//   49 ProxyJoin(1) rsv  50-51 rsv; MTU, Rate and PacketLifeTime with a selector(2) before the
//   value
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "wire/grh.h"
#include "wire/sa/sa_header.h"

namespace weft::wire {

struct MemberRecord {
  static constexpr std::uint16_t kAttributeId = 0x0038;
  static constexpr std::size_t kSize = 52;

  // Bits of the ComponentMask of a question.
  static constexpr std::uint64_t kHasMgid = 1u << 0;
  static constexpr std::uint64_t kHasPortGid = 1u << 1;
  static constexpr std::uint64_t kHasQKey = 1u << 2;
  static constexpr std::uint64_t kHasMlid = 1u << 3;
  static constexpr std::uint64_t kHasMtuSelector = 1u << 4;
  static constexpr std::uint64_t kHasMtu = 1u << 5;
  static constexpr std::uint64_t kHasTrafficClass = 1u << 6;
  static constexpr std::uint64_t kHasPKey = 1u << 7;
  static constexpr std::uint64_t kHasRateSelector = 1u << 8;
  static constexpr std::uint64_t kHasRate = 1u << 9;
  static constexpr std::uint64_t kHasLifeSelector = 1u << 10;
  static constexpr std::uint64_t kHasLife = 1u << 11;
  static constexpr std::uint64_t kHasSl = 1u << 12;
  static constexpr std::uint64_t kHasFlowLabel = 1u << 13;
  static constexpr std::uint64_t kHasHopLimit = 1u << 14;
  static constexpr std::uint64_t kHasScope = 1u << 15;
  static constexpr std::uint64_t kHasJoinState = 1u << 16;
  static constexpr std::uint64_t kHasProxyJoin = 1u << 17;

  // Bits of JoinState.
  static constexpr std::uint8_t kFullMember = 1;
  static constexpr std::uint8_t kNonMember = 2;
  static constexpr std::uint8_t kSendOnlyNonMember = 4;
  static constexpr std::uint8_t kSendOnlyFullMember = 8;

  Gid mgid{};
  Gid port_gid{};
  QKey qkey{};
  Lid mlid{};
  SaValue mtu{};  // 1: 256 … 5: 4096 bytes
  std::uint8_t traffic_class = 0;
  PKey pkey{};
  SaValue rate{};         // a code
  SaValue packet_life{};  // 4.096 us * 2^n
  Sl sl{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t hop_limit = 0;
  std::uint8_t scope = 0;       // 4 bits
  std::uint8_t join_state = 0;  // 4 bits
  bool proxy_join = false;

  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;

  [[nodiscard]] static std::optional<MemberRecord> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    const std::uint32_t sl_flow_hop = load_be32(at + 44);
    return MemberRecord{.mgid = load_gid(at),
                        .port_gid = load_gid(at + 16),
                        .qkey = QKey{load_be32(at + 32)},
                        .mlid = Lid{load_be16(at + 36)},
                        .mtu = SaValue::load(at + 38),
                        .traffic_class = load_u8(at + 39),
                        .pkey = PKey{load_be16(at + 40)},
                        .rate = SaValue::load(at + 42),
                        .packet_life = SaValue::load(at + 43),
                        .sl = Sl{static_cast<std::uint8_t>(sl_flow_hop >> 28)},
                        .flow_label = sl_flow_hop >> 8 & 0xFFFFF,
                        .hop_limit = static_cast<std::uint8_t>(sl_flow_hop),
                        .scope = static_cast<std::uint8_t>(load_u8(at + 48) >> 4),
                        .join_state = static_cast<std::uint8_t>(load_u8(at + 48) & 0xF),
                        .proxy_join = (load_u8(at + 49) & 0x80) != 0};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_gid(at, mgid);
    store_gid(at + 16, port_gid);
    store_be32(at + 32, qkey.value());
    store_be16(at + 36, mlid.value());
    mtu.store(at + 38);
    store_u8(at + 39, traffic_class);
    store_be16(at + 40, pkey.value());
    rate.store(at + 42);
    packet_life.store(at + 43);
    store_be32(at + 44, std::uint32_t{sl.value()} << 28 | (flow_label & 0xFFFFF) << 8 | hop_limit);
    store_u8(at + 48, static_cast<std::uint8_t>(scope << 4 | (join_state & 0xF)));
    store_u8(at + 49, proxy_join ? 0x80 : 0);
  }
};

}  // namespace weft::wire

// SPDX-License-Identifier: Apache-2.0
// A path as a REQ describes it, IBA 12.6.5: 44 bytes, the primary and the alternate one alike.
//
//   byte 0-1  LocalLID  2-3  RemoteLID  4-19  LocalGID  20-35  RemoteGID
//        36-39  FlowLabel(20) rsv(6) PacketRate(6)      40  TrafficClass  41  HopLimit
//        42  SL(4) SubnetLocal(1) rsv(3)                43  LocalAckTimeout(5) rsv(3)
#pragma once

#include "wire/cm_field.h"
#include "wire/grh.h"

namespace weft::wire {

// "Local" is the sender of the message.
struct CmPath {
  static constexpr std::size_t kSize = 44;
  static constexpr std::uint16_t kPermissiveLid = 0xFFFF;  // the GIDs say it all, as on RoCE

  Lid local_lid{};
  Lid remote_lid{};
  Gid local_gid{};
  Gid remote_gid{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t packet_rate = 0;  // 6 bits, IBA 15.2.5.16
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  Sl sl{};
  bool subnet_local = false;
  std::uint8_t ack_timeout = 0;  // 5 bits

  friend bool operator==(const CmPath&, const CmPath&) = default;

  // `at` has kSize bytes.
  [[nodiscard]] static CmPath load(const std::byte* at) {
    const std::uint32_t flow = load_be32(at + 36);
    return CmPath{.local_lid = Lid{load_be16(at)},
                  .remote_lid = Lid{load_be16(at + 2)},
                  .local_gid = load_gid(at + 4),
                  .remote_gid = load_gid(at + 20),
                  .flow_label = flow >> 12,
                  .packet_rate = static_cast<std::uint8_t>(flow & 0x3F),
                  .traffic_class = load_u8(at + 40),
                  .hop_limit = load_u8(at + 41),
                  .sl = Sl{detail::bits<4, 4>(load_u8(at + 42))},
                  .subnet_local = detail::bits<3, 1>(load_u8(at + 42)) != 0,
                  .ack_timeout = detail::bits<3, 5>(load_u8(at + 43))};
  }

  void store(std::byte* at) const {
    store_be16(at, local_lid.value());
    store_be16(at + 2, remote_lid.value());
    store_gid(at + 4, local_gid);
    store_gid(at + 20, remote_gid);
    store_be32(at + 36, flow_label << 12 | (packet_rate & 0x3Fu));
    store_u8(at + 40, traffic_class);
    store_u8(at + 41, hop_limit);
    store_u8(at + 42, static_cast<std::uint8_t>(detail::placed<4, 4>(sl.value()) |
                                                detail::placed<3, 1>(subnet_local)));
    store_u8(at + 43, detail::placed<3, 5>(ack_timeout));
  }
};

}  // namespace weft::wire

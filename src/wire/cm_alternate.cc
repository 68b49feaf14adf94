// SPDX-License-Identifier: Apache-2.0
#include "wire/cm_alternate.h"

namespace weft::wire {

using detail::bits;
using detail::placed;

std::optional<CmLap> CmLap::parse(Bytes body) {
  if (body.size() < kSize) return std::nullopt;
  const std::byte* at = body.data();
  return CmLap{.local_comm_id = CommId{load_be32(at)},
               .remote_comm_id = CommId{load_be32(at + 4)},
               .remote_qpn = Qpn{load_be24(at + 12)},
               .remote_cm_timeout = bits<3, 5>(load_u8(at + 15)),
               .path = {.local_lid = Lid{load_be16(at + 20)},
                        .remote_lid = Lid{load_be16(at + 22)},
                        .local_gid = load_gid(at + 24),
                        .remote_gid = load_gid(at + 40),
                        .flow_label = load_be24(at + 56) >> 4,
                        .packet_rate = bits<0, 6>(load_u8(at + 61)),
                        .traffic_class = load_u8(at + 59),
                        .hop_limit = load_u8(at + 60),
                        .sl = Sl{bits<4, 4>(load_u8(at + 62))},
                        .subnet_local = bits<3, 1>(load_u8(at + 62)) != 0,
                        .ack_timeout = bits<3, 5>(load_u8(at + 63))},
               .private_data = detail::load_area<kLapPrivateData>(at + 64)};
}

void CmLap::write(MutableBytes body) const {
  std::byte* at = detail::cleared(body);
  store_be32(at, local_comm_id.value());
  store_be32(at + 4, remote_comm_id.value());
  store_be24(at + 12, remote_qpn.value());
  store_u8(at + 15, placed<3, 5>(remote_cm_timeout));
  store_be16(at + 20, path.local_lid.value());
  store_be16(at + 22, path.remote_lid.value());
  store_gid(at + 24, path.local_gid);
  store_gid(at + 40, path.remote_gid);
  store_be24(at + 56, path.flow_label << 4);
  store_u8(at + 59, path.traffic_class);
  store_u8(at + 60, path.hop_limit);
  store_u8(at + 61, placed<0, 6>(path.packet_rate));
  store_u8(at + 62, static_cast<std::uint8_t>(placed<4, 4>(path.sl.value()) |
                                              placed<3, 1>(path.subnet_local)));
  store_u8(at + 63, placed<3, 5>(path.ack_timeout));
  detail::store_area(at + 64, private_data);
}

std::optional<CmApr> CmApr::parse(Bytes body) {
  if (body.size() < kSize) return std::nullopt;
  const std::byte* at = body.data();
  return CmApr{.local_comm_id = CommId{load_be32(at)},
               .remote_comm_id = CommId{load_be32(at + 4)},
               .info_length = load_u8(at + 8),
               .status = static_cast<AlternatePathStatus>(load_u8(at + 9)),
               .info = detail::load_area<kMaxAdditionalInfo>(at + 12),
               .private_data = detail::load_area<kAprPrivateData>(at + 84)};
}

void CmApr::write(MutableBytes body) const {
  std::byte* at = detail::cleared(body);
  store_be32(at, local_comm_id.value());
  store_be32(at + 4, remote_comm_id.value());
  store_u8(at + 8, info_length);
  store_u8(at + 9, static_cast<std::uint8_t>(status));
  detail::store_area(at + 12, info);
  detail::store_area(at + 84, private_data);
}

}  // namespace weft::wire

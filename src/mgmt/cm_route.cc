// SPDX-License-Identifier: Apache-2.0
#include "mgmt/cm_route.h"

#include <bit>

namespace weft::mgmt {
namespace {
constexpr std::uint8_t kDefaultHopLimit = 64;
}  // namespace

wire::CmPath to_wire(const CmRoute& route) {
  const hca::Path& path = route.path;
  return {.local_lid = Lid{wire::CmPath::kPermissiveLid},
          .remote_lid = Lid{wire::CmPath::kPermissiveLid},
          .local_gid = path.sgid,
          .remote_gid = path.dgid,
          .flow_label = path.flow_label,
          .traffic_class = path.traffic_class,
          .hop_limit = path.hop_limit != 0 ? path.hop_limit : kDefaultHopLimit,
          .sl = path.sl,
          .ack_timeout = route.ack_timeout};
}

std::optional<CmRoute> from_wire(const wire::CmPath& path, const LocalEnds& ends) {
  if (path.remote_gid.is_zero()) return std::nullopt;
  const auto end = ends.find(path.remote_gid);
  if (!end || path.local_gid.is_zero() || path.local_gid.is_multicast()) return std::nullopt;
  return CmRoute{.path = {.sgid = path.remote_gid,
                          .dgid = path.local_gid,
                          .flow_label = path.flow_label,
                          .scope_id = end->scope_id,
                          .sgid_index = end->sgid_index,
                          .hop_limit = path.hop_limit,
                          .traffic_class = path.traffic_class,
                          .sl = path.sl},
                 .end = *end,
                 .ack_timeout = path.ack_timeout};
}

std::uint8_t mtu_code(std::uint32_t bytes) {
  if (!std::has_single_bit(bytes) || bytes < 256 || bytes > 4096) return 0;
  return static_cast<std::uint8_t>(std::countr_zero(bytes) - 7);
}

std::uint32_t mtu_bytes(std::uint8_t code) {
  return code >= 1 && code <= 5 ? std::uint32_t{128} << code : 0;
}

}  // namespace weft::mgmt

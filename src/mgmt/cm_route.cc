// SPDX-License-Identifier: Apache-2.0
#include "mgmt/cm_route.h"

#include <bit>

namespace weft::mgmt {
namespace {
constexpr std::uint8_t kDefaultHopLimit = 64;
}  // namespace

wire::CmPath to_wire(const CmRoute& route) {
  const hca::Path& path = route.path;
  wire::CmPath out{.local_lid = Lid{wire::CmPath::kPermissiveLid},
                   .remote_lid = Lid{wire::CmPath::kPermissiveLid},
                   .local_gid = path.sgid,
                   .remote_gid = path.dgid,
                   .flow_label = path.flow_label,
                   .traffic_class = path.traffic_class,
                   .hop_limit = path.hop_limit,
                   .sl = path.sl,
                   .ack_timeout = route.ack_timeout};
  if (path.by_lid()) {
    out.packet_rate = path.static_rate;
    out.subnet_local = !path.global;
  }
  if (out.subnet_local) {
    out.local_lid = Lid{static_cast<std::uint16_t>(route.end.lid.value() + path.source_path_bits)};
    out.remote_lid = path.dlid;
  } else if (out.hop_limit == 0) {
    out.hop_limit = kDefaultHopLimit;
  }
  return out;
}

tl::expected<CmRoute, RouteFlaw> from_wire(const wire::CmPath& path, const LocalEnds& ends,
                                           const hca::Path& from) {
  if (path.remote_gid.is_zero()) return tl::unexpected(RouteFlaw::kGid);
  const auto end = ends.find(path.remote_gid);
  if (!end || path.local_gid.is_zero() || path.local_gid.is_multicast()) {
    return tl::unexpected(RouteFlaw::kGid);
  }
  CmRoute out{.path = {.sgid = path.remote_gid,
                       .dgid = path.local_gid,
                       .flow_label = path.flow_label,
                       .scope_id = end->scope_id,
                       .sgid_index = end->sgid_index,
                       .hop_limit = path.hop_limit,
                       .traffic_class = path.traffic_class,
                       .sl = path.sl},
              .end = *end,
              .ack_timeout = path.ack_timeout};
  if (!end->on_fabric) return out;
  constexpr Lid kUnknown{wire::CmPath::kPermissiveLid};
  const bool beyond = !path.subnet_local;
  const bool here_unknown = beyond && path.remote_lid == kUnknown;
  const bool there_unknown = beyond && path.local_lid == kUnknown;
  const auto bits =
      here_unknown ? std::optional(from.source_path_bits) : path_bits(*end, path.remote_lid);
  out.path.dlid = there_unknown ? from.dlid : path.local_lid;
  if (there_unknown) out.path.sl = from.sl;
  if (!bits || !hca::is_unicast(end->lid) || !hca::is_unicast(out.path.dlid)) {
    return tl::unexpected(RouteFlaw::kLid);
  }
  out.path.source_path_bits = *bits;
  out.path.static_rate = path.packet_rate;
  out.path.global = !path.subnet_local;
  return out;
}

std::uint8_t mtu_code(std::uint32_t bytes) {
  if (!std::has_single_bit(bytes) || bytes < 256 || bytes > 4096) return 0;
  return static_cast<std::uint8_t>(std::countr_zero(bytes) - 7);
}

std::uint32_t mtu_bytes(std::uint8_t code) {
  return code >= 1 && code <= 5 ? std::uint32_t{128} << code : 0;
}

}  // namespace weft::mgmt

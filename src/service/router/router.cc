// SPDX-License-Identifier: Apache-2.0
#include "service/router/router.h"

namespace weft::service {
namespace {

// IBA 4.1.1: of a subnet that is joined to no other yet.
constexpr std::uint64_t kLinkLocal = 0xFE80'0000'0000'0000;

}  // namespace

void Router::set_subnet(std::uint8_t port, std::uint64_t prefix) {
  if (prefix == kLinkLocal) prefix = 0;
  std::uint64_t& known = subnets_[port];
  if (known == prefix) return;
  known = prefix;
  rebuild();
}

void Router::add_route(const GidPrefix& prefix, std::uint8_t port) {
  given_.emplace_back(prefix, port);
  rebuild();
}

void Router::rebuild() {
  routes_ = {};
  for (const auto& [port, subnet] : subnets_) {
    if (subnet != 0) routes_.insert(GidPrefix(subnet), port);
  }
  for (const auto& [prefix, port] : given_)
    routes_.insert(prefix, port);
  if (is_attached()) host().revoke(kRoutes);
}

Verdict Router::handle(Packet& packet, Time) {
  const Fields& fields = packet.fields();
  const auto refuse = [](RouterDrop why) {
    return Verdict::drop(static_cast<std::uint16_t>(why)).for_flow(kRoutes);
  };
  if (!fields.global || fields.transport_at == 0) return refuse(RouterDrop::kNoGrh);
  if (fields.dest_qp == kQp0) return refuse(RouterDrop::kManagement);
  if (fields.dgid.is_multicast() || fields.sgid.is_multicast()) {
    return refuse(RouterDrop::kMulticast);
  }
  if (fields.dgid.is_link_local() || fields.sgid.is_link_local()) {
    return refuse(RouterDrop::kLinkLocal);
  }
  const auto to = routes_.find(fields.dgid);
  if (!to) return refuse(RouterDrop::kNoRoute);
  const std::uint8_t from = packet.arrival().port;
  if (*to == from) return refuse(RouterDrop::kNotAway);
  // Whoever says that it is from elsewhere gets no answers there, but may do harm here.
  if (routes_.find(fields.sgid) != from) return refuse(RouterDrop::kForeign);
  packet.cross(static_cast<std::uint8_t>(*to));
  return Verdict::forward().for_flow(kRoutes, &out_);
}

std::vector<CounterValue> Router::counters() const {
  return {{"routed", "packets that were led to another subnet", out_.packets},
          {"routed_bytes", "their bytes, LRH through VCRC", out_.bytes}};
}

}  // namespace weft::service

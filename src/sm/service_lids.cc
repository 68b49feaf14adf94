// SPDX-License-Identifier: Apache-2.0
#include "sm/service_lids.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

// Entries that every switch has.
std::size_t entries_of(const Subnet& subnet) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const SubnetNode& node : subnet.nodes) {
    if (node.switch_info) least = std::min<std::size_t>(least, node.switch_info->linear_cap);
  }
  return least;
}

}  // namespace

Expected<void> ServiceLids::set(std::span<const ServiceLid> lids, const std::set<Lid>& taken) {
  std::map<Lid, Guid> ports;
  std::set<Lid> reserved;
  for (const ServiceLid& each : lids) {
    const std::uint16_t lid = each.lid.value();
    if (lid == 0 || lid >= wire::MulticastBlock::kFirstLid) {
      return fail(std::errc::invalid_argument, fmt::format("LID {} is no unicast LID", lid));
    }
    if (!ports.emplace(each.lid, each.port).second) {
      return fail(std::errc::invalid_argument, fmt::format("LID {} is named twice", lid));
    }
    if (taken.contains(each.lid)) {
      return fail(std::errc::address_in_use, fmt::format("LID {} is a port's own", lid));
    }
    reserved.insert(each.lid);
  }
  changed_ = changed_ || ports != ports_;
  ports_ = std::move(ports);
  reserved_ = std::move(reserved);
  return {};
}

std::vector<std::string> ServiceLids::route(const Subnet& subnet, std::span<const PortRef> ends,
                                            std::span<const Lid> lids, std::uint8_t lmc,
                                            Routes& routes) {
  changed_ = false;
  std::vector<std::string> left_out;
  const std::vector<Routes::Additional> before = routes.additional();
  for (const Routes::Additional& each : before) {
    if (!ports_.contains(each.lid)) routes.lead(each.lid, Lid{});
  }
  if (ports_.empty()) return left_out;
  std::unordered_map<std::uint64_t, std::size_t> by_guid;
  for (std::size_t i = 0; i < ends.size(); ++i)
    by_guid.emplace(subnet.port(ends[i]).guid.value(), i);
  const std::size_t entries = entries_of(subnet);
  for (const auto& [lid, port] : ports_) {
    if (lid.value() >= entries) {
      left_out.push_back(fmt::format("service LID {} is not routed: a switch has entries for {}",
                                     lid.value(), entries));
      continue;
    }
    const auto end = by_guid.find(port.value());
    if (end == by_guid.end() || lids[end->second] == Lid{}) {
      routes.lead(lid, Lid{});
      continue;
    }
    // Services of one port are spread over the ways of its LIDs.
    const bool is_switch = subnet.nodes[ends[end->second].node].is_switch();
    const unsigned own = is_switch ? 1u : 1u << lmc;
    const unsigned like = lids[end->second].value() + lid.value() % own;
    routes.lead(lid, Lid{static_cast<std::uint16_t>(like)});
  }
  return left_out;
}

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/subnet_view.h"

#include <algorithm>

#include "base/ids.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/sa/rate.h"

namespace weft::sm {
namespace {

constexpr std::uint64_t kLinkLocal = 0xFE80'0000'0000'0000;

// Those of a port; a port that nobody has asked is in the default partition alone, IBA 10.9.1.2.
template <class Each>
void each_pkey(const SubnetPort& port, Each&& each) {
  bool known = false;
  for (const auto& block : port.tables.pkeys) {
    if (!block) continue;
    known = true;
    for (const PKey pkey : block->pkeys) {
      if ((pkey.value() & kPartitionBits) != 0) each(pkey);
    }
  }
  if (!known) each(kDefaultPKey);
}

bool comes_before(PKey a, PKey b) {
  const int a_number = a.value() & kPartitionBits;
  const int b_number = b.value() & kPartitionBits;
  return a_number != b_number ? a_number < b_number : a.value() > b.value();
}

// That of the first port, for one of the second with the same number, which `suits`.
template <class Suits>
std::optional<PKey> shared(const SubnetPort& from, const SubnetPort& to, std::optional<PKey> wanted,
                           Suits&& suits) {
  std::optional<PKey> found;
  each_pkey(from, [&](PKey own) {
    if (wanted && ((own.value() ^ wanted->value()) & kPartitionBits) != 0) return;
    if (found && !comes_before(own, *found)) return;
    each_pkey(to, [&](PKey other) {
      if (((own.value() ^ other.value()) & kPartitionBits) == 0 && suits(own, other)) found = own;
    });
  });
  return found;
}

}  // namespace

std::uint64_t prefix_of(const Gid& gid) {
  std::array<std::byte, 16> bytes;
  wire::store_gid(bytes.data(), gid);
  return wire::load_be64(bytes.data());
}

Guid guid_of(const Gid& gid) {
  std::array<std::byte, 16> bytes;
  wire::store_gid(bytes.data(), gid);
  return Guid{wire::load_be64(bytes.data() + 8)};
}

Gid make_gid(std::uint64_t prefix, Guid guid) {
  std::array<std::byte, 16> bytes;
  wire::store_be64(bytes.data(), prefix);
  wire::store_be64(bytes.data() + 8, guid.value());
  return wire::load_gid(bytes.data());
}

void SubnetView::update(const Subnet& subnet, const Routes& routes, std::uint64_t gid_prefix) {
  subnet_ = subnet;
  routes_ = routes;
  gid_prefix_ = gid_prefix;
  switch_index_.assign(subnet_.nodes.size(), 0);
  SwitchIndex next = 0;
  for (std::size_t node = 0; node < subnet_.nodes.size(); ++node) {
    if (subnet_.nodes[node].is_switch()) switch_index_[node] = next++;
  }
  links_.clear();
  first_link_.clear();
  for (const SubnetNode& node : subnet_.nodes)
    add_links(node);
  first_link_.push_back(static_cast<std::uint32_t>(links_.size()));
  ends_.clear();
  by_guid_.clear();
  by_lid_.clear();
  for (const PortRef& at : subnet_.end_ports()) {
    const SubnetPort& port = subnet_.port(at);
    if (port.info->lid == Lid{}) continue;
    const std::uint8_t lmc = subnet_.nodes[at.node].is_switch() ? std::uint8_t{0} : port.info->lmc;
    const auto index = static_cast<std::uint32_t>(ends_.size());
    ends_.push_back({.at = at, .guid = port.guid, .lid = port.info->lid, .lmc = lmc});
    by_guid_.emplace(port.guid.value(), index);
    const std::size_t first = port.info->lid.value();
    const std::size_t end = first + (std::size_t{1} << lmc);
    if (by_lid_.size() < end) by_lid_.resize(end, kNobody);
    std::fill(by_lid_.begin() + static_cast<std::ptrdiff_t>(first),
              by_lid_.begin() + static_cast<std::ptrdiff_t>(end), index);
  }
  additional_.clear();
  for (const Routes::Additional& each : routes_.additional())
    additional_.emplace(each.lid.value(), end_of(each.like));
}

void SubnetView::update_multicast(const Subnet& subnet) {
  for (const SubnetNode& node : subnet.nodes) {
    const auto found = subnet_.by_guid.find(node.info.node_guid.value());
    if (found == subnet_.by_guid.end()) continue;
    subnet_.nodes[found->second].tables.multicast = node.tables.multicast;
    subnet_.nodes[found->second].switch_info = node.switch_info;
  }
}

std::uint32_t SubnetView::end_of(Lid lid) const {
  return lid.value() < by_lid_.size() ? by_lid_[lid.value()] : kNobody;
}

std::uint32_t SubnetView::target_of(Lid lid) const {
  const std::uint32_t owner = end_of(lid);
  if (owner != kNobody || additional_.empty()) return owner;
  const auto found = additional_.find(lid.value());
  return found == additional_.end() ? kNobody : found->second;
}

std::uint32_t SubnetView::end_of(Guid guid) const {
  auto found = by_guid_.find(guid.value());
  if (found == by_guid_.end()) {
    const auto port = aliases_.port_of(guid);
    if (port) found = by_guid_.find(port->value());
  }
  return found == by_guid_.end() ? kNobody : found->second;
}

std::uint32_t SubnetView::end_of(const Gid& gid) const {
  return is_here(gid) ? end_of(guid_of(gid)) : kNobody;
}

bool SubnetView::is_here(const Gid& gid) const {
  const std::uint64_t prefix = prefix_of(gid);
  return prefix == gid_prefix_ || prefix == kLinkLocal;
}

Gid SubnetView::gid_of(const ViewEnd& end) const {
  return make_gid(gid_prefix_, end.guid);
}

Lid SubnetView::lid_of(const PortRef& at) const {
  const SubnetNode& node = subnet_.nodes[at.node];
  const auto& info = node.ports[node.is_switch() ? 0 : at.port].info;
  return info ? info->lid : Lid{};
}

bool SubnetView::has_partition(const ViewEnd& end, PKey pkey) const {
  bool found = false;
  each_pkey(port_of(end), [&](PKey own) {
    found = found || ((own.value() ^ pkey.value()) & kPartitionBits) == 0;
  });
  return found;
}

std::optional<PKey> SubnetView::common_pkey(const ViewEnd& from, const ViewEnd& to,
                                            std::optional<PKey> wanted) const {
  // Two limited members may not talk.
  return shared(port_of(from), port_of(to), wanted, [](PKey own, PKey other) {
    return ((own.value() | other.value()) & ~kPartitionBits) != 0;
  });
}

std::optional<PKey> SubnetView::common_partition(const ViewEnd& from, const ViewEnd& to,
                                                 std::optional<PKey> wanted) const {
  return shared(port_of(from), port_of(to), wanted, [](PKey, PKey) { return true; });
}

void SubnetView::add_links(const SubnetNode& node) {
  first_link_.push_back(static_cast<std::uint32_t>(links_.size()));
  for (const SubnetPort& port : node.ports) {
    Link& link = links_.emplace_back();
    if (!port.peer || !port.info) continue;
    link = {.peer = port.peer->node,
            .peer_port = port.peer->port,
            .mtu = port.info->neighbor_mtu,
            .rate = wire::rate_code(*port.info),
            .peer_is_switch = subnet_.nodes[port.peer->node].is_switch()};
  }
}

std::optional<Way> SubnetView::way(const ViewEnd& from, Lid to) const {
  const std::uint32_t target = target_of(to);
  if (target == kNobody) return std::nullopt;
  const PortRef goal = ends_[target].at;
  std::optional<Way> found(std::in_place);
  Way& way = *found;
  PortRef at = from.at;
  std::uint8_t out = at.port;
  bool at_switch = subnet_.nodes[at.node].is_switch();
  while (at != goal) {
    if (at_switch) {
      out = output(at.node, to);
      if (out == 0 && goal == PortRef{at.node, 0}) return found;
    } else if (way.links > 0) {
      return std::nullopt;  // at another port than the one it is for
    }
    const std::uint32_t index = first_link_[at.node] + out;
    if (index >= first_link_[at.node + 1] || way.links == Way::kMost) return std::nullopt;
    const Link& link = links_[index];
    if (link.peer == kNobody) return std::nullopt;
    const bool first = way.links == 0;
    if (first ||
        (link.rate != way.rate && wire::rate_mbps(link.rate) < wire::rate_mbps(way.rate))) {
      way.rate = link.rate;
    }
    way.mtu = first ? link.mtu : std::min(way.mtu, link.mtu);
    ++way.links;
    at = {link.peer, link.peer_port};
    at_switch = link.peer_is_switch;
  }
  return found;
}

Sl SubnetView::level(const ViewEnd& from, Lid to) const {
  const SubnetNode& node = subnet_.nodes[from.at.node];
  if (node.is_switch()) return routes_.sl(switch_index_[from.at.node], to);
  const auto& peer = node.ports[from.at.port].peer;
  if (!peer || !subnet_.nodes[peer->node].is_switch()) return Sl{};
  return routes_.sl(switch_index_[peer->node], to);
}

}  // namespace weft::sm

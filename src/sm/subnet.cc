// SPDX-License-Identifier: Apache-2.0
#include "sm/subnet.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::sm {

std::vector<PortRef> Subnet::end_ports() const {
  std::vector<PortRef> found;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].is_switch()) {
      if (nodes[node].ports[0].info) found.push_back({node, 0});
      continue;
    }
    for (std::size_t port = 1; port < nodes[node].ports.size(); ++port) {
      if (nodes[node].ports[port].info) found.push_back({node, static_cast<std::uint8_t>(port)});
    }
  }
  return found;
}

void Subnet::sort_nodes() {
  if (nodes.empty()) return;
  std::vector<std::uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin() + 1, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes[a].info.node_guid < nodes[b].info.node_guid;
  });
  std::vector<std::uint32_t> place(nodes.size());  // by place before
  std::vector<SubnetNode> sorted;
  sorted.reserve(nodes.size());
  for (const std::uint32_t node : order) {
    place[node] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(nodes[node]));
  }
  nodes = std::move(sorted);
  for (auto& [guid, node] : by_guid)
    node = place[node];
  for (SubnetNode& node : nodes) {
    for (SubnetPort& port : node.ports) {
      if (port.peer) port.peer->node = place[port.peer->node];
    }
  }
}

void Subnet::keep_known(Subnet& before) {
  for (SubnetNode& node : nodes) {
    const auto found = before.by_guid.find(node.info.node_guid.value());
    if (found == before.by_guid.end()) continue;
    SubnetNode& then = before.nodes[found->second];
    if (then.info.type != node.info.type || then.ports.size() != node.ports.size()) continue;
    for (std::size_t number = 0; number < node.ports.size(); ++number) {
      const SubnetPort& port = then.ports[number];
      node.ports[number].is_new = port.is_new || !port.info;
    }
    if (node.is_switch() && (!node.ports[0].info || node.ports[0].info->lid == Lid{})) continue;
    node.tables = std::move(then.tables);
    for (std::size_t number = 0; number < node.ports.size(); ++number) {
      SubnetPort& port = node.ports[number];
      const bool stayed = node.is_switch() || (port.info && port.info->lid != Lid{} &&
                                               port.info->state > wire::PortState::kInitialize);
      if (stayed) port.tables = std::move(then.ports[number].tables);
    }
  }
}

const DirectedRoute& Subnet::route_to(const PortRef& at) const {
  const SubnetNode& node = nodes[at.node];
  return node.is_switch() ? node.route : node.ports[at.port].route;
}

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/explain.h"

#include <deque>
#include <limits>
#include <optional>

namespace weft::sm {
namespace {

constexpr unsigned kExplainFar = std::numeric_limits<unsigned>::max();

// Links from each switch to one of them.
std::vector<unsigned> distances(const Subnet& subnet, std::uint32_t goal) {
  std::vector<unsigned> away(subnet.nodes.size(), kExplainFar);
  away[goal] = 0;
  std::deque<std::uint32_t> next{goal};
  while (!next.empty()) {
    const std::uint32_t node = next.front();
    next.pop_front();
    for (const SubnetPort& port : subnet.nodes[node].ports) {
      if (!port.peer || !subnet.nodes[port.peer->node].is_switch()) continue;
      unsigned& other = away[port.peer->node];
      if (other != kExplainFar) continue;
      other = away[node] + 1;
      next.push_back(port.peer->node);
    }
  }
  return away;
}

// The switch that the end port hangs on, or is part of.
std::optional<std::uint32_t> switch_of(const Subnet& subnet, const PortRef& end) {
  if (subnet.nodes[end.node].is_switch()) return end.node;
  const auto& peer = subnet.port(end).peer;
  if (!peer || !subnet.nodes[peer->node].is_switch()) return std::nullopt;
  return peer->node;
}

void judge(const Subnet& subnet, const std::vector<unsigned>& away, ExplainedHop& hop) {
  const SubnetNode& from = subnet.nodes[hop.out.node];
  const unsigned here = away[hop.out.node];
  if (!from.is_switch() || !subnet.nodes[hop.in.node].is_switch() || here == 0) return;
  for (const SubnetPort& port : from.ports) {
    if (!port.peer || !subnet.nodes[port.peer->node].is_switch()) continue;
    if (away[port.peer->node] + 1 == here) ++hop.choices;
  }
  hop.detour = away[hop.in.node] + 1 != here;
}

}  // namespace

Explanation follow(const SubnetView& view, const ViewEnd& from, Lid to) {
  Explanation found;
  const Subnet& subnet = view.subnet();
  const std::uint32_t target = view.target_of(to);
  if (target == SubnetView::kNobody) return found;
  const PortRef goal = view.ends()[target].at;
  PortRef at = from.at;
  while (at != goal && found.hops.size() < Way::kMost) {
    const SubnetNode& node = subnet.nodes[at.node];
    const std::uint8_t out = node.is_switch() ? view.output(at.node, to) : at.port;
    if (node.is_switch() && out == 0) {
      found.arrives = goal == PortRef{at.node, 0};
      return found;
    }
    if (out >= node.ports.size() || !node.ports[out].peer ||
        (!node.is_switch() && !found.hops.empty())) {
      return found;
    }
    found.hops.push_back({.out = {at.node, out}, .in = *node.ports[out].peer});
    at = found.hops.back().in;
  }
  found.arrives = at == goal;
  return found;
}

Explanation explain(const SubnetView& view, const ViewEnd& from, Lid to) {
  Explanation found = follow(view, from, to);
  if (found.hops.empty()) return found;
  const Subnet& subnet = view.subnet();
  const auto last = switch_of(subnet, view.ends()[view.target_of(to)].at);
  if (!last) return found;
  const std::vector<unsigned> away = distances(subnet, *last);
  for (ExplainedHop& hop : found.hops)
    judge(subnet, away, hop);
  return found;
}

}  // namespace weft::sm

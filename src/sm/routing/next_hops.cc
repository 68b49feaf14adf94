// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/next_hops.h"

#include <algorithm>
#include <cassert>

namespace weft::sm {

HopIndex Loads::least(std::span<const HopIndex> hops) const {
  assert(!hops.empty());
  return *std::min_element(hops.begin(), hops.end(),
                           [&](HopIndex a, HopIndex b) { return loads_[a] < loads_[b]; });
}

void measure(const SwitchGraph& graph, SwitchIndex to, std::vector<std::uint32_t>& away) {
  away.assign(graph.switches(), kFar);
  away[to] = 0;
  std::vector<SwitchIndex> reached{to};
  reached.reserve(graph.switches());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const SwitchIndex at = reached[i];
    for (const Hop& hop : graph.hops_of(at)) {
      if (away[hop.to] != kFar) continue;
      away[hop.to] = away[at] + 1;
      reached.push_back(hop.to);
    }
  }
}

void nearer_hops(const SwitchGraph& graph, const std::vector<std::uint32_t>& away, NextHops& out) {
  out.clear();
  for (SwitchIndex at = 0; at < graph.switches(); ++at) {
    HopIndex index = graph.first_hop(at);
    for (const Hop& hop : graph.hops_of(at)) {
      // Both are far in a part of the fabric that is cut off.
      if (away[at] != kFar && away[hop.to] + 1 == away[at]) out.add(index);
      ++index;
    }
    out.close();
  }
}

void deliver(const EndPort& end, Routes& routes) {
  for (unsigned i = 0; i < end.lids(); ++i) {
    const Lid lid{static_cast<std::uint16_t>(end.lid.value() + i)};
    routes.set_port(end.at, lid, end.port);
  }
}

Routes spread(const SwitchGraph& graph, const FindNextHops& next) {
  Routes routes(graph.switches(), graph.lid_end());
  Loads loads(graph);
  NextHops hops;
  for (SwitchIndex to = 0; to < graph.switches(); ++to) {
    if (graph.ends_at(to).empty()) continue;
    next(to, hops);
    for (const std::uint32_t number : graph.ends_at(to)) {
      const EndPort& end = graph.ends()[number];
      deliver(end, routes);
      for (unsigned i = 0; i < end.lids(); ++i) {
        const Lid lid{static_cast<std::uint16_t>(end.lid.value() + i)};
        for (SwitchIndex at = 0; at < graph.switches(); ++at) {
          const auto choice = hops.of(at);
          if (at == to || choice.empty()) continue;
          const HopIndex best = loads.least(choice);
          // What goes to a switch itself is management, and next to nothing.
          if (end.port != 0) loads.add(best);
          routes.set_port(at, lid, graph.hops()[best].port);
        }
      }
    }
  }
  return routes;
}

}  // namespace weft::sm

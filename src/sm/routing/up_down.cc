// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/up_down.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sm/routing/engines.h"

namespace weft::sm {
namespace {

// How far each switch is from the farthest that it can reach and that has hosts.
std::vector<std::uint32_t> reaches(const SwitchGraph& graph) {
  std::vector<std::uint32_t> reach(graph.switches(), 0);
  std::vector<std::uint32_t> away;
  for (SwitchIndex to = 0; to < graph.switches(); ++to) {
    if (!graph.has_hosts(to)) continue;
    measure(graph, to, away);
    for (SwitchIndex at = 0; at < graph.switches(); ++at) {
      if (away[at] != kFar) reach[at] = std::max(reach[at], away[at]);
    }
  }
  return reach;
}

// The number of the connected part that each switch is in.
std::vector<std::uint32_t> parts_of(const SwitchGraph& graph) {
  std::vector<std::uint32_t> part(graph.switches(), kFar);
  std::vector<std::uint32_t> away;
  std::uint32_t count = 0;
  for (SwitchIndex first = 0; first < graph.switches(); ++first) {
    if (part[first] != kFar) continue;
    measure(graph, first, away);
    for (SwitchIndex at = 0; at < graph.switches(); ++at) {
      if (away[at] != kFar) part[at] = count;
    }
    ++count;
  }
  return part;
}

// In each part, those for which `eligible` holds and `reach` is least.
template <class Eligible>
std::vector<SwitchIndex> nearest_to_all(const std::vector<std::uint32_t>& part,
                                        const std::vector<std::uint32_t>& reach,
                                        Eligible eligible) {
  std::vector<std::uint32_t> least(part.size(), kFar);
  for (SwitchIndex at = 0; at < part.size(); ++at) {
    if (eligible(at)) least[part[at]] = std::min(least[part[at]], reach[at]);
  }
  std::vector<SwitchIndex> found;
  for (SwitchIndex at = 0; at < part.size(); ++at) {
    if (eligible(at) && reach[at] == least[part[at]]) found.push_back(at);
  }
  return found;
}

}  // namespace

Ranking::Ranking(const SwitchGraph& graph, const std::vector<SwitchIndex>& roots)
    : rank_(graph.switches(), kFar), place_(graph.switches()), order_(graph.switches()) {
  std::vector<SwitchIndex> reached = roots;
  for (const SwitchIndex root : roots)
    rank_[root] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Hop& hop : graph.hops_of(reached[i])) {
      if (rank_[hop.to] != kFar) continue;
      rank_[hop.to] = rank_[reached[i]] + 1;
      reached.push_back(hop.to);
    }
  }
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](SwitchIndex a, SwitchIndex b) { return rank_[a] < rank_[b]; });
  for (std::uint32_t place = 0; place < order_.size(); ++place)
    place_[order_[place]] = place;
}

Expected<Ranking> Ranking::make(const SwitchGraph& graph, const std::vector<Guid>& roots) {
  std::vector<SwitchIndex> found;
  for (const Guid root : roots) {
    SwitchIndex at = 0;
    while (at < graph.switches() && graph.guid(at) != root)
      ++at;
    if (at == graph.switches()) {
      return fail(std::errc::invalid_argument,
                  fmt::format("root {:#018x} is no switch of this fabric", root.value()));
    }
    found.push_back(at);
  }
  if (!found.empty()) return Ranking(graph, found);
  const auto part = parts_of(graph);
  const auto reach = reaches(graph);
  found = nearest_to_all(part, reach, [&](SwitchIndex at) { return !graph.has_hosts(at); });
  Ranking several(graph, found);
  if (several.serves_all(graph)) return several;
  found = nearest_to_all(part, reach, [](SwitchIndex) { return true; });
  // One of each part: the first.
  std::vector<bool> has_root(graph.switches());
  std::erase_if(found, [&](SwitchIndex at) {
    const bool another = has_root[part[at]];
    has_root[part[at]] = true;
    return another;
  });
  return Ranking(graph, found);
}

void Ranking::measure_ways(const SwitchGraph& graph, SwitchIndex to) {
  down_.assign(graph.switches(), kFar);
  down_[to] = 0;
  std::vector<SwitchIndex> reached{to};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const SwitchIndex at = reached[i];
    for (const Hop& hop : graph.hops_of(at)) {
      if (!up(hop) || down_[hop.to] != kFar) continue;
      down_[hop.to] = down_[at] + 1;
      reached.push_back(hop.to);
    }
  }
  away_ = down_;
  for (const SwitchIndex at : order_) {
    if (away_[at] != kFar) continue;
    for (const Hop& hop : graph.hops_of(at)) {
      if (up(hop) && away_[hop.to] != kFar) away_[at] = std::min(away_[at], away_[hop.to] + 1);
    }
  }
}

// Whether hosts reach each switch that is in their part of the fabric.
bool Ranking::serves_all(const SwitchGraph& graph) {
  std::vector<std::uint32_t> connected;
  for (SwitchIndex to = 0; to < graph.switches(); ++to) {
    if (rank_[to] == kFar) return false;
    measure_ways(graph, to);
    measure(graph, to, connected);
    for (SwitchIndex at = 0; at < graph.switches(); ++at) {
      if (graph.has_hosts(at) && connected[at] != kFar && away_[at] == kFar) return false;
    }
  }
  return true;
}

void Ranking::find(const SwitchGraph& graph, SwitchIndex to, NextHops& out) {
  measure_ways(graph, to);
  out.clear();
  for (SwitchIndex at = 0; at < graph.switches(); ++at) {
    HopIndex index = graph.first_hop(at);
    const bool lost = away_[at] == kFar && !graph.has_hosts(at);
    std::uint32_t least = kFar;
    if (lost) {
      for (const Hop& hop : graph.hops_of(at))
        least = std::min(least, away_[hop.to]);
    }
    for (const Hop& hop : graph.hops_of(at)) {
      const bool down_on =
          down_[at] != kFar && !up(hop) && down_[hop.to] != kFar && down_[hop.to] + 1 == down_[at];
      const bool up_on = down_[at] == kFar && away_[at] != kFar && up(hop) &&
                         away_[hop.to] != kFar && away_[hop.to] + 1 == away_[at];
      const bool any = lost && least != kFar && away_[hop.to] == least;
      if (at != to && (down_on || up_on || any)) out.add(index);
      ++index;
    }
    out.close();
  }
}

Expected<Routes> route_up_down(const SwitchGraph& graph, const RoutingOptions& options) {
  auto ranking = Ranking::make(graph, options.roots);
  if (!ranking) return tl::unexpected(ranking.error());
  return spread(graph, [&](SwitchIndex to, NextHops& out) { ranking->find(graph, to, out); });
}

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/multicast_tree.h"

#include <algorithm>
#include <iterator>

namespace weft::sm {
namespace {

constexpr std::uint32_t kMulticastTreeFar = ~std::uint32_t{0};
// Breadth-first searches to find the middle of a fabric: fabrics that are built by a plan need a
// handful.
constexpr int kMostSearches = 64;

}  // namespace

MulticastTrees::MulticastTrees(const SwitchGraph& graph)
    : graph_(graph), component_of_(graph.switches(), kMulticastTreeFar) {
  for (SwitchIndex first = 0; first < graph.switches(); ++first) {
    if (component_of_[first] != kMulticastTreeFar) continue;
    const auto number = static_cast<std::uint32_t>(components_.size());
    Component& made = components_.emplace_back();
    component_of_[first] = number;
    made.switches.push_back(first);
    for (std::size_t next = 0; next < made.switches.size(); ++next) {
      for (const Hop& hop : graph.hops_of(made.switches[next])) {
        if (component_of_[hop.to] != kMulticastTreeFar) continue;
        component_of_[hop.to] = number;
        made.switches.push_back(hop.to);
      }
    }
    find_roots(made);
  }
}

std::vector<std::uint32_t> MulticastTrees::distances(SwitchIndex from) const {
  std::vector<std::uint32_t> found(graph_.switches(), kMulticastTreeFar);
  std::vector<SwitchIndex> queue{from};
  found[from] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const Hop& hop : graph_.hops_of(queue[next])) {
      if (found[hop.to] != kMulticastTreeFar) continue;
      found[hop.to] = found[queue[next]] + 1;
      queue.push_back(hop.to);
    }
  }
  return found;
}

// The switches from which the farthest one with hosts is nearest. How far that is at least, is
// known from the searches so far; the next one begins at what was farthest from the best of all.
void MulticastTrees::find_roots(Component& component) const {
  std::vector<SwitchIndex> goals;
  for (const SwitchIndex at : component.switches) {
    if (graph_.has_hosts(at)) goals.push_back(at);
  }
  if (goals.empty()) goals = component.switches;
  std::vector<std::uint32_t> depth(graph_.switches(), 0);  // at least
  SwitchIndex goal = goals.front();
  const auto by_depth = [&](SwitchIndex a, SwitchIndex b) { return depth[a] < depth[b]; };
  for (int search = 0; search < kMostSearches; ++search) {
    const auto from_goal = distances(goal);
    for (const SwitchIndex at : component.switches)
      depth[at] = std::max(depth[at], from_goal[at]);
    const SwitchIndex best =
        *std::min_element(component.switches.begin(), component.switches.end(), by_depth);
    const auto from_best = distances(best);
    goal = *std::max_element(goals.begin(), goals.end(), [&](SwitchIndex a, SwitchIndex b) {
      return from_best[a] < from_best[b];
    });
    if (from_best[goal] <= depth[best]) break;
  }
  const std::uint32_t least =
      depth[*std::min_element(component.switches.begin(), component.switches.end(), by_depth)];
  std::copy_if(component.switches.begin(), component.switches.end(),
               std::back_inserter(component.roots),
               [&](SwitchIndex at) { return depth[at] == least; });
}

const Hop& MulticastTrees::up_from(SwitchIndex at, const std::vector<std::uint32_t>& depth,
                                   std::size_t turn) const {
  const auto hops = graph_.hops_of(at);
  const auto leads_up = [&](const Hop& hop) { return depth[hop.to] + 1 == depth[at]; };
  // There is one at least: the root is not asked.
  const auto ways = std::count_if(hops.begin(), hops.end(), leads_up);
  auto left = turn % static_cast<std::size_t>(std::max<std::ptrdiff_t>(ways, 1));
  return *std::find_if(hops.begin(), hops.end(),
                       [&](const Hop& hop) { return leads_up(hop) && left-- == 0; });
}

void MulticastTrees::add_tree(const Component& component, std::span<const MulticastEnd> members,
                              std::size_t turn, Masks& masks) const {
  const std::vector<std::uint32_t> depth =
      distances(component.roots[turn % component.roots.size()]);
  // Of the switches that members are at, or behind: how many of these receive.
  std::map<SwitchIndex, std::size_t> receivers;
  std::size_t all_receivers = 0;
  std::vector<std::vector<SwitchIndex>> levels;
  const auto join = [&](SwitchIndex at, std::size_t count) {
    const auto [known, is_new] = receivers.try_emplace(at, 0);
    known->second += count;
    if (!is_new) return;
    levels.resize(std::max<std::size_t>(levels.size(), depth[at] + 1));
    levels[depth[at]].push_back(at);
  };
  for (const MulticastEnd& end : members) {
    join(end.at, end.receives ? 1 : 0);
    if (!end.receives) continue;
    ++all_receivers;
    masks[end.at].set(end.port);
  }
  // From the deepest on, each switch to its parent: downwards where somebody receives below,
  // upwards where somebody does elsewhere.
  for (std::size_t level = levels.size(); level-- > 1;) {
    for (const SwitchIndex at : levels[level]) {
      const Hop& up = up_from(at, depth, turn / component.roots.size() + at);
      const std::size_t below = receivers[at];
      if (below < all_receivers) masks[at].set(up.port);
      if (below > 0) masks[up.to].set(up.peer_port);
      join(up.to, below);
    }
  }
}

std::vector<MulticastHop> MulticastTrees::hops(Lid mlid, std::span<const MulticastEnd> ends) const {
  std::map<std::uint32_t, std::vector<MulticastEnd>> by_component;
  for (const MulticastEnd& end : ends)
    by_component[component_of_[end.at]].push_back(end);
  Masks masks;
  for (const auto& [number, members] : by_component)
    add_tree(components_[number], members, mlid.value(), masks);
  std::vector<MulticastHop> found;
  for (const auto& [at, ports] : masks)
    found.push_back({.at = at, .ports = ports});
  return found;
}

}  // namespace weft::sm

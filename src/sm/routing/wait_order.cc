// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/wait_order.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace weft::sm {

WaitOrder::WaitOrder(const SwitchGraph& graph, const Ranking& ranking)
    : graph_(graph), place_(graph.hops().size()), visited_(graph.hops().size(), 0) {
  std::size_t slots = 0;
  for (const Hop& hop : graph.hops()) {
    first_slot_.push_back(slots);
    slots += graph.hops_of(hop.to).size();
  }
  count_.assign(slots, 0);
  std::vector<std::uint32_t> height(graph.switches());
  for (std::uint32_t i = 0; i < ranking.order().size(); ++i)
    height[ranking.order()[i]] = i;
  std::vector<HopIndex> order(graph.hops().size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](HopIndex a, HopIndex b) {
    const Hop& left = graph.hops()[a];
    const Hop& right = graph.hops()[b];
    const bool up = ranking.up(left);
    if (up != ranking.up(right)) return up;
    return up ? height[left.from] > height[right.from] : height[left.from] < height[right.from];
  };
  std::stable_sort(order.begin(), order.end(), before);
  for (std::uint32_t place = 0; place < order.size(); ++place)
    place_[order[place]] = place;
}

bool WaitOrder::add(std::span<const HopIndex> way) {
  for (std::size_t i = 1; i < way.size(); ++i) {
    if (add(way[i - 1], way[i])) continue;
    remove(way.first(i));
    return false;
  }
  return true;
}

void WaitOrder::remove(std::span<const HopIndex> way) {
  for (std::size_t i = 1; i < way.size(); ++i) {
    const std::size_t at = slot(way[i - 1], way[i]);
    assert(count_[at] > 0);
    --count_[at];
  }
}

bool WaitOrder::add(HopIndex first, HopIndex second) {
  const std::size_t at = slot(first, second);
  if (count_[at] == 0 && place_[first] > place_[second] && !reorder(first, second)) return false;
  ++count_[at];
  return true;
}

bool WaitOrder::visit(HopIndex hop) {
  if (visited_[hop] == search_) return false;
  visited_[hop] = search_;
  return true;
}

bool WaitOrder::reorder(HopIndex first, HopIndex second) {
  ++search_;
  if (!collect_later(second, first)) return false;
  collect_earlier(first, place_[second]);
  const auto by_place = [&](HopIndex a, HopIndex b) { return place_[a] < place_[b]; };
  std::sort(later_.begin(), later_.end(), by_place);
  std::sort(earlier_.begin(), earlier_.end(), by_place);
  places_.clear();
  for (const HopIndex hop : earlier_)
    places_.push_back(place_[hop]);
  for (const HopIndex hop : later_)
    places_.push_back(place_[hop]);
  std::sort(places_.begin(), places_.end());
  std::size_t next = 0;
  for (const HopIndex hop : earlier_)
    place_[hop] = places_[next++];
  for (const HopIndex hop : later_)
    place_[hop] = places_[next++];
  return true;
}

// All that `from` waits for, up to the place of `forbidden`. False: that is among it.
bool WaitOrder::collect_later(HopIndex from, HopIndex forbidden) {
  later_.assign(1, from);
  visit(from);
  for (std::size_t i = 0; i < later_.size(); ++i) {
    const HopIndex hop = later_[i];
    const SwitchIndex at = graph_.hops()[hop].to;
    for (HopIndex next = graph_.first_hop(at); next < graph_.first_hop(at + 1); ++next) {
      if (count_[slot(hop, next)] == 0 || place_[next] > place_[forbidden]) continue;
      if (next == forbidden) return false;
      if (visit(next)) later_.push_back(next);
    }
  }
  return true;
}

// All that waits for `from`, down to a place.
void WaitOrder::collect_earlier(HopIndex from, std::uint32_t lower) {
  earlier_.assign(1, from);
  visit(from);
  for (std::size_t i = 0; i < earlier_.size(); ++i) {
    const HopIndex hop = earlier_[i];
    for (const Hop& out : graph_.hops_of(graph_.hops()[hop].from)) {
      const HopIndex previous = out.back;
      if (count_[slot(previous, hop)] == 0 || place_[previous] < lower) continue;
      if (visit(previous)) earlier_.push_back(previous);
    }
  }
}

}  // namespace weft::sm

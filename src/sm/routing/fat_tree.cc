// SPDX-License-Identifier: Apache-2.0
// Fat trees: each LID has one way down from the top, and those of consecutive LIDs lie apart, so
// that shifts, which collectives are made of, share no link (Zahavi, 2010). All ways go up, then
// down.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sm/routing/engines.h"
#include "sm/routing/next_hops.h"
#include "sm/routing/up_down.h"

namespace weft::sm {
namespace {

class FatTree {
 public:
  FatTree(const SwitchGraph& graph, const Ranking& ranking)
      : graph_(graph),
        loads_(graph),
        rank_(graph.switches()),
        routes_(graph.switches(), graph.lid_end()) {
    std::uint32_t lowest = 0;
    for (SwitchIndex at = 0; at < graph.switches(); ++at)
      lowest = std::max(lowest, rank_[at] = ranking.rank(at));
    levels_.resize(std::size_t{lowest} + 1);
    for (SwitchIndex at = 0; at < graph.switches(); ++at)
      levels_[rank_[at]].push_back(at);
  }

  Routes run() {
    for (SwitchIndex to = 0; to < graph_.switches(); ++to) {
      for (const std::uint32_t number : graph_.ends_at(to)) {
        const EndPort& end = graph_.ends()[number];
        deliver(end, routes_);
        for (unsigned i = 0; i < end.lids(); ++i) {
          lid_ = Lid{static_cast<std::uint16_t>(end.lid.value() + i)};
          counts_ = end.port != 0;
          route_to(to);
        }
      }
    }
    return std::move(routes_);
  }

 private:
  enum class Way : std::uint8_t { kNone, kDown, kUp };

  [[nodiscard]] bool goes_up(const Hop& hop) const { return rank_[hop.to] < rank_[hop.from]; }

  void take(HopIndex hop, Way way) {
    const Hop& taken = graph_.hops()[hop];
    routes_.set_port(taken.from, lid_, taken.port);
    ways_[taken.from] = way;
    if (counts_) loads_.add(hop);
  }

  // The least used of the hops of a switch for which `good` holds; false: there is none.
  template <class Good>
  bool take_least(SwitchIndex at, Way way, Good good) {
    choice_.clear();
    for (HopIndex i = graph_.first_hop(at); i < graph_.first_hop(at + 1); ++i) {
      if (good(graph_.hops()[i])) choice_.push_back(i);
    }
    if (choice_.empty()) return false;
    take(loads_.least(choice_), way);
    return true;
  }

  void route_to(SwitchIndex to) {
    ways_.assign(graph_.switches(), Way::kNone);
    ways_[to] = Way::kDown;
    climb(to);
    // The nearest first: who can turn back low does not go to the top.
    for (const SwitchIndex at : chain_)
      gather_below(at);
    // Other ways down carry what comes by no other; they do not say which is used next.
    const bool counted = std::exchange(counts_, false);
    for (std::size_t level = rank_[to]; level-- > 0;) {
      for (const SwitchIndex at : levels_[level]) {
        if (ways_[at] != Way::kNone) continue;
        take_least(at, Way::kDown,
                   [&](const Hop& hop) { return !goes_up(hop) && ways_[hop.to] == Way::kDown; });
      }
    }
    counts_ = counted;
    for (const auto& level : levels_) {
      for (const SwitchIndex at : level) {
        if (ways_[at] != Way::kNone) continue;
        take_least(at, Way::kUp,
                   [&](const Hop& hop) { return goes_up(hop) && ways_[hop.to] != Way::kNone; });
      }
    }
    // What is left are switches of the top, from which only management goes to each other.
    for (const auto& level : levels_) {
      for (const SwitchIndex at : level) {
        if (ways_[at] != Way::kNone || graph_.has_hosts(at)) continue;
        take_least(at, Way::kUp, [&](const Hop& hop) { return ways_[hop.to] != Way::kNone; });
      }
    }
  }

  // From the destination to the top, by the links that the fewest LIDs come down: that is this
  // LID's way down.
  void climb(SwitchIndex to) {
    chain_.assign(1, to);
    for (SwitchIndex at = to;;) {
      choice_.clear();
      for (const Hop& hop : graph_.hops_of(at)) {
        if (goes_up(hop)) choice_.push_back(hop.back);
      }
      if (choice_.empty()) return;
      const HopIndex down = loads_.least(choice_);
      take(down, Way::kDown);
      at = graph_.hops()[down].from;
      chain_.push_back(at);
    }
  }

  // All that is below `top` and has no way yet goes up to it.
  void gather_below(SwitchIndex top) {
    std::vector<SwitchIndex> upper{top};
    while (!upper.empty()) {
      lower_.clear();
      in_upper_.assign(graph_.switches(), false);
      for (const SwitchIndex at : upper)
        in_upper_[at] = true;
      for (const SwitchIndex at : upper) {
        for (const Hop& hop : graph_.hops_of(at)) {
          if (goes_up(hop) || ways_[hop.to] != Way::kNone) continue;
          take_least(hop.to, Way::kUp,
                     [&](const Hop& back) { return goes_up(back) && in_upper_[back.to]; });
          lower_.push_back(hop.to);
        }
      }
      upper.swap(lower_);
    }
  }

  const SwitchGraph& graph_;
  Loads loads_;
  std::vector<std::uint32_t> rank_;
  std::vector<std::vector<SwitchIndex>> levels_;
  Routes routes_;
  // Of the LID at hand.
  Lid lid_{};
  bool counts_ = true;
  std::vector<Way> ways_;
  std::vector<SwitchIndex> chain_;
  std::vector<HopIndex> choice_;
  std::vector<SwitchIndex> lower_;
  std::vector<bool> in_upper_;
};

}  // namespace

Expected<Routes> route_fat_tree(const SwitchGraph& graph, const RoutingOptions& options) {
  auto ranking = Ranking::make(graph, options.roots);
  if (!ranking) return tl::unexpected(ranking.error());
  for (const Hop& hop : graph.hops()) {
    if (ranking->rank(hop.from) != ranking->rank(hop.to)) continue;
    return fail(std::errc::invalid_argument,
                fmt::format("no fat tree: port {} of switch {:#018x} leads to a switch of its own "
                            "level ({}), {:#018x}; updn routes such a fabric",
                            hop.port, graph.guid(hop.from).value(), ranking->rank(hop.from),
                            graph.guid(hop.to).value()));
  }
  return FatTree(graph, *ranking).run();
}

}  // namespace weft::sm

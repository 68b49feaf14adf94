// SPDX-License-Identifier: Apache-2.0
// Up and down: a total order of the switches, in which packets first go up, then down, and never up
// again (Schroeder et al., Autonet, 1991). No set of such ways can deadlock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "sm/routing/next_hops.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

class Ranking {
 public:
  // By the distance from the nearest root, and where that is the same by number. No roots: the
  // switches without hosts that are nearest to all that have some, if each host can reach
  // everything by them; else the one switch that is nearest to all, in each part of the fabric.
  // Errors: a root that is no switch of the graph.
  static Expected<Ranking> make(const SwitchGraph& graph, const std::vector<Guid>& roots);

  [[nodiscard]] bool up(const Hop& hop) const { return place_[hop.to] < place_[hop.from]; }
  // 0 for the roots.
  [[nodiscard]] std::uint32_t rank(SwitchIndex at) const { return rank_[at]; }
  // All switches, the highest first.
  [[nodiscard]] const std::vector<SwitchIndex>& order() const { return order_; }

  // The hops of the shortest lawful ways to a switch. One that has a way down takes it, since what
  // comes from above may go nowhere else. From a switch without hosts from which no lawful way
  // leads there, what is sent is management: it takes any neighbour that has one.
  void find(const SwitchGraph& graph, SwitchIndex to, NextHops& out);

 private:
  Ranking(const SwitchGraph& graph, const std::vector<SwitchIndex>& roots);
  void measure_ways(const SwitchGraph& graph, SwitchIndex to);
  [[nodiscard]] bool serves_all(const SwitchGraph& graph);

  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> place_;  // in order_
  std::vector<SwitchIndex> order_;
  // Of the destination at hand: hops by ways that only go down, and by the way taken.
  std::vector<std::uint32_t> down_;
  std::vector<std::uint32_t> away_;
};

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
// One layer of lanes: which hop waits for which, kept in an order in which each waits for later
// ones only. As long as there is one, no ring of packets can wait for itself (Dally and Seitz,
// 1987).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sm/routing/switch_graph.h"
#include "sm/routing/up_down.h"

namespace weft::sm {

class WaitOrder {
 public:
  // Begins with the order of up and down, in which lawful ways need no change.
  WaitOrder(const SwitchGraph& graph, const Ranking& ranking);

  // Adds a way, hop by hop, as often as it is given. False, and nothing done: it would close a
  // ring.
  bool add(std::span<const HopIndex> way);
  void remove(std::span<const HopIndex> way);

 private:
  [[nodiscard]] std::size_t slot(HopIndex first, HopIndex second) const {
    return first_slot_[first] + (second - graph_.first_hop(graph_.hops()[first].to));
  }
  bool add(HopIndex first, HopIndex second);
  // Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006.
  bool reorder(HopIndex first, HopIndex second);
  bool collect_later(HopIndex from, HopIndex forbidden);
  void collect_earlier(HopIndex from, std::uint32_t lower);
  bool visit(HopIndex hop);

  const SwitchGraph& graph_;
  std::vector<std::size_t> first_slot_;  // of each hop: one slot for each hop that may follow
  std::vector<std::uint32_t> count_;     // of each slot: how many ways take these two hops
  std::vector<std::uint32_t> place_;     // of each hop, in the order
  std::vector<std::uint32_t> visited_;   // of each hop: the last search that came by
  std::uint32_t search_ = 0;
  std::vector<HopIndex> later_;
  std::vector<HopIndex> earlier_;
  std::vector<std::uint32_t> places_;
};

}  // namespace weft::sm

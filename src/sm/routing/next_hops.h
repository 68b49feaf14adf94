// SPDX-License-Identifier: Apache-2.0
// What most engines share: they say which hops of each switch lead to a destination, and the
// destination's LIDs are spread over them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "sm/routing/routes.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

inline constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

// The hops by which each switch may send what is for one destination.
class NextHops {
 public:
  void clear() {
    first_.assign(1, 0);
    hops_.clear();
  }
  // For one switch after the other: add() what it has, then close().
  void add(HopIndex hop) { hops_.push_back(hop); }
  void close() { first_.push_back(static_cast<std::uint32_t>(hops_.size())); }
  [[nodiscard]] std::span<const HopIndex> of(SwitchIndex at) const {
    return std::span(hops_).subspan(first_[at], first_[at + 1] - first_[at]);
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<HopIndex> hops_;
};

// How many LIDs go by each hop, and which is the least used of some.
class Loads {
 public:
  explicit Loads(const SwitchGraph& graph) : loads_(graph.hops().size(), 0) {}
  // The first of those that the fewest LIDs go by. There is one.
  [[nodiscard]] HopIndex least(std::span<const HopIndex> hops) const;
  void add(HopIndex hop) { ++loads_[hop]; }
  [[nodiscard]] std::uint32_t of(HopIndex hop) const { return loads_[hop]; }

 private:
  std::vector<std::uint32_t> loads_;
};

// How many hops each switch is away from one, or kFar.
void measure(const SwitchGraph& graph, SwitchIndex to, std::vector<std::uint32_t>& away);
// All hops that lead nearer, by those distances.
void nearer_hops(const SwitchGraph& graph, const std::vector<std::uint32_t>& away, NextHops& out);

// Tables for every LID: each switch takes the least used of what `next` finds for the switch where
// the LID is, so that consecutive LIDs go by different hops. A switch for which it finds nothing
// gets no way there.
using FindNextHops = std::function<void(SwitchIndex to, NextHops& out)>;
[[nodiscard]] Routes spread(const SwitchGraph& graph, const FindNextHops& next);

// Entries for the LIDs of an end port at its own switch.
void deliver(const EndPort& end, Routes& routes);

}  // namespace weft::sm

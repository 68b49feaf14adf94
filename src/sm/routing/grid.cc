// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace weft::sm {
namespace {

constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

tl::unexpected<Error> no_grid(const SwitchGraph& graph, SwitchIndex at, std::string_view why) {
  return fail(std::errc::invalid_argument,
              fmt::format("no grid: switch {:#018x} {}; layered routes any fabric",
                          graph.guid(at).value(), why));
}

// Ports of one dimension, as a forest of port numbers.
class PortSets {
 public:
  PortSets() { std::iota(parent_.begin(), parent_.end(), 0); }
  std::uint8_t of(std::uint8_t port) {
    while (parent_[port] != port)
      port = parent_[port] = parent_[parent_[port]];
    return port;
  }
  void join(std::uint8_t a, std::uint8_t b) {
    a = of(a);
    b = of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::array<std::uint8_t, 256> parent_{};
};

class Finder {
 public:
  explicit Finder(const SwitchGraph& graph) : graph_(graph) {}

  Expected<Grid> run() {
    sort_ports();
    if (grid_.dimensions.size() > Grid::kMostDimensions) {
      return no_grid(graph_, 0,
                     fmt::format("has links in {} dimensions, and {} is the most",
                                 grid_.dimensions.size(), Grid::kMostDimensions));
    }
    grid_.places.assign(graph_.switches(), {});
    for (std::size_t d = 0; d < grid_.dimensions.size(); ++d) {
      if (auto found = place_along(static_cast<std::uint8_t>(d)); !found)
        return tl::unexpected(found.error());
    }
    if (auto whole = check_whole(); !whole) return tl::unexpected(whole.error());
    return std::move(grid_);
  }

 private:
  void sort_ports() {
    PortSets sets;
    for (const Hop& hop : graph_.hops())
      sets.join(hop.port, hop.peer_port);
    // Parallel links are one dimension, too.
    std::map<std::pair<SwitchIndex, SwitchIndex>, std::uint8_t> between;
    for (const Hop& hop : graph_.hops()) {
      const auto [first, is_new] = between.emplace(std::pair(hop.from, hop.to), hop.port);
      if (!is_new) sets.join(first->second, hop.port);
    }
    std::map<std::uint8_t, std::uint8_t> numbers;
    for (const Hop& hop : graph_.hops())
      numbers.emplace(sets.of(hop.port), 0);
    std::uint8_t next = 0;
    for (auto& [set, number] : numbers)
      number = next++;
    grid_.dimensions.resize(next);
    for (const Hop& hop : graph_.hops())
      grid_.dimension.push_back(numbers[sets.of(hop.port)]);
  }

  // The switches next to one along a dimension, each once, in the order of ports.
  std::vector<SwitchIndex> neighbours(SwitchIndex at, std::uint8_t d) const {
    std::vector<SwitchIndex> found;
    HopIndex index = graph_.first_hop(at);
    for (const Hop& hop : graph_.hops_of(at)) {
      const bool known = std::find(found.begin(), found.end(), hop.to) != found.end();
      if (grid_.dimension[index++] == d && !known) found.push_back(hop.to);
    }
    return found;
  }

  // Numbers the row that goes through `first`, and takes all other rows for its copies.
  Expected<void> place_along(std::uint8_t d) {
    std::vector<std::uint32_t> place(graph_.switches(), kUnknown);
    auto row = walk(0, d);
    if (!row) return tl::unexpected(row.error());
    for (std::uint32_t i = 0; i < row->size(); ++i)
      place[(*row)[i]] = i;
    std::vector<SwitchIndex> reached = *row;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      HopIndex index = graph_.first_hop(reached[i]);
      for (const Hop& hop : graph_.hops_of(reached[i])) {
        if (grid_.dimension[index++] == d) continue;
        if (place[hop.to] == kUnknown) {
          place[hop.to] = place[reached[i]];
          reached.push_back(hop.to);
        } else if (place[hop.to] != place[reached[i]]) {
          return no_grid(graph_, hop.to, "is in two places at once");
        }
      }
    }
    for (SwitchIndex at = 0; at < graph_.switches(); ++at) {
      if (place[at] == kUnknown) return no_grid(graph_, at, "is not joined to the others");
      grid_.places[at][d] = place[at];
    }
    return {};
  }

  // The row of a switch along a dimension, from one end to the other, or once round.
  Expected<std::vector<SwitchIndex>> walk(SwitchIndex from, std::uint8_t d) {
    // To an end first, if there is one.
    SwitchIndex start = from;
    SwitchIndex before = from;
    for (std::size_t steps = 0;; ++steps) {
      const auto next = neighbours(start, d);
      if (next.size() > 2) return no_grid(graph_, start, "has more than two neighbours in a row");
      const auto on =
          std::find_if(next.begin(), next.end(), [&](SwitchIndex each) { return each != before; });
      if (on == next.end() || *on == from || steps > graph_.switches()) break;
      before = std::exchange(start, *on);
    }
    std::vector<SwitchIndex> row{start};
    before = start;
    for (SwitchIndex at = start;;) {
      const auto next = neighbours(at, d);
      if (next.size() > 2) return no_grid(graph_, at, "has more than two neighbours in a row");
      const auto on =
          std::find_if(next.begin(), next.end(), [&](SwitchIndex each) { return each != before; });
      if (on == next.end()) break;
      if (*on == start) {
        grid_.dimensions[d].wraps = true;
        break;
      }
      before = std::exchange(at, *on);
      row.push_back(at);
      if (row.size() > graph_.switches()) return no_grid(graph_, at, "is twice in a row");
    }
    grid_.dimensions[d].size = static_cast<std::uint32_t>(row.size());
    return row;
  }

  // Every place is taken once, and every neighbour is where it must be.
  Expected<void> check_whole() const {
    std::size_t count = 1;
    for (const Grid::Dimension& dimension : grid_.dimensions)
      count *= std::max<std::uint32_t>(dimension.size, 1);
    if (count != graph_.switches()) {
      return no_grid(
          graph_, 0,
          fmt::format("is one of {}, and the grid would have {} places", graph_.switches(), count));
    }
    std::map<std::array<std::uint32_t, Grid::kMostDimensions>, SwitchIndex> taken;
    for (SwitchIndex at = 0; at < graph_.switches(); ++at) {
      if (!taken.emplace(grid_.places[at], at).second) {
        return no_grid(graph_, at, "is where another one is");
      }
      for (std::size_t d = 0; d < grid_.dimensions.size(); ++d) {
        if (auto right = check_neighbours(at, static_cast<std::uint8_t>(d)); !right) return right;
      }
    }
    return {};
  }

  Expected<void> check_neighbours(SwitchIndex at, std::uint8_t d) const {
    const auto [size, wraps] = grid_.dimensions[d];
    const std::uint32_t here = grid_.places[at][d];
    const auto next = neighbours(at, d);
    const bool inner = here > 0 && here + 1 < size;
    const std::size_t expected = size < 2 ? 0 : (size > 2 && (wraps || inner)) ? 2 : 1;
    if (next.size() != expected) {
      return no_grid(graph_, at,
                     fmt::format("has {} neighbours in dimension {} and must have {}", next.size(),
                                 d, expected));
    }
    for (const SwitchIndex other : next) {
      const std::uint32_t there = grid_.places[other][d];
      const bool beside = there + 1 == here || here + 1 == there;
      const bool around =
          wraps && (there + 1 == size || here + 1 == size) && there + here + 1 == size;
      if (!beside && !around) return no_grid(graph_, at, "has a neighbour that is far away");
    }
    return {};
  }

  const SwitchGraph& graph_;
  Grid grid_;
};

}  // namespace

Expected<Grid> Grid::find(const SwitchGraph& graph) {
  if (graph.switches() == 0) return Grid{};
  return Finder(graph).run();
}

}  // namespace weft::sm

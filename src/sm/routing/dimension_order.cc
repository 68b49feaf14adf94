// SPDX-License-Identifier: Apache-2.0
// Grids and tori: one dimension after the other, each the shorter way round. Where a row is a ring,
// packets that cross its end travel on lane 1 in that dimension, all others on lane 0, so that
// neither lane ever waits for itself: a shortest way that crosses the end does not get as far as
// the middle on both sides.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sm/routing/engines.h"
#include "sm/routing/grid.h"
#include "sm/routing/next_hops.h"

namespace weft::sm {
namespace {

constexpr std::size_t kMostRings = 4;  // an SL has so many bits

// In rings of three and less no way has two hops that could wait for each other all round.
bool can_wait_round(const Grid::Dimension& dimension) {
  return dimension.wraps && dimension.size > 3;
}

class DimensionOrder {
 public:
  DimensionOrder(const SwitchGraph& graph, const Grid& grid) : graph_(graph), grid_(grid) {}

  void find(SwitchIndex to, NextHops& out) const {
    out.clear();
    for (SwitchIndex at = 0; at < graph_.switches(); ++at) {
      const auto d = first_difference(at, to);
      if (d < grid_.dimensions.size()) {
        const std::uint32_t wanted = next_place(at, to, d);
        for (HopIndex i = graph_.first_hop(at); i < graph_.first_hop(at + 1); ++i) {
          const bool right = grid_.dimension[i] == d && place(graph_.hops()[i].to, d) == wanted;
          if (right) out.add(i);
        }
      }
      out.close();
    }
  }

  // A bit for each ring whose end is crossed on the way.
  [[nodiscard]] Sl level(SwitchIndex from, SwitchIndex to,
                         const std::vector<std::uint8_t>& bit_of) const {
    unsigned level = 0;
    for (std::size_t d = 0; d < grid_.dimensions.size(); ++d) {
      const std::uint32_t here = place(from, d);
      const std::uint32_t there = place(to, d);
      if (!can_wait_round(grid_.dimensions[d]) || here == there) continue;
      const bool crosses = forward(here, there, d) ? there < here : there > here;
      if (crosses) level |= 1u << bit_of[d];
    }
    return Sl{static_cast<std::uint8_t>(level)};
  }

 private:
  [[nodiscard]] std::uint32_t place(SwitchIndex at, std::size_t d) const {
    return grid_.places[at][d];
  }
  [[nodiscard]] std::size_t first_difference(SwitchIndex a, SwitchIndex b) const {
    std::size_t d = 0;
    while (d < grid_.dimensions.size() && place(a, d) == place(b, d))
      ++d;
    return d;
  }
  // Whether the way leads to higher places. Halfway round, half of the switches go either way.
  [[nodiscard]] bool forward(std::uint32_t here, std::uint32_t there, std::size_t d) const {
    const auto [size, wraps] = grid_.dimensions[d];
    if (!wraps) return there > here;
    const std::uint32_t ahead = (there + size - here) % size;
    if (2 * ahead == size) return here % 2 == 0;
    return 2 * ahead < size;
  }
  [[nodiscard]] std::uint32_t next_place(SwitchIndex at, SwitchIndex to, std::size_t d) const {
    const std::uint32_t here = place(at, d);
    const std::uint32_t size = grid_.dimensions[d].size;
    return (here + (forward(here, place(to, d), d) ? 1 : size - 1)) % size;
  }

  const SwitchGraph& graph_;
  const Grid& grid_;
};

}  // namespace

Expected<Routes> route_dimension_order(const SwitchGraph& graph, const RoutingOptions& options) {
  const auto grid = Grid::find(graph);
  if (!grid) return tl::unexpected(grid.error());
  std::vector<std::uint8_t> bit_of(grid->dimensions.size(), 0);
  std::uint8_t rings = 0;
  for (std::size_t d = 0; d < grid->dimensions.size(); ++d) {
    if (can_wait_round(grid->dimensions[d])) bit_of[d] = rings++;
  }
  if (rings > kMostRings || (rings > 0 && options.lanes < 2)) {
    return fail(
        std::errc::invalid_argument,
        fmt::format("a torus of {} rings needs {}; layered routes it without", rings,
                    rings > kMostRings ? "more service levels than there are" : "two lanes"));
  }
  const DimensionOrder engine(graph, *grid);
  Routes routes = spread(graph, [&](SwitchIndex to, NextHops& out) { engine.find(to, out); });
  if (rings == 0) return routes;
  routes.plan = LanePlan::kDimension;
  routes.lanes = 2;
  for (const std::uint8_t d : grid->dimension)
    routes.dimension.push_back(bit_of[d]);
  for (const EndPort& end : graph.ends()) {
    for (unsigned i = 0; i < end.lids(); ++i) {
      const Lid lid{static_cast<std::uint16_t>(end.lid.value() + i)};
      for (SwitchIndex from = 0; from < graph.switches(); ++from)
        routes.set_sl(from, lid, engine.level(from, end.at, bit_of));
    }
  }
  return routes;
}

}  // namespace weft::sm

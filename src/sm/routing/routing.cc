// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/routing.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "sm/routing/engines.h"
#include "sm/routing/next_hops.h"

namespace weft::sm {
namespace {

constexpr std::array<std::pair<Engine, std::string_view>, 5> kNames{
    {{Engine::kMinHop, "minhop"},
     {Engine::kUpDown, "updn"},
     {Engine::kFatTree, "ftree"},
     {Engine::kDimensionOrder, "dor"},
     {Engine::kLayered, "layered"}}};

}  // namespace

std::string_view to_string(Engine engine) {
  return kNames[static_cast<std::size_t>(engine)].second;
}

std::optional<Engine> parse_engine(std::string_view text) {
  const auto* const found = std::find_if(kNames.begin(), kNames.end(),
                                         [&](const auto& name) { return name.second == text; });
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

Expected<Routes> route_min_hop(const SwitchGraph& graph) {
  std::vector<std::uint32_t> away;
  return spread(graph, [&](SwitchIndex to, NextHops& out) {
    measure(graph, to, away);
    nearer_hops(graph, away, out);
  });
}

Expected<Routes> route(Engine engine, const SwitchGraph& graph, const RoutingOptions& options) {
  assert(options.lanes >= 1 && options.lanes <= 15);
  switch (engine) {
    case Engine::kMinHop:
      return route_min_hop(graph);
    case Engine::kUpDown:
      return route_up_down(graph, options);
    case Engine::kFatTree:
      return route_fat_tree(graph, options);
    case Engine::kDimensionOrder:
      return route_dimension_order(graph, options);
    case Engine::kLayered:
      return route_layered(graph, options);
  }
  return route_min_hop(graph);
}

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
// The engines one by one, for routing.cc to choose from.
#pragma once

#include "base/error.h"
#include "sm/routing/routing.h"

namespace weft::sm {

[[nodiscard]] Expected<Routes> route_min_hop(const SwitchGraph& graph);
[[nodiscard]] Expected<Routes> route_up_down(const SwitchGraph& graph,
                                             const RoutingOptions& options);
[[nodiscard]] Expected<Routes> route_fat_tree(const SwitchGraph& graph,
                                              const RoutingOptions& options);
[[nodiscard]] Expected<Routes> route_dimension_order(const SwitchGraph& graph,
                                                     const RoutingOptions& options);
[[nodiscard]] Expected<Routes> route_layered(const SwitchGraph& graph,
                                             const RoutingOptions& options);

}  // namespace weft::sm

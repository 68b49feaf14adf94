// SPDX-License-Identifier: Apache-2.0
// Routing engines: from a graph of switches to forwarding tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "sm/routing/routes.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

enum class Engine : std::uint8_t {
  kMinHop,          // shortest ways, spread over the links; deadlock is not looked at
  kUpDown,          // shortest ways that never go up again once they went down, from a root
  kFatTree,         // of a tree with levels: each LID has its own way through the top
  kDimensionOrder,  // of a grid or torus: one dimension after the other, on two lanes
  kLayered,         // shortest ways of any fabric, on as many lanes as keep them free of deadlock
};

// As they are named on command lines and in lab files: "minhop", "updn", "ftree", "dor",
// "layered".
[[nodiscard]] std::string_view to_string(Engine engine);
[[nodiscard]] std::optional<Engine> parse_engine(std::string_view text);

struct RoutingOptions {
  // Data lanes that all ports have, and that routing may use: 1 to 15.
  std::uint8_t lanes = 8;
  // Switches that are the top of kUpDown and kFatTree; empty: chosen.
  std::vector<Guid> roots{};
};

// Errors: the fabric has not the shape that the engine is for, or needs more lanes than there are;
// the message says where, and which engine would do. Parts of the fabric that are not connected
// have no ways to each other.
[[nodiscard]] Expected<Routes> route(Engine engine, const SwitchGraph& graph,
                                     const RoutingOptions& options);

}  // namespace weft::sm

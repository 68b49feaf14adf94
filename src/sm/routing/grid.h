// SPDX-License-Identifier: Apache-2.0
// Finds out whether switches are cabled as a grid or torus, and where in it each is.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

struct Grid {
  static constexpr std::size_t kMostDimensions = 8;
  struct Dimension {
    std::uint32_t size = 0;
    bool wraps = false;  // the last is linked with the first
  };
  std::vector<Dimension> dimensions;
  std::vector<std::array<std::uint32_t, kMostDimensions>> places;  // of each switch
  std::vector<std::uint8_t> dimension;                             // of each hop

  // A dimension is what the same ports make of each switch: that a port of one switch is cabled to
  // a port of another says that the two ports, on all switches, are of one dimension.
  // Errors: it is no grid, or a link or switch of it is missing; the message says where.
  static Expected<Grid> find(const SwitchGraph& graph);
};

}  // namespace weft::sm

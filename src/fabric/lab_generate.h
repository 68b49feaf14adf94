// SPDX-License-Identifier: Apache-2.0
// Labs of a regular shape.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "fabric/lab.h"

namespace weft::fabric {

// A size of several numbers, "18x36"; each from 1 to 65,535. Nothing when it is not one.
[[nodiscard]] std::optional<std::vector<unsigned>> parse_size(std::string_view text);

// Errors begin with "fat-tree 18x36: " and say what the size must be.

// As many levels of switches as `down` has numbers: a switch of level 1 has down[0] nodes, one of
// level n down[n-1] switches of level n-1 below it, and every one but the highest as many above as
// below, so that the tree has full bisection. 18x36 is 648 nodes on two levels of 36-port switches,
// 18x18x18 is 5,832 nodes and 972 switches.
[[nodiscard]] Expected<Lab> generate_fat_tree(const std::vector<unsigned>& down,
                                              const std::string& name);

// A switch at each point of a grid of 1 to 6 dimensions, with links to its neighbours, the last of
// a row being the first's; a row of two has one link. `hosts` nodes on each switch. Ports go by
// dimension, as dimension-order routing wants: 1 and 2 are back and on along the first.
[[nodiscard]] Expected<Lab> generate_torus(const std::vector<unsigned>& sizes, unsigned hosts,
                                           const std::string& name);

// Kim, Dally, Scott, Abts 2008: `size` is nodes of a switch, switches of a group, and links of a
// switch to other groups (p, a, h). All switches of a group are linked, and there are a * h + 1
// groups, each two with one link.
[[nodiscard]] Expected<Lab> generate_dragonfly(const std::vector<unsigned>& size,
                                               const std::string& name);

// Switches in a row, `hosts` nodes on each.
[[nodiscard]] Expected<Lab> generate_line(const std::vector<unsigned>& size, unsigned hosts,
                                          const std::string& name);

}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
// Proves of forwarding tables, whoever made them, that every packet arrives and that no set of
// packets can wait for each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sm/routing/routes.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

struct RoutingCheck {
  std::uint64_t ways = 0;         // from a switch with hosts to a LID
  std::uint64_t unreachable = 0;  // ways that end, or go round, though the fabric is connected
  std::uint64_t longest = 0;      // hops between switches
  std::uint64_t detours = 0;      // ways that are longer than the shortest
  // A ring of hops and lanes, each waiting for the next; empty: there is none (Dally and Seitz,
  // 1987).
  std::vector<std::string> credit_loop;
  std::string first_unreachable;  // in words

  [[nodiscard]] bool good() const { return unreachable == 0 && credit_loop.empty(); }
};

// Follows the way from each switch that has hosts, to each LID, on the service level that the
// routes have for it. Additional LIDs have to arrive at the port of the LID that they lead like,
// and must not be a port's own.
[[nodiscard]] RoutingCheck check(const SwitchGraph& graph, const Routes& routes);

}  // namespace weft::sm

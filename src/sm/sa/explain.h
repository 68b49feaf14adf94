// SPDX-License-Identifier: Apache-2.0
// How a path goes, hop by hop, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sm/sa/subnet_view.h"

namespace weft::sm {

struct ExplainedHop {
  PortRef out{};
  PortRef in{};  // at the other end of the link
  // Of a hop out of a switch to another: the ports of it that lead as near to the destination as
  // can be, and whether this is one of them. 0: there was nothing to choose.
  unsigned choices = 0;
  bool detour = false;
};

// The hops from an end port to a LID, as the forwarding tables make them, until they end: it is the
// whole way where `arrives`.
struct Explanation {
  std::vector<ExplainedHop> hops;
  bool arrives = false;
};
[[nodiscard]] Explanation follow(const SubnetView& view, const ViewEnd& from, Lid to);
// The same, with what there was to choose at each hop.
[[nodiscard]] Explanation explain(const SubnetView& view, const ViewEnd& from, Lid to);

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
// Which values of a field somebody means.
#pragma once

#include <vector>

#include "service/firewall/wide.h"

namespace weft::service::firewall {

// From `low` to `high`, both included.
struct Range {
  Wide low{};
  Wide high{};
  [[nodiscard]] bool has(const Wide& value) const { return low <= value && value <= high; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Ranges in ascending order, of which no two overlap or touch.
using Ranges = std::vector<Range>;

[[nodiscard]] Ranges normalized(Ranges ranges);
// What is in both.
[[nodiscard]] Ranges intersection(const Ranges& a, const Ranges& b);
// What is within `all` and not in `ranges`.
[[nodiscard]] Ranges complement(const Ranges& ranges, const Range& all);
[[nodiscard]] bool contains(const Ranges& ranges, const Wide& value);

}  // namespace weft::service::firewall

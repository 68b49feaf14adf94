// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/ranges.h"

#include <algorithm>

namespace weft::service::firewall {

Ranges normalized(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.low < b.low; });
  Ranges out;
  for (const Range& range : ranges) {
    const bool touches =
        !out.empty() && (range.low <= out.back().high || range.low == out.back().high.next());
    if (touches) {
      out.back().high = std::max(out.back().high, range.high);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

Ranges intersection(const Ranges& a, const Ranges& b) {
  Ranges out;
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    const Range both{std::max(left->low, right->low), std::min(left->high, right->high)};
    if (both.low <= both.high) out.push_back(both);
    if (left->high < right->high) {
      ++left;
    } else {
      ++right;
    }
  }
  return out;
}

Ranges complement(const Ranges& ranges, const Range& all) {
  Ranges out;
  Wide from = all.low;
  for (const Range& range : ranges) {
    if (range.high < all.low || range.low > all.high) continue;
    if (range.low > from) out.push_back({from, range.low.previous()});
    if (range.high >= all.high) return out;
    from = range.high.next();
  }
  out.push_back({from, all.high});
  return out;
}

bool contains(const Ranges& ranges, const Wide& value) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), value,
                       [](const Wide& wanted, const Range& range) { return wanted < range.low; });
  return after != ranges.begin() && std::prev(after)->has(value);
}

}  // namespace weft::service::firewall

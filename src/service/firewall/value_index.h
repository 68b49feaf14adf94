// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "service/firewall/ranges.h"

namespace weft::service::firewall {

// What one value of a field leads to: single values by a hash table, and what lies in between by
// bisection among intervals. `Value`: std::uint64_t, or Wide for fields of 128 bits.
template <class Value>
class ValueIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // Ways to arrange a hash table that are tried, until in one of them every value is near to where
  // it belongs. Values which no arrangement keeps from crowding are found by bisection: whoever
  // writes rules cannot make packets slow with them.
  static constexpr unsigned kArrangements = 8;

  struct Point {
    Value at{};
    std::uint32_t to = kNone;
  };
  struct Interval {
    Value from{};  // up to the next one's
    std::uint32_t to = kNone;
  };

  ValueIndex() = default;
  // Both in ascending order; fewer than 2^21 - 1 points. Of a value that is a point, the point
  // counts and not the interval that it lies in.
  ValueIndex(std::span<const Point> points, std::span<const Interval> intervals,
             unsigned arrangements = kArrangements);

  [[nodiscard]] std::uint32_t find(const Value& value) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  // A slot has the lowest bits for a place among the points, counted from 1, and above them bits of
  // the hash, so that hardly any value but the right one leads to a look at the point.
  static constexpr unsigned kPlaceBits = 21;
  static constexpr std::uint32_t kPlace = (std::uint32_t{1} << kPlaceBits) - 1;
  // Slots that a search may come by.
  static constexpr std::uint32_t kMostProbes = 16;

  [[nodiscard]] std::uint64_t hash(const Value& value, std::uint64_t arrangement) const;
  [[nodiscard]] bool arrange(std::uint64_t arrangement, std::size_t slots);
  [[nodiscard]] std::uint32_t find_interval(const Value& value) const;

  std::vector<Value> points_;
  std::vector<std::uint32_t> point_to_;
  std::vector<std::uint32_t> slots_;  // a power of 2 of them; none: the points are bisected
  std::uint64_t arrangement_ = 0;
  std::vector<Value> froms_;
  std::vector<std::uint32_t> interval_to_;
};

}  // namespace weft::service::firewall

// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/value_index.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <type_traits>

namespace weft::service::firewall {

template <class Value>
ValueIndex<Value>::ValueIndex(std::span<const Point> points, std::span<const Interval> intervals,
                              unsigned arrangements) {
  assert(points.size() < kPlace);
  for (const Point& point : points) {
    points_.push_back(point.at);
    point_to_.push_back(point.to);
  }
  for (const Interval& interval : intervals) {
    froms_.push_back(interval.from);
    interval_to_.push_back(interval.to);
  }
  if (points.empty()) return;
  // At most half full.
  std::size_t slots = std::bit_ceil(2 * points.size());
  for (arrangement_ = 0; arrangement_ < arrangements; ++arrangement_) {
    if (arrange(arrangement_, slots)) return;
    // Once larger: full of values by chance, it need not be that any arrangement fits.
    if (arrangement_ == arrangements / 2) slots *= 2;
  }
  slots_ = {};
}

template <class Value>
std::uint64_t ValueIndex<Value>::hash(const Value& value, std::uint64_t arrangement) const {
  std::uint64_t out = 0;
  if constexpr (std::is_same_v<Value, Wide>) {
    out = (value.high ^ arrangement) * 0xFF51'AFD7'ED55'8CCD;
    out = out ^ out >> 32 ^ value.low;
  } else {
    out = value ^ arrangement;
  }
  out *= 0x9E37'79B9'7F4A'7C15;
  out ^= out >> 32;
  out *= 0xD6E8'FEB8'6659'FD93;
  return out ^ out >> 32;
}

// False: some would be further than kMostProbes from where they belong.
template <class Value>
bool ValueIndex<Value>::arrange(std::uint64_t arrangement, std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::uint64_t hashed = hash(points_[i], arrangement);
    std::size_t slot = hashed & (slots - 1);
    std::uint32_t probes = 1;
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots - 1))
      ++probes;
    if (probes > kMostProbes) return false;
    const auto mark = static_cast<std::uint32_t>(hashed >> 32) & ~kPlace;
    slots_[slot] = mark | static_cast<std::uint32_t>(i + 1);
  }
  return true;
}

template <class Value>
std::uint32_t ValueIndex<Value>::find(const Value& value) const {
  if (!slots_.empty()) {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t hashed = hash(value, arrangement_);
    const auto mark = static_cast<std::uint32_t>(hashed >> 32) & ~kPlace;
    std::size_t slot = hashed & mask;
    for (std::uint32_t probe = 0; probe < kMostProbes && slots_[slot] != 0; ++probe) {
      const std::size_t here = slot;
      slot = (slot + 1) & mask;
      if ((slots_[here] & ~kPlace) != mark) continue;
      const std::uint32_t place = (slots_[here] & kPlace) - 1;
      if (points_[place] == value) return point_to_[place];
    }
  } else if (!points_.empty()) {
    const auto at = std::lower_bound(points_.begin(), points_.end(), value);
    if (at != points_.end() && *at == value)
      return point_to_[static_cast<std::size_t>(at - points_.begin())];
  }
  return froms_.empty() ? kNone : find_interval(value);
}

template <class Value>
std::uint32_t ValueIndex<Value>::find_interval(const Value& value) const {
  const auto after = std::upper_bound(froms_.begin(), froms_.end(), value);
  if (after == froms_.begin()) return kNone;
  return interval_to_[static_cast<std::size_t>(after - froms_.begin()) - 1];
}

template <class Value>
std::size_t ValueIndex<Value>::bytes() const {
  return (points_.capacity() + froms_.capacity()) * sizeof(Value) +
         (point_to_.capacity() + interval_to_.capacity() + slots_.capacity()) *
             sizeof(std::uint32_t);
}

template class ValueIndex<std::uint64_t>;
template class ValueIndex<Wide>;

}  // namespace weft::service::firewall

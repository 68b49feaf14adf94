// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/partition.h"

#include <algorithm>
#include <iterator>

namespace weft::service::firewall {
namespace {

// How often a rule may stand in groups, on average.
constexpr std::size_t kMostCopies = 4;
constexpr Wide kPartitionLast{~std::uint64_t{0}, ~std::uint64_t{0}};

void make_unique(std::vector<Wide>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::size_t place_of(const std::vector<Wide>& values, const Wide& value) {
  return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), value) -
                                  values.begin());
}

}  // namespace

Partition::Partition(std::span<const Rule> rules, std::span<const std::uint32_t> numbers,
                     Field field)
    : field_(field) {
  for (const std::uint32_t number : numbers) {
    const auto& conditions = rules[number].conditions;
    const auto found =
        std::find_if(conditions.begin(), conditions.end(),
                     [field](const Condition& condition) { return condition.field == field; });
    if (found == conditions.end()) {
      rest_.push_back(number);
    } else {
      members_.push_back({number, &found->ranges, 0});
    }
  }
  cut();
  leave_out_wide(numbers.size());
  count();
}

void Partition::cut() {
  points_.clear();
  cuts_.clear();
  for (const Member& member : members_) {
    for (const Range& range : *member.ranges) {
      if (range.low == range.high) {
        points_.push_back(range.low);
        continue;
      }
      cuts_.push_back(range.low);
      if (range.high != kPartitionLast) cuts_.push_back(range.high.next());
    }
  }
  make_unique(points_);
  make_unique(cuts_);
}

Partition::Cover Partition::cover_of(const Range& range) const {
  Cover out;
  out.points = place_of(points_, range.low);
  if (range.low == range.high) {
    out.points_end = out.points + 1;
    return out;
  }
  const bool to_end = range.high == kPartitionLast;
  out.points_end = to_end ? points_.size() : place_of(points_, range.high.next());
  out.cuts = place_of(cuts_, range.low);
  out.cuts_end = to_end ? cuts_.size() : place_of(cuts_, range.high.next());
  return out;
}

void Partition::leave_out_wide(std::size_t numbers) {
  for (Member& member : members_) {
    for (const Range& range : *member.ranges) {
      const Cover cover = cover_of(range);
      member.covers += cover.points_end - cover.points + cover.cuts_end - cover.cuts;
    }
  }
  std::vector<std::uint32_t> order(members_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return members_[a].covers < members_[b].covers;
  });
  const std::size_t room = kMostCopies * (points_.size() + cuts_.size() + numbers);
  std::size_t used = 0;
  std::vector<bool> stays(members_.size(), false);
  for (const std::uint32_t i : order) {
    used += members_[i].covers;
    if (used > room) break;
    stays[i] = true;
  }
  std::vector<Member> kept;
  std::vector<std::uint32_t> wide;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (stays[i]) {
      kept.push_back(members_[i]);
    } else {
      wide.push_back(members_[i].rule);
    }
  }
  if (wide.empty()) return;
  members_ = std::move(kept);
  std::vector<std::uint32_t> rest;
  std::merge(rest_.begin(), rest_.end(), wide.begin(), wide.end(), std::back_inserter(rest));
  rest_ = std::move(rest);
  cut();
}

void Partition::count() {
  std::vector<std::size_t> begins(cuts_.size() + 1, 0);
  std::vector<std::size_t> ends(cuts_.size() + 1, 0);
  std::vector<std::size_t> own(points_.size(), 0);
  for (const Member& member : members_) {
    for (const Range& range : *member.ranges) {
      const Cover cover = cover_of(range);
      memberships_ += cover.points_end - cover.points + cover.cuts_end - cover.cuts;
      if (range.low == range.high) {
        ++own[cover.points];
      } else {
        ++begins[cover.cuts];
        ++ends[cover.cuts_end];
      }
    }
  }
  std::size_t inside = 0;
  std::size_t point = 0;
  for (std::size_t cut = 0; cut <= cuts_.size(); ++cut) {
    // Points before this cut lie in the interval before it.
    for (; point < points_.size() && (cut == cuts_.size() || points_[point] < cuts_[cut]); ++point)
      most_ = std::max(most_, inside + own[point]);
    inside += begins[cut];
    inside -= ends[cut];
    most_ = std::max(most_, inside);
  }
}

std::vector<std::uint32_t> Partition::taken() const {
  std::vector<std::uint32_t> out;
  for (const Member& member : members_)
    out.push_back(member.rule);
  return out;
}

std::size_t Partition::bytes() const {
  // Of each entry its value, what it leads to, up to eight slots of a hash table, and a group.
  constexpr std::size_t kEntry = sizeof(Wide) + 9 * sizeof(std::uint32_t) + 24;
  return (points_.size() + cuts_.size()) * kEntry + memberships_ * sizeof(std::uint32_t);
}

Partition::Groups Partition::groups() const {
  Groups out;
  out.points.resize(points_.size());
  out.intervals.resize(cuts_.size());
  for (const Member& member : members_) {
    for (const Range& range : *member.ranges) {
      const Cover cover = cover_of(range);
      for (std::size_t i = cover.points; i < cover.points_end; ++i)
        out.points[i].push_back(member.rule);
      for (std::size_t i = cover.cuts; i < cover.cuts_end; ++i)
        out.intervals[i].push_back(member.rule);
    }
  }
  return out;
}

}  // namespace weft::service::firewall

// SPDX-License-Identifier: Apache-2.0
// How one field parts rules: into those that its values tell apart, and the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "service/firewall/rule_set.h"

namespace weft::service::firewall {

class Partition {
 public:
  // `numbers` are of some of `rules`, ascending. Rules that do not look at the field are not taken,
  // nor those whose ranges meet so many values of others that they would stand nearly everywhere.
  Partition(std::span<const Rule> rules, std::span<const std::uint32_t> numbers, Field field);

  [[nodiscard]] Field field() const { return field_; }
  [[nodiscard]] std::vector<std::uint32_t> taken() const;
  [[nodiscard]] const std::vector<std::uint32_t>& rest() const { return rest_; }
  // Rules that a packet may have to do with when this has been done, at most.
  [[nodiscard]] std::size_t left() const { return most_ + rest_.size(); }
  // How often rules stand in groups, all together.
  [[nodiscard]] std::size_t memberships() const { return memberships_; }
  // An estimate from above of what a table takes, with its groups.
  [[nodiscard]] std::size_t bytes() const;

  // What makes a difference: single values, and from where on intervals are, up to the next one.
  [[nodiscard]] const std::vector<Wide>& points() const { return points_; }
  [[nodiscard]] const std::vector<Wide>& cuts() const { return cuts_; }
  // The rules that match each point and each interval.
  struct Groups {
    std::vector<std::vector<std::uint32_t>> points;
    std::vector<std::vector<std::uint32_t>> intervals;
  };
  [[nodiscard]] Groups groups() const;

 private:
  struct Member {
    std::uint32_t rule = 0;
    const Ranges* ranges = nullptr;
    std::size_t covers = 0;  // points and intervals
  };
  // Of points and of intervals, from `begin` to before `end`.
  struct Cover {
    std::size_t points = 0;
    std::size_t points_end = 0;
    std::size_t cuts = 0;
    std::size_t cuts_end = 0;
  };
  [[nodiscard]] Cover cover_of(const Range& range) const;
  void cut();
  void leave_out_wide(std::size_t numbers);
  void count();

  Field field_;
  std::vector<Member> members_;
  std::vector<std::uint32_t> rest_;
  std::vector<Wide> points_;
  std::vector<Wide> cuts_;
  std::size_t memberships_ = 0;
  std::size_t most_ = 0;  // rules of one group
};

}  // namespace weft::service::firewall

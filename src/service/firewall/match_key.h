// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "service/firewall/field.h"

namespace weft::service::firewall {

// A packet as rules see it: the fields that it has, and their values.
class MatchKey {
 public:
  static_assert(kFields <= 64);

  // Of fields of 64 bits at most.
  void set(Field field, std::uint64_t value) {
    assert(!is_wide(field));
    present_ |= std::uint64_t{1} << index(field);
    narrow_[index(field)] = value;
  }
  void set(Field field, const Wide& value) {
    assert(is_wide(field));
    present_ |= std::uint64_t{1} << index(field);
    wide_[wide_index(field)] = value;
  }
  void remove(Field field) { present_ &= ~(std::uint64_t{1} << index(field)); }

  [[nodiscard]] bool has(Field field) const { return (present_ >> index(field) & 1) != 0; }
  // One bit for each that it has, the first field's the lowest.
  [[nodiscard]] std::uint64_t present() const { return present_; }
  // Only of a field that it has.
  [[nodiscard]] std::uint64_t narrow(Field field) const { return narrow_[index(field)]; }
  [[nodiscard]] const Wide& wide(Field field) const { return wide_[wide_index(field)]; }
  [[nodiscard]] Wide value(Field field) const {
    return is_wide(field) ? wide(field) : Wide(narrow(field));
  }

 private:
  static constexpr std::size_t wide_index(Field field) {
    switch (field) {
      case Field::sgid:
        return 0;
      case Field::dgid:
        return 1;
      case Field::ip_source:
        return 2;
      default:
        return 3;
    }
  }

  std::uint64_t present_ = 0;
  // Without values at first: most packets have few of the fields, and all of them are read by
  // `present_` only.
  std::array<std::uint64_t, kFields> narrow_;
  std::array<Wide, 4> wide_;
};

}  // namespace weft::service::firewall

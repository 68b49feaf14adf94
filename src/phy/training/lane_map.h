// SPDX-License-Identifier: Apache-2.0
// Which of a port's lanes is which, by what their receivers hear.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "phy/lanes/lane_input.h"
#include "phy/link_width.h"

namespace weft::phy {

// Which physical lanes are the lanes 0, 1, … of the link.
struct LaneMap {
  LinkWidth width = LinkWidth::k1x;
  std::uint8_t mirror = 0;  // 0: in order; n: lane 0 is physical lane n - 1, and so downwards
  friend bool operator==(const LaneMap&, const LaneMap&) = default;

  [[nodiscard]] std::size_t lanes() const { return lanes_of(width); }
  [[nodiscard]] std::size_t physical(std::size_t lane) const {
    return mirror == 0 ? lane : mirror - 1U - lane;
  }
  // The lane of the link that physical lane `physical` is, if it is one.
  [[nodiscard]] std::optional<std::size_t> lane_at(std::size_t physical) const;
};

// All lanes of `map` carry the training sequences of their own identifier.
[[nodiscard]] bool is_configured(std::span<const LaneInput> inputs, const LaneMap& map);

// The widest map of `widths` by which that is so. Lanes may be mirrored within any enabled width:
// a port of 4 lanes that has but lane 0 of a reversed cable finds it at physical lane 3.
[[nodiscard]] std::optional<LaneMap> widest_map(std::span<const LaneInput> inputs,
                                                std::uint8_t widths, bool may_mirror);

// The width of `widths`, narrower than that of `map`, to which the other end has narrowed: exactly
// the lanes of that width carry anything, and that is TS2.
[[nodiscard]] std::optional<LinkWidth> narrower_width(std::span<const LaneInput> inputs,
                                                      std::uint8_t widths, const LaneMap& map);

}  // namespace weft::phy

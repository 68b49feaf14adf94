// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::wan {

// How frames are marked for the networks between, by what they hold: the byte of an IP header, DSCP
// and ECN bits (RFC 2474, 3). Things of different marks share no frame.
struct TrafficClasses {
  std::array<std::uint8_t, 16> of_sl{};  // data packets, by their SL
  // All else: management packets (VL15), credit, acknowledgements, and what keeps the session.
  std::uint8_t control = 0;

  // Whether everything has the same mark.
  [[nodiscard]] constexpr bool uniform() const {
    return std::ranges::all_of(of_sl, [this](std::uint8_t each) { return each == control; });
  }
};

}  // namespace weft::wan

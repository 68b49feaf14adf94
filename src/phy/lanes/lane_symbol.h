// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "phy/code/character.h"
#include "phy/link_width.h"

namespace weft::phy {

// What a lane received in one symbol time. With an error, the character is the one of the other
// disparity, or D0.0 if there is none.
struct LaneSymbol {
  Character character;
  bool error = false;

  friend bool operator==(const LaneSymbol&, const LaneSymbol&) = default;
};

// What all lanes of a link received in one symbol time, as they were sent together. Of a narrower
// link, the first lanes count.
using Column = std::array<LaneSymbol, kMaxLanes>;

}  // namespace weft::phy

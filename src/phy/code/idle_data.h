// SPDX-License-Identifier: Apache-2.0
// Idle data: what a lane sends between packets, data characters of a pseudo-random sequence (IBA
// vol 2, 5.6). A receiver takes all data outside of packets for idle, whatever it is.
#pragma once

#include <cstdint>

#include "phy/code/character.h"

namespace weft::phy {

// x^11 + x^9 + 1; a character is the next eight bits.
class IdleData {
 public:
  // Lanes have different seeds, so that they do not all switch together. A seed of no bits would
  // stay where it is; it is taken for one.
  explicit IdleData(std::uint16_t seed) : state_(seed & kMask) {
    if (state_ == 0) state_ = 1;
  }

  Character next() {
    const auto value = static_cast<std::uint8_t>(state_);
    for (int bit = 0; bit < 8; ++bit) {
      state_ = static_cast<std::uint16_t>(state_ >> 1 | ((state_ ^ state_ >> 2) & 1) << 10);
    }
    return {value, false};
  }

 private:
  static constexpr std::uint16_t kMask = 0x7FF;
  std::uint16_t state_;
};

}  // namespace weft::phy

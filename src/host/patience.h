// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace weft::host {

// How long a thread waits for another one that will be done in a moment. The clock alone cannot
// tell: where processors are short, the other has perhaps not run at all meanwhile. So the one that
// waits counts the turns that it has had itself, and is as patient as the two together say.
class Patience {
 public:
  // So long in any case.
  static constexpr Duration kLeast = 50ms;
  // After so many turns, with others let run in between, whoever has not come will not.
  static constexpr std::uint32_t kTurns = 1000;
  // And no longer than this.
  static constexpr Duration kMost = 4s;

  explicit Patience(Time now, Duration most = kMost)
      : since_(now), most_(std::clamp(most, kLeast, kMost)) {}

  // Once for each turn. False: it is used up.
  [[nodiscard]] bool left(Time now) {
    ++turns_;
    const Duration waited = now - since_;
    return waited < kLeast || (waited < most_ && turns_ < kTurns);
  }

 private:
  Time since_;
  Duration most_;
  std::uint32_t turns_ = 0;
};

}  // namespace weft::host

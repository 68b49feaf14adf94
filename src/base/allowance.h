// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>

#include "base/time.h"

namespace weft {

// How often something may happen: once in so long, and so many times at once after a pause.
class Allowance {
 public:
  // Both above 0.
  constexpr Allowance(Duration every, unsigned at_once) : every_(every), at_once_(at_once) {
    assert(every > Duration{} && at_once > 0);
  }
  // So often a second, above 0, and as often at once.
  [[nodiscard]] static constexpr Allowance per_second(unsigned often) {
    return {Duration(1s) / often, often};
  }

  // It is to happen. False: that is once too often, and does not count.
  [[nodiscard]] constexpr bool take(Time now) {
    if (used_until_ > now + (at_once_ - 1) * every_) return false;
    used_until_ = std::max(used_until_, now) + every_;
    return true;
  }

 private:
  Duration every_;
  unsigned at_once_;
  Time used_until_{};  // as if each had taken its time, one after the other
};

}  // namespace weft

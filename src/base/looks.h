// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/time.h"

namespace weft {

// How often one who waits for another thread or process looks before it lets others have its
// processor. What the yields before have cost tells: one that returned at once found nobody who
// wanted the processor; a short one let somebody run who does little at a time, perhaps just whom
// we wait for; a long one somebody who computes, to whom giving way again would cost a time slice.
class Looks {
 public:
  constexpr Looks(unsigned first, unsigned most) : before_yield_(first), most_(most) {}

  [[nodiscard]] constexpr unsigned before_yield() const { return before_yield_; }

  constexpr void yielded(Duration took) {
    if (took < kAtOnce) {
      before_yield_ = std::min(before_yield_ * 2 + 1, most_);
    } else {
      before_yield_ = took < kTimeSlice ? 0 : most_;
    }
  }

  // A yield to nobody takes two tenths of a microsecond; to somebody who yields back, one or more.
  static constexpr Duration kAtOnce = 700ns;
  static constexpr Duration kTimeSlice = 200us;

 private:
  unsigned before_yield_;
  unsigned most_;
};

}  // namespace weft

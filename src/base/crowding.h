// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/time.h"

namespace weft {

// Whether others want the processor of one who waits for another thread or process. Then he had
// better sleep: who sleeps is let run as soon as he is woken, and who yields only when a time slice
// is over. One yield that took that long proves little, for a thread of the kernel may have run, or
// just whom he waits for: it counts for a moment, and each further one for twice as long as the one
// before, until there has been none for a while.
class Crowding {
 public:
  [[nodiscard]] constexpr bool crowded(Time now) const { return now < until_; }
  // A yield has taken a time slice.
  constexpr void suspected(Time now) {
    const bool again = until_ != Time{} && now - until_ < kMost;
    lasts_ = again ? std::min(2 * lasts_, kMost) : kFirst;
    until_ = now + lasts_;
  }
  // There is no doubt.
  constexpr void certain(Time now) {
    lasts_ = kMost;
    until_ = now + kMost;
  }

  static constexpr Duration kFirst = 1ms;
  static constexpr Duration kMost = 100ms;

 private:
  Duration lasts_ = kFirst;
  Time until_{};
};

}  // namespace weft

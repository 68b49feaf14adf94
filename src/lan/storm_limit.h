// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace weft::lan {

// How many frames go to everybody: so many a second, and as many at once as come in a tenth of one.
class StormLimit {
 public:
  // Whether one more may go now.
  [[nodiscard]] bool allows(double per_second, Time now) {
    const double most = std::max(1.0, per_second / 10);
    const std::chrono::duration<double> passed = now - since_;
    left_ = fresh_ ? most : std::min(most, left_ + passed.count() * per_second);
    fresh_ = false;
    since_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  bool fresh_ = true;
  double left_ = 0;
  Time since_{};
};

}  // namespace weft::lan

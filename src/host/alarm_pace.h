// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/time.h"

namespace weft::host {

// How long after a look at what waits for programs to poll the next one comes, as long as programs
// go on to send by themselves: later and later, since a look that was in vain costs a busy program
// its processor for as long as it takes to post a hundred requests.
class AlarmPace {
 public:
  static constexpr Duration kFirst = 20us;        // after something has begun to wait
  static constexpr Duration kMost = 320us;        // of programs that post, and may not poll
  static constexpr Duration kMostIfPolled = 2ms;  // of those that do

  // Nothing waits any more.
  void rest() { after_ = kFirst; }
  // Some were found to go on. `polled`: each of these has polled since the look before. `least`:
  // looks are not to come more often than that when they are as far apart as they get.
  Duration next(bool polled, Duration least) {
    after_ = std::min(after_ * 2, std::max(polled ? kMostIfPolled : kMost, least));
    return after_;
  }

 private:
  Duration after_ = kFirst;
};

}  // namespace weft::host

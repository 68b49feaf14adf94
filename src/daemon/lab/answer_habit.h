// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace weft::daemon {

// Whether a program answers what it is given so soon that who waits for that had better look than
// let others have its processor. A program on another processor may; one that waits for ours
// cannot. It is learnt: who was looked for in vain is not looked for the next few times.
class AnswerHabit {
 public:
  // It was given something.
  constexpr void given() {
    if (to_skip_ > 0) {
      --to_skip_;
    } else if (awaited_ == Awaited::kNot) {
      awaited_ = Awaited::kFromNow;
    }
  }
  // It has sent something.
  constexpr void answered() {
    if (awaited_ != Awaited::kNot && misses_ > 0) --misses_;
    awaited_ = Awaited::kNot;
  }
  // Worth looking for, after a look that found nothing. Time counts from the first of these.
  [[nodiscard]] constexpr bool is_awaited(Time now) {
    if (awaited_ == Awaited::kNot) return false;
    if (awaited_ == Awaited::kFromNow) until_ = now + kSoon;
    awaited_ = Awaited::kUntil;
    if (now < until_) return true;
    awaited_ = Awaited::kNot;
    misses_ = std::min(misses_ + 1, kMostMisses);
    to_skip_ = 1u << misses_;
    return false;
  }

  // A program takes a microsecond for a message and its reply; to give way to another one and to
  // get the processor back takes longer.
  static constexpr Duration kSoon = 2us;

 private:
  static constexpr unsigned kMostMisses = 6;
  enum class Awaited : std::uint8_t { kNot, kFromNow, kUntil };

  Awaited awaited_ = Awaited::kNot;
  Time until_{};
  unsigned misses_ = 0;   // more than answers, lately
  unsigned to_skip_ = 0;  // so many times it is not awaited
};

}  // namespace weft::daemon

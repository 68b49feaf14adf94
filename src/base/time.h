// SPDX-License-Identifier: Apache-2.0
// Time as cores see it: a number that somebody hands them. There is no now() here on purpose;
// io/clock.h has the machine's clock, sim/ has a virtual one.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft {

using Duration = std::chrono::nanoseconds;

struct MonotonicClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicClock, Duration>;
  static constexpr bool is_steady = true;
};

// Nanoseconds since an arbitrary moment (boot, or the start of a simulation).
using Time = MonotonicClock::time_point;

using namespace std::chrono_literals;

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include "base/time.h"

namespace weft::io {

// The machine's monotonic clock (CLOCK_MONOTONIC), about 20 ns a call through the vDSO: read it
// once per turn of a loop and hand the value down, as cores expect.
inline Time now() {
  timespec spec{};
  clock_gettime(CLOCK_MONOTONIC, &spec);
  return Time{std::chrono::seconds{spec.tv_sec} + Duration{spec.tv_nsec}};
}

// Nanoseconds since 1970-01-01 UTC, for time stamps that leave the machine (captures). It can jump.
inline Duration wall_clock() {
  timespec spec{};
  clock_gettime(CLOCK_REALTIME, &spec);
  return std::chrono::seconds{spec.tv_sec} + Duration{spec.tv_nsec};
}

}  // namespace weft::io

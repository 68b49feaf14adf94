// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/time.h"
#include "io/clock.h"

namespace weft::daemon {

// Until that holds, and no longer than a test may take.
inline void await(const std::function<bool()>& done) {
  const Time end = io::now() + 30s;
  bool is_done = done();
  for (; !is_done && io::now() < end; is_done = done())
    std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(is_done);
}

}  // namespace weft::daemon

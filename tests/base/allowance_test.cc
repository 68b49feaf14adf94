// SPDX-License-Identifier: Apache-2.0
#include "base/allowance.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr Time kStart{1s};

// How often it may happen at that time.
int times(Allowance& allowance, Time now) {
  int out = 0;
  while (out < 1000 && allowance.take(now))
    ++out;
  return out;
}

TEST(Allowance, AllowsSoManyAtOnceAndThenOneInSoLong) {
  Allowance allowance(10ms, 4);
  EXPECT_EQ(times(allowance, kStart), 4);
  EXPECT_EQ(times(allowance, kStart + 9ms), 0);
  EXPECT_EQ(times(allowance, kStart + 10ms), 1);
  EXPECT_EQ(times(allowance, kStart + 35ms), 2);
  EXPECT_EQ(times(allowance, kStart + 39ms), 0);
  EXPECT_EQ(times(allowance, kStart + 40ms), 1);
}

TEST(Allowance, IsNoMoreAfterALongPause) {
  Allowance allowance(10ms, 4);
  EXPECT_EQ(times(allowance, kStart), 4);
  EXPECT_EQ(times(allowance, kStart + 1h), 4);
}

TEST(Allowance, OfASecondIsAsMuchAtOnce) {
  Allowance allowance = Allowance::per_second(500);
  EXPECT_EQ(times(allowance, kStart), 500);
  EXPECT_EQ(times(allowance, kStart + 100ms), 50);
}

}  // namespace
}  // namespace weft

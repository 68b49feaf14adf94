// SPDX-License-Identifier: Apache-2.0
#include "base/allowance.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr Time kAllowanceStart{1s};

// How often it may happen at that time.
int times(Allowance& allowance, Time now) {
  int out = 0;
  while (out < 1000 && allowance.take(now))
    ++out;
  return out;
}

TEST(Allowance, AllowsSoManyAtOnceAndThenOneInSoLong) {
  Allowance allowance(10ms, 4);
  EXPECT_EQ(times(allowance, kAllowanceStart), 4);
  EXPECT_EQ(times(allowance, kAllowanceStart + 9ms), 0);
  EXPECT_EQ(times(allowance, kAllowanceStart + 10ms), 1);
  EXPECT_EQ(times(allowance, kAllowanceStart + 35ms), 2);
  EXPECT_EQ(times(allowance, kAllowanceStart + 39ms), 0);
  EXPECT_EQ(times(allowance, kAllowanceStart + 40ms), 1);
}

TEST(Allowance, IsNoMoreAfterALongPause) {
  Allowance allowance(10ms, 4);
  EXPECT_EQ(times(allowance, kAllowanceStart), 4);
  EXPECT_EQ(times(allowance, kAllowanceStart + 1h), 4);
}

TEST(Allowance, OfASecondIsAsMuchAtOnce) {
  Allowance allowance = Allowance::per_second(500);
  EXPECT_EQ(times(allowance, kAllowanceStart), 500);
  EXPECT_EQ(times(allowance, kAllowanceStart + 100ms), 50);
}

}  // namespace
}  // namespace weft

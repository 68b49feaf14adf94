// SPDX-License-Identifier: Apache-2.0
#include "host/patience.h"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

constexpr Time kStart{1h};

// Turns until it is used up, of which each takes `turn`.
std::uint32_t turns(Patience patience, Duration turn) {
  std::uint32_t count = 1;
  for (Time now = kStart + turn; patience.left(now); now += turn)
    ++count;
  return count;
}

TEST(Patience, LastsItsLeastTimeHoweverManyTurnsThereAre) {
  EXPECT_EQ(turns(Patience(kStart), 1us), Patience::kLeast / 1us);
}

TEST(Patience, LastsForItsTurnsWhereEachTakesLong) {
  EXPECT_EQ(turns(Patience(kStart), 1ms), Patience::kTurns);
}

TEST(Patience, NeverLastsLongerThanItsMost) {
  EXPECT_EQ(turns(Patience(kStart), 100ms), Patience::kMost / 100ms);
  EXPECT_EQ(turns(Patience(kStart, 200ms), 10ms), 20u);
  EXPECT_EQ(turns(Patience(kStart, 1ms), 10ms), Patience::kLeast / 10ms) << "less than the least";
  EXPECT_EQ(turns(Patience(kStart, Duration::max()), 100ms), Patience::kMost / 100ms);
}

}  // namespace
}  // namespace weft::host

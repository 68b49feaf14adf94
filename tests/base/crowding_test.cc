// SPDX-License-Identifier: Apache-2.0
#include "base/crowding.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr Time kCrowdingStart{1s};

// Until when it lasts, if nothing more happens.
Duration length(Crowding crowding, Time now) {
  Time at = now;
  while (crowding.crowded(at))
    at += 100us;
  return at - now;
}

TEST(Crowding, LastsForAMomentAfterOneLongYield) {
  Crowding crowding;
  EXPECT_FALSE(crowding.crowded(kCrowdingStart));
  crowding.suspected(kCrowdingStart);
  EXPECT_EQ(length(crowding, kCrowdingStart), Crowding::kFirst);
}

TEST(Crowding, LastsTwiceAsLongEachTimeThatItIsFoundAgain) {
  Crowding crowding;
  Time now = kCrowdingStart;
  Duration expected = Crowding::kFirst;
  for (int i = 0; i < 12; ++i) {
    crowding.suspected(now);
    EXPECT_EQ(length(crowding, now), expected);
    now += expected + 50us;
    expected = std::min(2 * expected, Crowding::kMost);
  }
  EXPECT_EQ(expected, Crowding::kMost);
}

TEST(Crowding, IsForgottenWhereThereHasBeenNoneForAWhile) {
  Crowding crowding;
  for (const Duration at : {0ms, 2ms, 6ms})
    crowding.suspected(kCrowdingStart + at);
  const Time later = kCrowdingStart + 10ms + Crowding::kMost;
  crowding.suspected(later);
  EXPECT_EQ(length(crowding, later), Crowding::kFirst);
}

TEST(Crowding, LastsLongWhereThereIsNoDoubt) {
  Crowding crowding;
  crowding.certain(kCrowdingStart);
  EXPECT_EQ(length(crowding, kCrowdingStart), Crowding::kMost);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "hca/loss_noise.h"

#include <gtest/gtest.h>

namespace weft::hca::test {
namespace {

TEST(LossNoise, BearsNothingOfAPathThatItKnowsNothingOf) {
  LossNoise noise;
  noise.delivered(1'000'000, false);
  EXPECT_FALSE(noise.bears());
}

TEST(LossNoise, SaysOnceThatAPathLosesPacketsAnyway) {
  LossNoise noise;
  unsigned said = 0;
  for (int i = 0; i < 30; ++i) {
    noise.delivered(99, true);
    said += noise.lost_when_low();
    EXPECT_EQ(said, i < 7 ? 0u : 1u);
  }
}

TEST(LossNoise, BearsTwiceWhatItHasMeasured) {
  LossNoise noise;
  for (int i = 0; i < 8; ++i) {
    noise.delivered(99, true);
    noise.lost_when_low();
  }
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(noise.bears()) << "they may come at once";
  EXPECT_FALSE(noise.bears());
  for (int i = 0; i < 10; ++i) {
    noise.delivered(51, false);
    EXPECT_TRUE(noise.bears());
    EXPECT_FALSE(noise.bears());
  }
}

TEST(LossNoise, LeavesOpenWhatCompetitorsMayHaveBroughtAbout) {
  LossNoise noise;
  for (int i = 0; i < 100; ++i) {
    noise.delivered(5'000, true);
    EXPECT_FALSE(noise.lost_when_low());
  }
  EXPECT_FALSE(noise.bears());
  noise.delivered(5'000, false);
  EXPECT_TRUE(noise.bears()) << "but it is borne as well";
}

TEST(LossNoise, MeasuresAnewWhenItIsToldTo) {
  LossNoise noise;
  for (int i = 0; i < 8; ++i) {
    noise.delivered(99, true);
    noise.lost_when_low();
  }
  noise.start();
  EXPECT_FALSE(noise.bears());
  noise.delivered(1000, false);
  EXPECT_FALSE(noise.bears());
}

}  // namespace
}  // namespace weft::hca::test

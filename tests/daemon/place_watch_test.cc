// SPDX-License-Identifier: Apache-2.0
// When a place of a data service is well, and how much it has to do.
#include "daemon/service/place_watch.h"

#include <gtest/gtest.h>

namespace weft::daemon {
namespace {

constexpr Duration kPeriod = PlaceWatch::kPeriod;

class Watch : public ::testing::Test {
 protected:
  Watch() { watch.look(work, now); }
  // So many packets come in a period, and so many of these are lost.
  void pass(std::uint64_t packets, std::uint64_t lost = 0) {
    now += kPeriod;
    work.packets += packets;
    work.lost += lost;
    ASSERT_TRUE(watch.is_due(now));
    watch.look(work, now);
  }
  // Ill, and then nothing ails it any more.
  void fall() {
    watch.set_served(false, now);
    EXPECT_FALSE(watch.is_well());
    watch.set_served(true, now);
  }
  // How long it takes until it is well.
  Duration until_well() {
    const Time begin = now;
    while (!watch.is_well()) {
      if (!watch.deadline()) return Duration::max();
      EXPECT_GT(*watch.deadline(), now);
      now = *watch.deadline();
      watch.run(now);
    }
    return now - begin;
  }

  Time now{100s};
  PlaceWatch::Work work;
  PlaceWatch watch{true};
};

TEST_F(Watch, IsWellWhileMostOfWhatComesGoesThrough) {
  EXPECT_TRUE(watch.is_well());
  EXPECT_EQ(watch.why(), "");
  pass(1000, 500);
  EXPECT_TRUE(watch.is_well());
  pass(1000, 501);
  EXPECT_FALSE(watch.is_well());
  EXPECT_NE(watch.why(), "");
  pass(0);
  EXPECT_TRUE(watch.is_well()) << "the first time it is believed at once";
}

TEST_F(Watch, IsNotIllOfAFewPackets) {
  pass(PlaceWatch::kFewLost - 1, PlaceWatch::kFewLost - 1);
  EXPECT_TRUE(watch.is_well());
  pass(PlaceWatch::kFewLost, PlaceWatch::kFewLost);
  EXPECT_FALSE(watch.is_well());
}

TEST_F(Watch, IsIllOfWhatWaitedAndIsLostWhileNothingComes) {
  pass(PlaceWatch::kFewLost);
  EXPECT_TRUE(watch.is_well());
  pass(0, PlaceWatch::kFewLost);
  EXPECT_FALSE(watch.is_well());
}

TEST_F(Watch, IsIllAtOnceWhenNobodyServes) {
  watch.set_served(false, now);
  EXPECT_FALSE(watch.is_well());
  EXPECT_EQ(watch.why(), "nobody serves there");
  pass(0);
  EXPECT_FALSE(watch.is_well());
  EXPECT_FALSE(watch.deadline()) << "it waits for nothing of its own";
  watch.set_served(true, now);
  EXPECT_TRUE(watch.is_well());
}

TEST_F(Watch, OfAProcessBeginsIllAndIsWellAsSoonAsThatIsThere) {
  PlaceWatch process(false);
  process.look({}, now);
  EXPECT_FALSE(process.is_well());
  process.set_served(true, now);
  EXPECT_TRUE(process.is_well());
  process.set_served(false, now);
  process.set_served(true, now);
  EXPECT_TRUE(process.is_well()) << "it may begin anew once";
}

TEST_F(Watch, HasToHoldOutForLongerTheMoreOftenItFalls) {
  fall();
  EXPECT_EQ(until_well(), Duration::zero());
  fall();
  EXPECT_EQ(until_well(), PlaceWatch::kFirstHold);
  fall();
  EXPECT_EQ(until_well(), 2 * PlaceWatch::kFirstHold);
  for (int i = 0; i < 100; ++i) {
    fall();
    EXPECT_LE(until_well(), PlaceWatch::kMostHold);
  }
  fall();
  EXPECT_EQ(until_well(), PlaceWatch::kMostHold);
  now += PlaceWatch::kForgiven + 1s;
  fall();
  EXPECT_EQ(until_well(), Duration::zero());
}

TEST_F(Watch, HoldsOutInOnePiece) {
  fall();
  fall();
  now += PlaceWatch::kFirstHold - 1ns;
  watch.run(now);
  EXPECT_FALSE(watch.is_well());
  EXPECT_NE(watch.why(), "");
  watch.set_served(false, now);
  watch.set_served(true, now);
  now += PlaceWatch::kFirstHold - 1ns;
  watch.run(now);
  EXPECT_FALSE(watch.is_well());
  now += 1ns;
  watch.run(now);
  EXPECT_TRUE(watch.is_well());
}

TEST_F(Watch, SaysHowMuchComesSmoothed) {
  EXPECT_EQ(watch.rate(), 0u);
  pass(1000);
  EXPECT_EQ(watch.rate(), 250u);
  for (int i = 0; i < 40; ++i)
    pass(1000);
  EXPECT_NEAR(static_cast<double>(watch.rate()), 1000, 1);
  ASSERT_TRUE(watch.deadline()) << "it goes down, although nothing comes";
  int periods = 0;
  for (; watch.deadline(); ++periods)
    pass(0);
  EXPECT_EQ(watch.rate(), 0u);
  EXPECT_LT(periods, 60);
}

TEST_F(Watch, SeesLongSilenceAtOnce) {
  for (int i = 0; i < 40; ++i)
    pass(1000);
  now += 100 * kPeriod;
  watch.look(work, now);
  EXPECT_EQ(watch.rate(), 0u);
}

}  // namespace
}  // namespace weft::daemon

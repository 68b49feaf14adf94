// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hca/congestion_window.h"

namespace weft::hca::test {
namespace {

constexpr std::uint32_t kPacket = 4112;

class Congestion : public ::testing::Test {
 protected:
  Congestion() { window.start(kPacket); }
  // One round trip in which a full window is delivered, but one packet in `one_in` is lost.
  void round(Duration round_trip, std::uint32_t one_in = 0) {
    now += round_trip;
    window.sample(round_trip, true, now);
    const std::uint32_t packets = window.bytes() / kPacket;
    for (std::uint32_t i = 0; i < packets; ++i) {
      if (one_in != 0 && ++sent % one_in == 0) {
        window.lost(now - round_trip / 2, now);
      } else {
        window.delivered(kPacket, 1, true, now);
      }
    }
  }
  CongestionWindow window;
  Time now{1s};
  std::uint32_t sent = 0;
};

TEST_F(Congestion, DoublesUntilTheWindowIsFull) {
  round(10ms);
  EXPECT_GT(window.bytes(), CongestionWindow::kInitial * 18 / 10);
  for (int i = 0; i < 5; ++i)
    round(10ms);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMost);
}

TEST_F(Congestion, TakesOnePacketInAHundredForNoise) {
  for (int i = 0; i < 200; ++i)
    round(10ms, 100);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMost);
}

TEST_F(Congestion, GivesWayWhenOnePacketInTwentyIsLost) {
  for (int i = 0; i < 200; ++i)
    round(10ms, 20);
  EXPECT_LT(window.bytes(), CongestionWindow::kMost / 4);
}

TEST_F(Congestion, GivesWayToASingleLossWhileTheRoundTripIsInflated) {
  for (int i = 0; i < 5; ++i)
    round(10ms);
  for (int i = 0; i < 5; ++i)
    round(20ms);
  const std::uint32_t before = window.bytes();
  window.lost(now - 20ms, now);
  EXPECT_EQ(window.bytes(), static_cast<std::uint32_t>(before * 0.85));
}

TEST_F(Congestion, GivesWayOnceInARoundTrip) {
  for (int i = 0; i < 5; ++i)
    round(10ms);
  const std::uint32_t before = window.bytes();
  for (int i = 0; i < 10; ++i)
    window.congested(now);
  EXPECT_EQ(window.bytes(), static_cast<std::uint32_t>(before * 0.85));
  now += 11ms;
  window.congested(now);
  EXPECT_LT(window.bytes(), before * 0.73);
}

TEST_F(Congestion, GivesWayOnceForAllThatWasSentBefore) {
  for (int i = 0; i < 5; ++i)
    round(10ms);
  for (int i = 0; i < 5; ++i)
    round(30ms);
  const std::uint32_t before = window.bytes();
  window.lost(now - 30ms, now);
  EXPECT_EQ(window.bytes(), static_cast<std::uint32_t>(before * 0.85));
  window.lost(now - 1us, now + 35ms);  // though a round trip has passed
  EXPECT_EQ(window.bytes(), static_cast<std::uint32_t>(before * 0.85));
  window.lost(now + 1us, now + 36ms);
  EXPECT_LT(window.bytes(), before * 0.73);
}

TEST_F(Congestion, LetsLeaveAtOnceWhatThePathTakesInAMillisecond) {
  EXPECT_EQ(window.run(), CongestionWindow::kInitial);  // nothing is known of the path
  for (int i = 0; i < 7; ++i)
    round(10ms);
  EXPECT_EQ(window.run(), CongestionWindow::kMost / 10);
  for (int i = 0; i < 60; ++i)
    window.sample(100us, true, now);
  EXPECT_EQ(window.run(), CongestionWindow::kMost);
  for (int i = 0; i < 60; ++i)
    window.sample(10s, true, now);
  EXPECT_EQ(window.run(), 2 * kPacket);
}

TEST_F(Congestion, GrowsMoreSlowlyTheMoreIsLost) {
  const auto grown = [&](std::uint32_t one_in) {
    window.start(kPacket);
    for (int i = 0; i < 7; ++i)
      round(10ms);
    window.timed_out(now);
    window.timed_out(now);
    const std::uint32_t before = window.bytes();
    for (int i = 0; i < 8; ++i)
      round(10ms, one_in);
    EXPECT_GE(window.bytes(), before);
    return window.bytes() - before;
  };
  EXPECT_LT(grown(70), grown(0) * 0.8);
}

TEST_F(Congestion, EndsSlowStartWhenAQueueBuildsUp) {
  round(10ms);
  round(20ms);
  const std::uint32_t before = window.bytes();
  round(20ms);
  EXPECT_LT(window.bytes(), before * 3 / 2);
  EXPECT_GE(window.bytes(), before);
}

TEST_F(Congestion, RecoversSlowlyWhileAQueueIsThereAndQuicklyWhenItHasBeenGoneForAWhile) {
  for (int i = 0; i < 5; ++i)
    round(10ms);
  for (int i = 0; i < 5; ++i)
    round(20ms);
  const std::uint32_t before = window.bytes();
  window.lost(now - 20ms, now);
  for (int i = 0; i < 200; ++i)
    round(20ms);
  EXPECT_LT(window.bytes(), before);
  for (int i = 0; i < 60; ++i)
    round(10ms);
  EXPECT_LT(window.bytes(), before * 1.05) << "who else gave way is not back yet";
  for (int i = 0; i < 540; ++i)
    round(10ms);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMost);
}

TEST_F(Congestion, TakesASingleLossForNoiseAsLongAsTheWindowGrowsQuickly) {
  for (int i = 0; i < 3; ++i) {
    round(10ms);
    const std::uint32_t before = window.bytes();
    window.lost(now - 1ms, now);
    EXPECT_EQ(window.bytes(), before);
  }
  for (int i = 0; i < 7; ++i)
    round(10ms);
  const std::uint32_t before = window.bytes();
  EXPECT_EQ(before, CongestionWindow::kMost) << "it went on doubling";
  window.lost(now - 1ms, now);
  EXPECT_EQ(window.bytes(), static_cast<std::uint32_t>(before * 0.85)) << "it grows no more";
}

// Half of what it has come to is what is known to have arrived.
TEST_F(Congestion, GivesWayToHalfOfWhatSlowStartHasDoubledWhenManyAreLost) {
  for (int i = 0; i < 4; ++i)
    round(10ms);
  const std::uint32_t before = window.bytes();
  for (int i = 0; i < 8; ++i)
    window.lost(now - 1ms, now);
  EXPECT_EQ(window.bytes(), static_cast<std::uint32_t>(before / 2 * 0.85));
}

TEST_F(Congestion, GrowsByASegmentARoundTripBehindAQueueThatShows) {
  for (int i = 0; i < 2; ++i)
    round(10ms);
  for (int i = 0; i < 5; ++i)
    round(20ms);
  const std::uint32_t before = window.bytes();
  for (int i = 0; i < 10; ++i)
    round(20ms);
  EXPECT_NEAR(window.bytes() - before, 10 * 1448, 1448) << "with a whole number of packets";
}

TEST_F(Congestion, GivesWayToASingleLossUntilItIsKnownForNoise) {
  for (int i = 0; i < 10; ++i)
    round(10ms);
  const std::uint32_t before = window.bytes();
  window.lost(now - 1ms, now);
  const auto after = static_cast<std::uint32_t>(before * 0.85);
  EXPECT_EQ(window.bytes(), after);
  for (int i = 0; i < 30; ++i)
    round(10ms, 1000);
  EXPECT_GE(window.bytes(), after) << "what is lost now is none of its doing";
  EXPECT_LT(window.bytes(), before);
  for (int i = 0; i < 15; ++i)
    round(10ms, 1000);
  EXPECT_EQ(window.bytes(), before) << "eight in eight thousand are enough to know";
  for (int i = 0; i < 200; ++i)
    round(10ms, 1000);
  EXPECT_EQ(window.bytes(), before);
  bool gave_way = false;
  for (int i = 0; i < 20; ++i) {
    round(10ms, 200);
    gave_way = gave_way || window.bytes() < before;
  }
  EXPECT_TRUE(gave_way) << "more than the path is known for";
}

// As where the processor of either end, or of the path, is busy elsewhere now and then.
TEST_F(Congestion, TakesPacketsThatAreLateForNoQueue) {
  for (int i = 0; i < 6; ++i)
    round(10ms);
  const std::uint32_t before = window.bytes();
  for (int i = 0; i < 30; ++i) {
    round(10ms);
    window.sample(40ms, true, now);
    window.lost(now - 1ms, now);
  }
  EXPECT_EQ(window.bytes(), before);
}

TEST_F(Congestion, TakesRareLossesForThoseOfAFullPathHoweverOften) {
  for (int i = 0; i < 10; ++i)
    round(10ms);
  std::uint32_t before = window.bytes();
  for (int i = 0; i < 3; ++i) {
    window.lost(now - 1ms, now);
    EXPECT_LT(window.bytes(), before * 0.86);
    for (int n = 0; n < 800 && window.bytes() < before; ++n)
      round(10ms);
    before = window.bytes();
  }
}

TEST_F(Congestion, RecoversSlowlyForAWhileWhenTheNetworkHasSaidThatItIsFull) {
  for (int i = 0; i < 5; ++i)
    round(10ms);
  const std::uint32_t before = window.bytes();
  window.congested(now);
  const std::uint32_t after = window.bytes();
  EXPECT_EQ(after, static_cast<std::uint32_t>(before * 0.85));
  for (int i = 0; i < 50; ++i)
    round(10ms);  // no queue builds up
  EXPECT_GT(window.bytes(), after);
  EXPECT_LT(window.bytes(), before);
  for (int i = 0; i < 900; ++i)
    round(10ms);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMost);
}

TEST_F(Congestion, NeverFallsBelowTwoPackets) {
  for (int i = 0; i < 100; ++i) {
    now += 1s;
    window.timed_out(now);
  }
  EXPECT_EQ(window.bytes(), 2 * kPacket);
}

TEST_F(Congestion, GrowsOnlyWhenItIsTheLimit) {
  for (int i = 0; i < 1000; ++i)
    window.delivered(kPacket, 1, false, now);
  EXPECT_EQ(window.bytes(), CongestionWindow::kInitial);
}

TEST_F(Congestion, ForgetsTheLeastRoundTripOfALongTimeAgo) {
  round(1ms);
  EXPECT_EQ(window.least_round_trip(), 1ms);
  for (int i = 0; i < 30; ++i) {
    now += 1s;
    window.sample(50ms, true, now);
  }
  EXPECT_EQ(window.least_round_trip(), 50ms);
}

TEST_F(Congestion, OpensAtOnceForALongPathThatIsLossless) {
  window.start(kPacket, true);
  EXPECT_EQ(window.bytes(), CongestionWindow::kInitial);
  window.sample(100ms, true, now);
  EXPECT_EQ(window.bytes(), 500'000'000u) << "5 GB/s";
}

TEST_F(Congestion, IsBoundedHoweverLongALosslessPathIs) {
  window.start(kPacket, true);
  window.sample(10s, true, now);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMostLossless);
}

TEST_F(Congestion, BehavesOnAShortLosslessPathAsOnAnyOther) {
  window.start(kPacket, true);
  round(900us);
  EXPECT_LT(window.bytes(), 3 * CongestionWindow::kInitial);
  for (int i = 0; i < 100; ++i)
    round(900us);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMost);
}

TEST_F(Congestion, ShrinksWhenALosslessPathTurnsOutToBeShorter) {
  window.start(kPacket, true);
  window.sample(100ms, true, now);
  window.sample(20ms, false, now);
  EXPECT_EQ(window.bytes(), 500'000'000u) << "the other end had been waited for";
  window.sample(20ms, true, now);
  EXPECT_EQ(window.bytes(), 100'000'000u);
  window.sample(200us, true, now);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMost);
}

TEST_F(Congestion, TakesNoQueueOfItsOwnForALongPath) {
  window.start(kPacket, true);
  window.sample(200us, true, now);
  for (int i = 0; i < 3000; ++i)
    round(10ms);  // longer than round trips are remembered otherwise
  EXPECT_EQ(window.least_round_trip(), 10ms);
  EXPECT_EQ(window.bytes(), CongestionWindow::kMost);
}

TEST_F(Congestion, TakesNoTimeoutOnALosslessPathForCongestion) {
  window.start(kPacket, true);
  window.timed_out(now);
  EXPECT_EQ(window.bytes(), CongestionWindow::kInitial);
  window.sample(100ms, true, now);
  EXPECT_EQ(window.bytes(), 500'000'000u) << "it may open still";
}

TEST_F(Congestion, GivesWayOnALosslessPathToo) {
  window.start(kPacket, true);
  window.sample(100ms, true, now);
  window.congested(now);
  EXPECT_EQ(window.bytes(), 425'000'000u);
  window.sample(90ms, true, now);
  EXPECT_EQ(window.bytes(), 425'000'000u) << "it does not open once more";
  for (int i = 0; i < 100; ++i) {
    now += 90ms;
    window.sample(90ms, true, now);
    window.delivered(window.bytes(), 60'000, true, now);
  }
  EXPECT_EQ(window.bytes(), 450'000'000u);
}

}  // namespace
}  // namespace weft::hca::test

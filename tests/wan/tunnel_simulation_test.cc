// SPDX-License-Identifier: Apache-2.0
// What must hold of a tunnel whatever the WAN does.
#include <gtest/gtest.h>

#include "tunnel_story.h"

namespace weft::wan {
namespace {

TEST_F(Tunnels, LoseNothingWithRecoveryWhateverTheWanLoses) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, CountWhatTheWanLosesWithoutRecovery) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true}, false);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.delivered() + story.counted(), story.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, LoseNothingWithoutRecoveryWhereTheWanOnlyDelaysAndMixesUp) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {}, false);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, CountWhatIsLostWhenPathsAndPortsComeAndGo) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .outages = true}, seed % 3 != 0);
    story.run(kSteps);
    check(story);
    if (HasFailure()) return;
  }
}

TEST_F(Tunnels, LoseNothingWithRecoveryWhereTheFarSideIsOutOfMemory) {
  std::uint64_t refused = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .memory = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.delivered(), story.sent());
    refused += story.world.count(TunnelCounter::kRxNoMemory);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 50);
}

TEST_F(Tunnels, CountWhatIsLostWhenProcessesAreStoppedAndClocksStep) {
  std::uint64_t silences = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .clocks = true}, seed % 3 != 0);
    story.run(kSteps);
    check(story);
    silences += story.world.count(TunnelCounter::kSessionsSilent);
    if (HasFailure()) return;
  }
  EXPECT_GT(silences, 50);
}

// What such an end had taken from the fabric, and what had come to it, is gone, and not counted by
// anybody. All else is as ever: nothing comes twice or in another order, and then it goes on.
TEST_F(Tunnels, GoOnWhenEndsAreKilledAndBeginAnew) {
  std::uint64_t restarts = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .sealed = seed % 4 == 1, .kills = true},
                seed % 3 != 0);
    story.run(kSteps);
    check_but_for_sums(story);
    EXPECT_LE(story.delivered() + story.counted(), story.sent());
    EXPECT_TRUE(story.carries());
    restarts += story.world.count(TunnelCounter::kPeerRestarts);
    if (HasFailure()) {
      ADD_FAILURE() << story.world.describe();
      return;
    }
  }
  EXPECT_GT(restarts, 50);
}

TEST_F(Tunnels, AreNotDeceivedByReplayedFramesAndForgedCredit) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.forgery = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_GT(story.world.count(TunnelCounter::kCreditForged), 0);
    EXPECT_GT(story.world.count(TunnelCounter::kRxDoubled), 0);
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::wan

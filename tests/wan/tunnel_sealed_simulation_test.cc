// SPDX-License-Identifier: Apache-2.0
// The same of one that is sealed, and of one whose credit is in IPv6 options.
#include <gtest/gtest.h>

#include <array>

#include "tunnel_story.h"

namespace weft::wan {
namespace {

TEST_F(Tunnels, WithCreditInOptionsLoseNothingWhateverTheWanLoses) {
  std::uint64_t in_options = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .options = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.delivered(), story.sent());
    in_options += story.world.count(TunnelCounter::kTxOptions);
    if (HasFailure()) return;
  }
  EXPECT_GT(in_options, 1000);
}

TEST_F(Tunnels, AreNotDeceivedByReplayedAndForgedOptions) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.forgery = true, .options = true}, true);
    story.run(kSteps);
    check(story);
    EXPECT_GT(story.world.count(TunnelCounter::kCreditForged), 0);
    EXPECT_GT(story.world.count(TunnelCounter::kRxDoubled), 0);
    EXPECT_EQ(story.delivered(), story.sent());
    if (HasFailure()) return;
  }
}

// Every datagram that came was opened once, or refused under one counter.
void check_sealed(const Story& story) {
  constexpr std::array kRefusals{"wan_open_not_sealed",    "wan_open_unknown_keys",
                                 "wan_open_short",         "wan_open_ended_epoch",
                                 "wan_open_unknown_epoch", "wan_open_forged",
                                 "wan_open_replayed",      "wan_open_too_old"};
  for (std::size_t site = 0; site < 2; ++site) {
    std::uint64_t refused = 0;
    for (const char* const refusal : kRefusals)
      refused += story.world.count_sealed(site, refusal);
    const std::uint64_t opened = story.world.count_sealed(site, "wan_opened");
    EXPECT_EQ(opened + refused, story.world.arrived[site]);
    EXPECT_LE(opened, story.world.count_sealed(1 - site, "wan_sealed"));
  }
  // Nothing but what the other end has sent gets as far as the tunnel.
  EXPECT_EQ(story.world.count(TunnelCounter::kRxMalformed), 0);
  EXPECT_EQ(story.world.count(TunnelCounter::kRxVersion), 0);
  EXPECT_EQ(story.world.count(TunnelCounter::kCreditForged), 0);
  if (::testing::Test::HasFailure()) ADD_FAILURE() << story.world.describe();
}

TEST_F(Tunnels, WhichAreSealedLoseNothingWhereDatagramsAreLostRepeatedAndForged) {
  std::uint64_t rotated = 0, forged = 0, replayed = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .forgery = true, .sealed = true}, true);
    story.run(kSteps);
    check(story);
    check_sealed(story);
    EXPECT_EQ(story.delivered(), story.sent());
    for (std::size_t site = 0; site < 2; ++site) {
      rotated += story.world.count_sealed(site, "wan_open_rotated");
      forged += story.world.count_sealed(site, "wan_open_forged");
      replayed += story.world.count_sealed(site, "wan_open_replayed");
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(rotated, 50);
  EXPECT_GT(forged, 50);
  EXPECT_GT(replayed, 50);
}

// What is changed beside a datagram is as a datagram that is changed.
TEST_F(Tunnels, WhichAreSealedTakeNoOptionsButTheirOwn) {
  std::uint64_t forged = 0, in_options = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .forgery = true, .sealed = true, .options = true}, true);
    story.run(kSteps);
    check(story);
    check_sealed(story);
    EXPECT_EQ(story.delivered(), story.sent());
    for (std::size_t site = 0; site < 2; ++site)
      forged += story.world.count_sealed(site, "wan_open_forged");
    in_options += story.world.count(TunnelCounter::kTxOptions);
    if (HasFailure()) return;
  }
  EXPECT_GT(forged, 500);
  EXPECT_GT(in_options, 1000);
}

TEST_F(Tunnels, WhichAreSealedCountWhatIsLostWhenPathsComeAndGo) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = seed % 2 == 0, .outages = true, .forgery = true, .sealed = true},
                seed % 3 != 0);
    story.run(kSteps);
    check(story);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::wan

// SPDX-License-Identifier: Apache-2.0
// The same of one that makes lost frames again.
#include <gtest/gtest.h>

#include "tunnel_story.h"

namespace weft::wan {
namespace {

TEST_F(Tunnels, WithFecLoseNothingWhateverTheWanLoses) {
  std::uint64_t recovered = 0, unrecovered = 0, repeated = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Story story(seed, {.loss = true, .sealed = seed % 3 == 0, .memory = seed % 4 == 0, .fec = true},
                true);
    story.run(kSteps);
    check(story);
    EXPECT_EQ(story.world.count(TunnelCounter::kRxOverrun), 0) << "packets beyond the credit";
    EXPECT_EQ(story.world.count(TunnelCounter::kRxRepairRefused), 0);
    EXPECT_EQ(story.delivered(), story.sent());
    recovered += story.world.count(TunnelCounter::kRxRecovered);
    unrecovered += story.world.count(TunnelCounter::kRxUnrecovered);
    repeated += story.world.count(TunnelCounter::kTxRepeated);
    if (HasFailure()) return;
  }
  EXPECT_GT(recovered, 1000);
  EXPECT_GT(unrecovered, 50);
  EXPECT_GT(repeated, 50);
}

// Frames that were changed on the way do not become others.
TEST_F(Tunnels, WithFecAreNotDeceivedAndCountWhatIsLostWhenPathsComeAndGo) {
  std::uint64_t refused = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    const bool forgery = seed % 2 == 0;
    Story story(
        seed,
        {.loss = true, .outages = !forgery, .forgery = forgery, .clocks = !forgery, .fec = true},
        forgery || seed % 3 != 0);
    story.run(kSteps);
    check(story);
    if (forgery) {
      EXPECT_EQ(story.delivered(), story.sent());
    }
    refused += story.world.count(TunnelCounter::kRxRepairRefused);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace weft::wan

// SPDX-License-Identifier: Apache-2.0
// A reliable connection through a service that gives both ends other QP numbers and P_Keys than
// they have, over links that lose and reorder packets, beside a stranger that guesses.
#include <gtest/gtest.h>

#include "service_world.h"
#include "sim/seeds.h"

namespace weft::service::test {
namespace {

using enum RuntimeCounter;

TEST(RcThroughService, StaysRightWhateverTheNetworkDoes) {
  std::uint64_t foreign = 0;
  std::uint64_t by_flow = 0;
  for (const std::uint64_t seed : sim::seeds(40)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "RcThroughService.StaysRightWhateverTheNetworkDoes"));
    Random random(seed);
    ServiceWorld world({.seed = seed,
                        .loss = static_cast<double>(random.below(5)) / 100,
                        .reorder = static_cast<double>(random.below(10)) / 100});
    for (const std::string& wrong : world.run())
      ADD_FAILURE() << wrong;
    EXPECT_EQ(world.bad(), 0u);
    const RuntimeCounters& counters = world.runtime().counters();
    foreign += counters.get(kDropForeignQp) + counters.get(kDropNoMapping);
    by_flow += counters.get(kForwardedByFlow);
    EXPECT_EQ(world.runtime().held(), 0u);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(foreign, 0u);  // or the stranger has not tried
  EXPECT_GT(by_flow, 0u);
}

}  // namespace
}  // namespace weft::service::test

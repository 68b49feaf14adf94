// SPDX-License-Identifier: Apache-2.0
// Two ports on a cable that loses, delays, reorders and repeats MADs and comes off, between nodes
// that restart, by seed.
#include <gtest/gtest.h>

#include "sim/seeds.h"
#include "world.h"

namespace weft::phy {
namespace {

using test::World;
using test::WorldOptions;

NegotiationOptions some_node(Random& random) {
  NegotiationOptions options;
  options.transmit_configurations = static_cast<std::uint32_t>(random.between(1, 9));
  options.receive_configurations = static_cast<std::uint32_t>(random.between(1, 9));
  options.lanes = random.below(2) == 0 ? 1 : 4;
  options.burst_len = static_cast<std::uint32_t>(random.between(1, 4));
  options.max_retry = static_cast<std::uint32_t>(random.between(1, 5));
  options.max_attempts = static_cast<std::uint32_t>(random.between(1, 4));
  options.no_sweep = random.below(4) == 0;
  options.mode = random.below(8) == 0 ? SpeedMode::kSdrOnly : SpeedMode::kAuto;
  return options;
}

WorldOptions some_cable(Random& random) {
  WorldOptions options;
  options.nodes = {some_node(random), some_node(random)};
  options.nodes[1].lanes = options.nodes[0].lanes;
  options.loss = static_cast<double>(random.below(4)) * 0.3;
  options.repetition = static_cast<double>(random.below(3)) * 0.3;
  options.delay = Duration(random.below(200'000));
  options.jitter = Duration(random.below(3'000'000));
  options.train = Duration(random.between(1'000, 100'000'000));
  options.late[1] = Duration(random.below(5'000'000));
  if (random.below(3) == 0) options.channel = test::broken_channel;
  options.trains_at_ddr = random.below(4) != 0;
  return options;
}

TEST(BadCable, leaves_two_ports_at_one_speed_when_it_is_left_alone) {
  for (const std::uint64_t seed : sim::seeds(1000)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "BadCable.*"));
    Random random(seed);
    World world(some_cable(random), random.fork());
    world.start_both();
    for (std::uint64_t troubles = random.below(5); troubles > 0; --troubles) {
      world.run_for(Duration(random.below(random.below(2) == 0 ? 20'000'000 : 5'000'000'000)));
      switch (random.below(3)) {
        case 0:
          world.restart(static_cast<unsigned>(random.below(2)));
          break;
        case 1:
          world.pull();
          world.run_for(Duration(random.below(2'000'000'000)));
          world.plug();
          break;
        default:
          world.pull();
          world.plug();
      }
    }
    ASSERT_TRUE(world.run_for(3600s)) << "it never comes to rest";
    EXPECT_TRUE(world.settled()) << state_name(world.node(0).state()) << " / "
                                 << state_name(world.node(1).state());
    EXPECT_EQ(world.speed(0), world.speed(1));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
// What must hold of a connection whatever the network does.
#include <gtest/gtest.h>

#include <set>

#include "dccp_stage.h"
#include "sim/seeds.h"

namespace weft::wan::dccp {
namespace {

std::string replay(std::uint64_t seed) {
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  return sim::how_to_replay(seed, std::string(test->test_suite_name()) + '.' + test->name());
}

// What has come is some of what was sent, each as it was and at most once.
void check(World& world, std::size_t end, std::size_t size) {
  std::set<std::uint32_t> numbers;
  for (const auto& frame : world.got(end)) {
    ASSERT_EQ(frame.size(), size);
    const std::uint32_t number = wire::load_be32(frame.data());
    EXPECT_TRUE(numbers.insert(number).second) << "twice: " << number;
    for (std::size_t i = 4; i < size; ++i)
      ASSERT_EQ(frame[i], static_cast<std::byte>((number + 1) * 31 + i)) << number << ' ' << i;
  }
}

TEST(Dccp, BringsEachFrameAtMostOnceAndAsItWasWhateverTheNetworkDoes) {
  constexpr std::size_t kFrames = 2000;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Random random(seed);
    const Faults faults{
        .loss = random.chance(0.8) ? 0.0005 * static_cast<double>(random.below(100)) : 0,
        .duplicate = random.chance(0.5) ? 0.05 : 0,
        .reorder = random.chance(0.5) ? 0.1 : 0,
        .corrupt = random.chance(0.5) ? 0.02 : 0,
        .mark = random.chance(0.3) ? 0.01 : 0,
        .delay = 1ms * random.between(1, 40)};
    World world(seed, faults);
    ASSERT_TRUE(world.connect(60s));
    world.run(60s, [&] {
      world.fill(0, kFrames);
      world.fill(1, kFrames);
    });
    for (std::size_t end = 0; end < 2; ++end) {
      check(world, end, 600);
      EXPECT_GT(world.got(end).size(), kFrames / 4) << end;
      // What is lost is known to the sender, or still under way.
      const std::uint64_t sent = world.count(1 - end, "dccp_tx_data");
      EXPECT_LE(world.got(end).size(), sent);
    }
    EXPECT_EQ(world.count(0, "dccp_connections"), 1u);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Dccp, BringsEachFrameOnceWhereNothingIsLost) {
  constexpr std::size_t kFrames = 1000;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    World world(seed, {.duplicate = 0.1, .delay = 1ms * Random(seed).between(1, 40)});
    ASSERT_TRUE(world.connect());
    world.run(60s, [&] {
      world.fill(0, kFrames);
      world.fill(1, kFrames);
    });
    for (std::size_t end = 0; end < 2; ++end) {
      check(world, end, 600);
      EXPECT_EQ(world.got(end).size(), kFrames);
      EXPECT_EQ(world.count(end, "dccp_lost"), 0u);
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Dccp, ComesBackWhenPathsAndEndsComeAndGo) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(replay(seed));
    Random random(seed);
    World world(seed, {.loss = 0.02, .reorder = 0.05});
    for (int i = 0; i < 6; ++i) {
      if (random.chance(0.5)) world.begin(random.below(2));
      world.cut = random.chance(0.3);
      world.run(1ms * random.below(3000), [&] {
        world.fill(0, 100'000);
        world.fill(1, 100'000);
      });
    }
    world.cut = false;
    world.run(15s, [&] {
      world.fill(0, 100'000);
      world.fill(1, 100'000);
    });
    EXPECT_TRUE(world.path(0).established());
    EXPECT_TRUE(world.path(1).established());
    const std::size_t before = world.got(0).size() + world.got(1).size();
    world.run(5s, [&] {
      world.fill(0, 200'000);
      world.fill(1, 200'000);
    });
    EXPECT_GT(world.got(0).size() + world.got(1).size(), before + 100);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::wan::dccp

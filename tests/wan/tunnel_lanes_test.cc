// SPDX-License-Identifier: Apache-2.0
// Lanes of a tunnel: which FIFO a packet goes to, and how FIFOs leave each other alone.
#include <gtest/gtest.h>

#include <array>

#include "tunnel_world.h"

namespace weft::wan {
namespace {

TEST(TunnelLanes, UsesTheLaneAtTheFarEndThatTheSenderChooses) {
  WorldOptions options;
  options.tunnel.sender.egress[2] = Vl{9};
  options.tunnel.sender.egress[3] = Vl{9};
  World world(options);
  ASSERT_TRUE(world.activate());
  for (int i = 0; i < 500; ++i) {
    if (i == 10) world.sites[1]->blocked = 1U << 9;
    world.sites[0]->keep_full(Vl{2}, 1024);
    world.sites[0]->keep_full(Vl{3}, 1024);
    world.run_for(1ms);
  }
  EXPECT_EQ(world.sites[1]->came_on[2], Vl{9});
  EXPECT_EQ(world.sites[1]->came_on[3], Vl{9});
  // It is that FIFO's credit that is spent, and no other's.
  EXPECT_FALSE(world.ends[0]->sender().credit(Vl{9}).allows(20));
  EXPECT_EQ(world.ends[0]->sender().credit(Vl{2}).sent(), 0);
  EXPECT_GT(world.ends[1]->counters().get(TunnelCounter::kRxPackets), 10);
}

TEST(TunnelLanes, LetsFourteenLanesGoOnWhileOneIsBlocked) {
  World world({.buffer = {.lane_bytes = 256U << 10}, .wan = {.rate_bytes_per_s = 100'000'000}});
  ASSERT_TRUE(world.activate());
  const auto run = [&](std::uint16_t blocked) {
    world.sites[1]->blocked = blocked;
    const auto before = world.sites[1]->came;
    for (int i = 0; i < 400; ++i) {
      for (std::uint8_t vl = 0; vl < 15; ++vl)
        world.sites[0]->keep_full(Vl{vl}, 1024, 8);
      world.run_for(1ms);
    }
    auto came = world.sites[1]->came;
    for (std::size_t vl = 0; vl < 15; ++vl)
      came[vl] -= before[vl];
    return came;
  };
  const auto all = run(0);
  const auto rest = run(1U << 4);
  for (std::size_t vl = 0; vl < 15; ++vl) {
    if (vl == 4) continue;
    EXPECT_GE(static_cast<double>(rest[vl]), 0.98 * static_cast<double>(all[vl])) << "lane " << vl;
  }
  EXPECT_FALSE(world.ends[0]->sender().credit(Vl{4}).allows(17)) << "its FIFO is full";
  EXPECT_EQ(world.count(TunnelCounter::kRxOverrun), 0);
  // And nothing of the blocked lane is lost.
  world.sites[1]->blocked = 0;
  world.sites[1]->kept.clear();
  world.run_for(500ms);
  EXPECT_EQ(world.sites[1]->came[4], world.sites[0]->next[4]);
}

// What waits in the far bulk buffer leaves it as its port's arbitration says, and not as it came.
TEST(TunnelLanes, LeavesAFullBulkBufferByThePrioritiesOfItsPort) {
  using Table = link::VlArbitration::Table;
  World world({.buffer = {.lane_bytes = 256U << 10}, .link = {.rate_bytes_per_s = 100'000'000}});
  ASSERT_TRUE(world.activate());
  auto& arbitration = world.ends[1]->port().arbitration();
  arbitration.set(Table::kHigh, 0, std::array{link::VlArbitration::Entry{Vl{3}, 255}});
  arbitration.set_high_limit(link::VlArbitration::kUnlimited);
  arbitration.set(
      Table::kLow, 0,
      std::array{link::VlArbitration::Entry{Vl{1}, 80}, link::VlArbitration::Entry{Vl{2}, 240}});

  Site& far = *world.sites[1];
  far.blocked = 0b1110;
  const auto full = [&](Vl vl) { return !world.ends[0]->sender().credit(vl).allows(17); };
  ASSERT_TRUE(world.run_until(
      [&] {
        for (const Vl vl : {Vl{1}, Vl{2}, Vl{3}})
          world.sites[0]->keep_full(vl, 1024);
        return full(Vl{1}) && full(Vl{2}) && full(Vl{3});
      },
      1s))
      << world.describe();
  world.run_for(10ms);

  const auto before = far.came;
  const auto since = [&](std::size_t vl) { return far.came[vl] - before[vl]; };
  far.blocked = 0;
  far.kept.clear();
  // The lane of high priority first, but for what was on its way when credit came back.
  ASSERT_TRUE(world.run_until([&] { return since(3) >= 150; }, 1s));
  EXPECT_LE(since(1) + since(2), 8);
  // The others by their weights.
  ASSERT_TRUE(world.run_until([&] { return since(2) >= 150; }, 1s));
  EXPECT_NEAR(static_cast<double>(since(1)), 50, 12);
  ASSERT_TRUE(world.run_until([&] { return since(1) >= 200; }, 1s)) << world.describe();
  EXPECT_EQ(far.disorder, 0);
  EXPECT_EQ(world.count(TunnelCounter::kRxOverrun), 0);
}

}  // namespace
}  // namespace weft::wan

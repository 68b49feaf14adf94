// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "lan_world.h"
#include "sim/seeds.h"

namespace weft::lan::test {
namespace {

std::uint64_t count_of(const World& world, LanCounter counter) {
  std::uint64_t all = 0;
  for (const auto& node : world.nodes)
    all += node->port->counters().get(counter);
  return all;
}

// Every node has heard from every other one, and all that was said of groups.
void settle(World& world) {
  const Faults before = std::exchange(world.faults, Faults{});
  world.run_for(40s);
  for (const auto& node : world.nodes)
    EXPECT_EQ(node->port->peers().all().size() + 1, world.nodes.size());
  world.faults = before;
}

TEST(LanSimulation, DeliversExactFramesOnceAndToTheRightNodesOrCountsThem) {
  for (const std::uint64_t seed : sim::seeds(20)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "LanSimulation.DeliversExactFramesOnce*"));
    Random draws(seed * 77);
    const auto some = [&] { return static_cast<double>(draws.below(4)) / 100; };
    World world(seed, draws.between(2, 8),
                {.loss = some(), .duplicate = some(), .reorder = 5 * some(), .unanswered = some()});
    world.run_for(5s);
    world.traffic(400);
    world.run_for(2s);
    world.account();
    EXPECT_GT(count_of(world, LanCounter::kRxByDatagram), 0u);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LanSimulation, LosesNothingWhenTheFabricLosesNothing) {
  for (const std::uint64_t seed : sim::seeds(10)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "LanSimulation.LosesNothing*"));
    World world(seed, 5, {.duplicate = 0.05, .reorder = 0.05});
    world.run_for(5s);
    for (const auto& node : world.nodes)
      ASSERT_EQ(node->port->peers().all().size(), 4u);
    world.traffic(400);
    world.run_for(2s);
    world.account();
    EXPECT_GT(count_of(world, LanCounter::kRxByChannel), 0u);
    for (const LanCounter never :
         {LanCounter::kRxIncomplete, LanCounter::kRxStranger, LanCounter::kTxNoPeer,
          LanCounter::kRxForgedSource, LanCounter::kRxNotOurs, LanCounter::kRxLate}) {
      EXPECT_EQ(count_of(world, never), 0u) << kLanCounters[static_cast<std::size_t>(never)].name;
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LanSimulation, SendsGroupsToThoseWhoWantThemOnceThatIsKnown) {
  for (const std::uint64_t seed : sim::seeds(10)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "LanSimulation.SendsGroups*"));
    World world(seed, 6, {.loss = 0.2, .duplicate = 0.1, .reorder = 0.1});
    world.run_for(2s);
    world.traffic(300);
    settle(world);
    world.faults = {};
    world.groups_settled = true;
    for (std::uint8_t group = 0; group < 3; ++group) {
      for (const auto& from : world.nodes) {
        std::size_t wanted = 0;
        for (const auto& node : world.nodes)
          if (node != from && node->joined.contains(group)) ++wanted;
        from->send(World::group(group), 1000);
        world.run_for(1ms);
        EXPECT_EQ(world.delivered(world.last_frame), wanted);
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LanSimulation, FailsOverWhenAPathBreaks) {
  for (const std::uint64_t seed : sim::seeds(10)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "LanSimulation.FailsOver*"));
    World world(seed, 3, {});
    world.run_for(10s);  // the first rounds are over: it is not they who find out
    Node& a = *world.nodes[0];
    Node& b = *world.nodes[1];
    a.send(b.port->mac(), 60'000);  // wants a channel
    world.run_for(1ms);
    ASSERT_EQ(a.port->channels().state(*a.peer_of(b)), Channels::State::kUp);
    // Nobody says that what is sent there does not arrive. Where the other end has something to
    // send too, which arrives, it has to find out first.
    const bool both = seed % 2 == 0;
    world.broken.insert(b.lids.base);
    const auto speak = [&](Duration time) {
      const Time begun = world.scheduler.now();
      for (Duration at{}; at < time; at += 100ms) {
        world.scheduler.at(begun + at, [&] {
          a.send(b.port->mac(), 500);
          if (both) b.send(a.port->mac(), 500);
        });
      }
      world.scheduler.run_until(begun + time);
    };
    speak(800ms);
    EXPECT_EQ(a.moves, 0u);
    speak(both ? 4s : 2s);
    EXPECT_EQ(a.moves, 1u);
    EXPECT_EQ(b.moves, both ? 1u : 0u);
    a.send(b.port->mac(), 500);
    world.run_for(1ms);
    EXPECT_EQ(world.delivered(world.last_frame), 1u);
    // The first way is used again when it is likely to be whole.
    world.broken.clear();
    world.run_for(120s);
    EXPECT_EQ(a.port->peers().get(*a.peer_of(b)).path().dlid, b.lids.base);
    a.send(b.port->mac(), 500);
    world.run_for(1ms);
    EXPECT_EQ(world.delivered(world.last_frame), 1u);
    world.account();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LanSimulation, FollowsNodesThatGoAndComeAndGetOtherLids) {
  for (const std::uint64_t seed : sim::seeds(10)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "LanSimulation.FollowsNodes*"));
    World world(seed, 4, {.loss = 0.01, .unanswered = 0.05});
    world.run_for(5s);
    Node& gone = *world.nodes[2];
    world.set_alive(gone, false);
    world.traffic(200);
    world.run_for(2s);
    for (const auto& node : world.nodes)
      EXPECT_FALSE(node.get() != &gone && node->peer_of(gone));
    // It comes again, as another program, at a port that has other LIDs.
    gone.lids = {.base = Lid{0x40}, .lmc = 1};
    gone.connections.clear();
    gone.start();
    world.set_alive(gone, true);
    world.run_for(40s);
    world.faults = {};
    for (const auto& node : world.nodes) {
      if (node.get() == &gone) continue;
      node->send(gone.port->mac(), 3000);
      world.run_for(10ms);
      EXPECT_EQ(world.delivered(world.last_frame), 1u);
      gone.send(node->port->mac(), 3000);
      world.run_for(10ms);
      EXPECT_EQ(world.delivered(world.last_frame), 1u);
    }
    world.account();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LanSimulation, SendsBroadcastsOnceToThoseWhoAreInTheGroupOfTheFabric) {
  for (const std::uint64_t seed : sim::seeds(10)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "LanSimulation.SendsBroadcastsOnce*"));
    World world(seed, 6, {.loss = 0.02, .duplicate = 0.05, .reorder = 0.1});
    world.run_for(2s);
    const std::size_t members = world.random.between(3, 6);
    for (std::size_t i = 0; i < members; ++i)
      world.nodes[i]->join_fabric_group();
    world.run_for(100ms);
    EXPECT_EQ(count_of(world, LanCounter::kTxByGroup), 0u);
    settle(world);
    world.traffic(200);
    settle(world);
    world.faults = {};
    for (std::size_t i = 0; i < members; ++i)
      if (!world.nodes[i]->in_fabric_group) world.nodes[i]->join_fabric_group();
    settle(world);
    for (const auto& from : world.nodes) {
      const std::uint64_t by_group = from->port->counters().get(LanCounter::kTxByGroup);
      const std::uint64_t copies = from->port->counters().get(LanCounter::kTxCopies);
      from->send(kBroadcast, 1000);
      world.run_for(1ms);
      EXPECT_EQ(world.delivered(world.last_frame), 5u);
      const auto in_group = static_cast<std::size_t>(std::ranges::count_if(
          world.nodes, [](const auto& node) { return node->in_fabric_group; }));
      const std::size_t apart = from->in_fabric_group ? 6 - in_group : 5;
      EXPECT_EQ(from->port->counters().get(LanCounter::kTxByGroup) - by_group,
                from->in_fabric_group ? 1u : 0u);
      EXPECT_EQ(from->port->counters().get(LanCounter::kTxCopies) - copies, apart);
    }
    world.account();
    if (testing::Test::HasFailure()) return;
  }
}

MacAddress station(std::size_t number) {
  return {0x52, 0x54, 0, 0, 0, static_cast<std::uint8_t>(number)};
}

// Stations move between bridges, and say so by a broadcast, which may get lost.
TEST(LanSimulation, FindsStationsBehindBridgesWhereverTheyMove) {
  constexpr std::size_t kBridges = 3;
  constexpr std::size_t kStations = 6;
  for (const std::uint64_t seed : sim::seeds(10)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "LanSimulation.FindsStations*"));
    World world(seed, 6, {.loss = 0.02, .duplicate = 0.02, .reorder = 0.1}, kBridges);
    world.run_for(15s);
    std::array<Node*, kStations> at{};
    const auto move = [&](std::size_t number) {
      at[number] = world.nodes[world.random.below(kBridges)].get();
      at[number]->send_from(station(number), kBroadcast, 60);
    };
    for (std::size_t i = 0; i < kStations; ++i)
      move(i);
    for (int i = 0; i < 400; ++i) {
      world.run_for(Duration(world.random.below(40'000)));
      if (world.random.chance(0.05)) move(world.random.below(kStations));
      const std::size_t from = world.random.below(kStations);
      const MacAddress to = station(world.random.below(kStations));
      const std::size_t size = world.random.between(60, 1514);
      if (world.random.chance(0.5)) {
        at[from]->send_from(station(from), to, size);
      } else {
        world.nodes[world.random.below(world.nodes.size())]->send(to, size);
      }
    }
    settle(world);
    world.faults = {};
    for (std::size_t i = 0; i < kStations; ++i)
      at[i]->send_from(station(i), kBroadcast, 60);
    world.run_for(1ms);
    for (const auto& from : world.nodes) {
      for (std::size_t i = 0; i < kStations; ++i) {
        if (at[i] == from.get()) continue;
        from->send(station(i), 500);
        world.run_for(1ms);
        EXPECT_TRUE(world.delivered(world.last_frame, *at[i]));
        EXPECT_EQ(world.delivered(world.last_frame), 1u);
      }
    }
    EXPECT_GT(count_of(world, LanCounter::kTxToStation), 0u);
    EXPECT_GT(count_of(world, LanCounter::kStationsMoved), 0u);
    world.account();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LanSimulation, HasEightNodesTogetherBeforeTwoSecondsArePast) {
  World world(1, 8, {});
  world.run_for(500ms);
  for (const auto& node : world.nodes)
    EXPECT_EQ(node->port->peers().all().size(), 7u);
}

TEST(LanSimulation, RunsTheSameFromTheSameSeed) {
  const auto run = [] {
    World world(3, 5, {.loss = 0.02, .duplicate = 0.02, .reorder = 0.1});
    world.run_for(2s);
    world.traffic(200);
    world.run_for(2s);
    std::vector<std::uint64_t> counts;
    for (const auto& node : world.nodes)
      for (const CounterValue& value : node->port->counters().snapshot())
        counts.push_back(value.value);
    return counts;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace weft::lan::test

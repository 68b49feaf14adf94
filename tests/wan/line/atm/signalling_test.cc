// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "signalling_world.h"
#include "sim/seeds.h"

namespace weft::wan::atm {
namespace {

TEST(SwitchedConnection, IsSetUpCarriesPacketsAndIsReleasedWhenAStationGoes) {
  SignallingWorld world;
  EXPECT_FALSE(world.ends[0]->station->up());
  world.run_for(3s);
  ASSERT_TRUE(world.ends[0]->station->up());
  ASSERT_TRUE(world.ends[1]->station->up());
  EXPECT_EQ(world.calls.calls(), 1U);
  EXPECT_EQ(world.cells.connections(), 1U);
  Random random(1);
  for (const auto& end : world.ends) {
    for (int i = 0; i < 20; ++i)
      end->out.packets.push_back(random_octets(random, 1 + random.below(2000)));
  }
  world.run_for(1s);
  EXPECT_EQ(world.ends[1]->in.packets, world.ends[0]->out.packets);
  EXPECT_EQ(world.ends[0]->in.packets, world.ends[1]->out.packets);

  // The station that calls begins anew: what it had is released, and set up again.
  world.ends[0]->station = world.station(0);
  EXPECT_FALSE(world.ends[0]->station->up());
  world.run_for(30s);
  EXPECT_TRUE(world.ends[0]->station->up());
  EXPECT_TRUE(world.ends[1]->station->up());
  EXPECT_EQ(world.calls.calls(), 1U);
  EXPECT_EQ(world.cells.connections(), 1U);
}

TEST(SwitchedConnection, OfOthersGoesBesideAndIsNotSeen) {
  SignallingWorld world(3);
  // And a connection that is configured, with traffic of a stranger.
  ASSERT_TRUE(world.cells.connect({0, {.vpi = 7, .vci = 50}}, {1, {.vpi = 7, .vci = 50}}));
  EXPECT_FALSE(world.cells.connect({0, {.vpi = 7, .vci = 50}}, {1, {.vpi = 7, .vci = 51}}));
  EXPECT_FALSE(world.cells.connect({0, {.vpi = 0, .vci = 5}}, {1, {.vpi = 7, .vci = 51}}));
  world.run_for(3s);
  EXPECT_EQ(world.calls.calls(), 3U);
  Random random(2);
  for (const auto& end : world.ends) {
    for (int i = 0; i < 50; ++i)
      end->out.packets.push_back(random_octets(random, 1 + random.below(500)));
  }
  const Octets foreign(kPayloadSize, std::byte{0xEE});
  for (int i = 0; i < 100; ++i) {
    world.cells.take(
        0, {.header = {.channel = {.vpi = 7, .vci = 50}}, .first = foreign.data(), .count = 1});
    world.run_for(20ms);
  }
  for (std::size_t port = 0; port < world.ends.size(); ++port) {
    EXPECT_EQ(world.ends[port]->in.packets, world.ends[port ^ 1]->out.packets) << port;
  }
  EXPECT_EQ(world.ends[1]->station->counters().get(StationCounter::kStrayCells), 100U);
}

TEST(SwitchedConnection, IsRefusedToAnAddressThatNobodyHas) {
  SignallingWorld world;
  world.calls.add_station(station_address(1), 0);  // where the one that calls is itself
  world.run_for(5s);
  EXPECT_FALSE(world.ends[0]->station->up());
  EXPECT_EQ(world.cells.connections(), 0U);
  EXPECT_GT(world.ends[0]->station->signalling().counters().get(CallCounter::kPlaced), 1U);
  world.calls.add_station(station_address(1), 1);
  world.run_for(3s);
  EXPECT_TRUE(world.ends[0]->station->up());
}

TEST(SwitchedConnection, IsToldWhenNothingComesToTheSwitchAnyMore) {
  SignallingWorld world;
  world.run_for(4s);
  world.cells.set_cut(0, true);
  world.run_for(2500ms);
  EXPECT_TRUE(world.ends[1]->station->oam()->alarmed());
  EXPECT_FALSE(world.ends[1]->station->up());
  EXPECT_TRUE(world.ends[0]->station->oam()->remote_defect());
  world.cells.set_cut(0, false);
  world.run_for(6s);
  EXPECT_TRUE(world.ends[0]->station->up());
  EXPECT_TRUE(world.ends[1]->station->up());
}

TEST(SwitchedConnection, ComesAboutUnderLossAndBringsASubsetInOrder) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "SwitchedConnection.ComesAboutUnderLoss*"));
    Random random(seed);
    SignallingWorld world(1 + random.below(2), seed,
                          {.queue = 20 + random.below(100), .mark_at = 10, .low_priority = 15});
    world.loss = 0.002 * static_cast<double>(random.below(20));
    for (int i = 0; i < 20; ++i) {
      for (const auto& end : world.ends) {
        if (random.chance(0.7))
          end->out.packets.push_back(random_octets(random, 1 + random.below(900)));
      }
      world.run_for(Duration(random.below(2'000'000'000)), 50ms);
      if (random.chance(0.05)) {
        const std::size_t port = random.below(world.ends.size());
        world.ends[port]->station = world.station(port);
      }
      for (std::size_t port = 0; port < world.ends.size(); ++port) {
        const std::vector<Octets>& sent = world.ends[port ^ 1]->out.packets;
        std::size_t next = 0;
        for (const Octets& packet : world.ends[port]->in.packets) {
          while (next < sent.size() && sent[next] != packet)
            ++next;
          ASSERT_LT(next++, sent.size()) << "this was not sent, or not then";
        }
      }
      EXPECT_LE(world.cells.connections(), world.ends.size());
    }
    // Without loss all come to be up, and stay.
    world.loss = 0;
    world.run_for(60s, 50ms);
    for (const auto& end : world.ends)
      EXPECT_TRUE(end->station->up());
    EXPECT_EQ(world.calls.calls(), world.ends.size() / 2);
    EXPECT_EQ(world.cells.connections(), world.ends.size() / 2);
  }
}

TEST(CellSwitches, MarkThenDropByPriorityThenDropAndCountEach) {
  CellSwitch cells({.ports = 2, .queue = 10, .mark_at = 4, .low_priority = 6});
  ASSERT_TRUE(cells.connect({0, kChannel}, {1, {.vpi = 2, .vci = 200}}));
  const Octets payload(kPayloadSize);
  const auto put = [&](bool low) {
    cells.take(0, {.header = {.channel = kChannel, .low_priority = low},
                   .first = payload.data(),
                   .count = 1});
  };
  for (int i = 0; i < 8; ++i)
    put(i % 2 == 1);  // the last low one finds six, and goes
  for (int i = 0; i < 5; ++i)
    put(false);
  EXPECT_EQ(cells.counters().get(SwitchCounter::kMarked), 6U);
  EXPECT_EQ(cells.counters().get(SwitchCounter::kDroppedLowPriority), 1U);
  EXPECT_EQ(cells.counters().get(SwitchCounter::kDroppedFull), 2U);
  Octets out(20 * kCellSize);
  ASSERT_EQ(cells.put_cells(1, out), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    const CellHeader header = read_header(Bytes(out).subspan(i * kCellSize));
    EXPECT_EQ(header.channel, (Channel{.vpi = 2, .vci = 200}));
    EXPECT_EQ(header.payload_type, i < 4 ? 0 : kCongested);
    EXPECT_TRUE(checks_right(Bytes(out).subspan(i * kCellSize)));
  }
  cells.disconnect({1, {.vpi = 2, .vci = 200}});
  put(false);
  EXPECT_EQ(cells.counters().get(SwitchCounter::kNoConnection), 1U);
}

TEST(CellSwitches, EndASegmentAndAnswerItsLoopback) {
  CellSwitch cells({});
  ASSERT_TRUE(cells.connect({0, kChannel}, {1, kChannel}));
  OamEnd user({.channel = kChannel, .segment = true});
  user.advance(Time{});
  Octets cell(kCellSize);
  ASSERT_EQ(user.put_cells(cell), 1U);
  cells.take(0, {.header = read_header(cell), .first = cell.data() + kHeaderSize, .count = 1});
  EXPECT_EQ(cells.queued(1), 0U);
  ASSERT_EQ(cells.put_cells(0, cell), 1U);
  user.take_oam({.header = read_header(cell), .first = cell.data() + kHeaderSize, .count = 1});
  EXPECT_TRUE(user.up());
}

TEST(ConfiguredConnection, NeedsNoSignalling) {
  KeptPackets in;
  QueuedPackets out;
  Station station({.channel = kChannel}, out, in);
  Station other({.channel = kChannel}, out, in);
  Octets line(100 * kCellSize);
  for (Time now{}; now < Time{} + 3s; now += 100ms) {
    for (const auto& [from, to] : {std::pair{&station, &other}, std::pair{&other, &station}}) {
      from->advance(now);
      from->fill(line);
      to->take(line);
    }
  }
  EXPECT_TRUE(station.up());
  EXPECT_TRUE(other.up());
  out.packets.push_back(Octets(100, std::byte{7}));
  station.fill(line);
  other.take(line);
  EXPECT_EQ(in.packets, out.packets);
}

}  // namespace
}  // namespace weft::wan::atm

// SPDX-License-Identifier: Apache-2.0
// Two ends of a tunnel between two ports of a fabric.
#include <gtest/gtest.h>

#include "tunnel_world.h"

namespace weft::wan {
namespace {

using link::PortPhysicalState;
using link::PortState;

std::uint64_t sum(const std::array<std::uint64_t, 16>& counts) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts)
    total += count;
  return total;
}

TEST(Tunnel, JoinsTwoPortsAsOneCableWould) {
  World world({});
  ASSERT_TRUE(world.run_until(
      [&] {
        return world.sites[0]->port.state() == PortState::kInitialize &&
               world.sites[1]->port.state() == PortState::kInitialize;
      },
      100ms))
      << world.describe();
  // Active waits until the port at the other site is armed.
  world.sites[0]->port.set_state(PortState::kArmed, world.now());
  world.sites[0]->port.set_state(PortState::kActive, world.now());
  world.run_for(50ms);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kArmed);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kInitialize);
  world.sites[1]->port.set_state(PortState::kArmed, world.now());
  world.run_for(50ms);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kActive);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kArmed);
  // The first data packet does the rest (IBA 7.2.7, ActiveTrigger).
  ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 64));
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kActive);
  EXPECT_EQ(world.sites[1]->came[0], 1) << world.describe();
}

TEST(Tunnel, CarriesPacketsOfEverySizeAndLaneUnchangedAndInOrder) {
  World world({});
  ASSERT_TRUE(world.activate()) << world.describe();
  for (int i = 0; i < 300; ++i) {
    for (auto& site : world.sites) {
      const auto vl = static_cast<std::uint8_t>(world.random.below(15));
      ASSERT_TRUE(site->send(Sl{vl}, Vl{vl}, 4 * world.random.below(1025)));
    }
    if (i % 7 == 0) world.run_for(1ms);
  }
  world.run_for(100ms);
  for (const auto& site : world.sites) {
    EXPECT_EQ(sum(site->came), 300);
    EXPECT_EQ(site->disorder, 0);
    EXPECT_EQ(site->damaged, 0);
  }
  EXPECT_LE(world.paths[0]->longest, 1472);
  EXPECT_EQ(world.pool.in_use(), 0) << "something keeps packets";
}

// As programs of a lab hand them over, whose memory needs no CRCs.
TEST(Tunnel, SealsPacketsThatHaveNoCrcsYet) {
  World world({});
  ASSERT_TRUE(world.activate()) << world.describe();
  auto packet = world.pool.copy(link::make_packet({.vl = Vl{1}, .payload = 1000}));
  for (std::byte& byte : packet->trailer())
    byte = {};
  packet->sealed = false;
  packet->intact = true;
  world.sites[0]->port.transmit(std::move(packet), Vl{1}, world.now());
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->came[0], 1) << world.describe();
  EXPECT_EQ(world.sites[1]->damaged, 0);
}

TEST(Tunnel, PutsSeveralPacketsIntoAFrame) {
  World world({.wan = {.longest_frame = 9000}});
  ASSERT_TRUE(world.activate());
  const std::uint64_t before = world.paths[0]->frames;
  for (int i = 0; i < 400; ++i)
    ASSERT_TRUE(world.sites[0]->send(Sl{1}, Vl{1}, 64));
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->came[1], 400);
  EXPECT_LT(world.paths[0]->frames - before, 100);
}

// What is too little for a frame waits for what else comes of a stream, but not for long.
TEST(Tunnel, FillsTheFramesOfAStream) {
  World world({.tunnel = {.port = {.data_vls = 15, .vl_buffer = 2048}},
               .wan = {.longest_frame = kLongestFrame}});
  ASSERT_TRUE(world.activate()) << world.describe();
  world.run_for(50ms);
  const std::uint64_t before = world.paths[0]->frames;
  const auto send = [&](int packets) {
    for (int i = 0; i < packets; ++i)
      ASSERT_TRUE(world.sites[0]->send(Sl{1}, Vl{1}, 2000));
    world.settle();
  };
  send(1);
  EXPECT_EQ(world.paths[0]->frames - before, 1) << "nothing says that more will come";
  send(40);
  EXPECT_EQ(world.paths[0]->frames - before, 2) << "of 31 packets: 9 wait";
  world.run_for(5us);
  send(22);
  EXPECT_EQ(world.paths[0]->frames - before, 3) << "as many again: none waits";
  send(3);
  world.run_for(5us);
  EXPECT_EQ(world.paths[0]->frames - before, 3);
  world.run_for(6us);
  EXPECT_EQ(world.paths[0]->frames - before, 4) << "no more have come";
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->came[1], 66);
  EXPECT_EQ(world.sites[1]->disorder, 0);
}

// Whose hello does not say that it takes groups gets none.
TEST(Tunnel, GroupsPacketsForAnEndThatTakesThem) {
  for (const bool takes : {true, false}) {
    World world({.wan = {.longest_frame = kLongestFrame}});
    world.paths[1]->look = [&](std::vector<std::byte>& frame) {
      constexpr std::byte kTakesGroups{8};
      const auto item = FrameView::parse(frame)->next();
      if (!takes && item && std::holds_alternative<Hello>(*item)) {
        EXPECT_NE(frame[FrameHead::kSize + 1] & kTakesGroups, std::byte{});
        frame[FrameHead::kSize + 1] &= ~kTakesGroups;
      }
      return true;
    };
    std::uint64_t grouped = 0, alone = 0;
    world.paths[0]->see = [&](Bytes bytes, const OutFrame&) {
      auto frame = FrameView::parse(bytes);
      while (const auto item = frame->next()) {
        const auto* const packet = std::get_if<PacketItem>(&*item);
        if (packet != nullptr) ++(packet->grouped() ? grouped : alone);
      }
    };
    ASSERT_TRUE(world.activate()) << world.describe();
    for (int i = 0; i < 40; ++i)
      ASSERT_TRUE(world.sites[0]->send(Sl{1}, Vl{1}, 2000));
    world.run_for(50ms);
    EXPECT_EQ(world.sites[1]->came[1], 40);
    EXPECT_EQ(world.sites[1]->damaged + world.sites[1]->disorder, 0);
    EXPECT_EQ(grouped, takes ? 40 : 0);
    EXPECT_EQ(alone, takes ? 0 : 40);
  }
}

// Without recovery: nothing comes after what was lost last, and it is missed all the same.
TEST(Tunnel, MissesWhatWasLostLast) {
  World world({.tunnel = {.recovery = false}});
  ASSERT_TRUE(world.activate()) << world.describe();
  world.paths[0]->cut = true;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(world.sites[0]->send(Sl{1}, Vl{1}, 64));
  world.run_for(1ms);
  world.paths[0]->cut = false;
  EXPECT_EQ(world.count(TunnelCounter::kTxPackets), 3);
  world.run_for(200ms);
  EXPECT_EQ(world.count(1, TunnelCounter::kRxLost), 3);
  EXPECT_EQ(world.count(TunnelCounter::kRxPackets), 0);
}

TEST(Tunnel, GivesThePathNoMoreAtOnceThanItTakes) {
  World world({});
  ASSERT_TRUE(world.activate()) << world.describe();
  world.paths[0]->at_once = 3000;
  world.paths[0]->most_at_once = 0;
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 1000));
  world.run_for(100ms);
  EXPECT_EQ(world.sites[1]->came[0], 40u);
  EXPECT_GE(world.paths[0]->most_at_once, 3000u) << "more than two frames";
  EXPECT_LT(world.paths[0]->most_at_once, 3000u + 1472u);
}

TEST(Tunnel, PassesManagementPacketsBeforeTheLinkIsActive) {
  World world({});
  ASSERT_TRUE(world.run_until(
      [&] { return world.sites[0]->port.state() == PortState::kInitialize; }, 100ms));
  world.sites[0]->port.transmit(
      world.pool.copy(link::make_packet({.vl = link::kVl15, .payload = 256})), link::kVl15,
      world.now());
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->management, 1) << world.describe();
}

TEST(Tunnel, TakesThePortDownWhenThePathIsLostAndUpWhenItIsBack) {
  World world({});
  ASSERT_TRUE(world.activate());
  world.paths[0]->cut = world.paths[1]->cut = true;
  ASSERT_TRUE(world.run_until(
      [&] {
        return world.sites[0]->port.state() == PortState::kDown &&
               world.sites[1]->port.state() == PortState::kDown;
      },
      4s))
      << world.describe();
  EXPECT_EQ(world.count(TunnelCounter::kSessionsSilent), 2);
  world.run_for(60s);
  world.paths[0]->cut = world.paths[1]->cut = false;
  EXPECT_TRUE(world.activate()) << world.describe();
  ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 64));
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->came[0], 1);
}

TEST(Tunnel, TakesThePortDownAtOnceWhenTheNetworkHasLostTheOtherEnd) {
  World world({});
  ASSERT_TRUE(world.activate());
  world.paths[0]->unresolved = true;
  world.ends[0]->path_changed();
  world.settle();
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kDown);
  world.paths[0]->unresolved = false;
  world.ends[0]->path_changed();
  EXPECT_TRUE(world.activate()) << world.describe();
}

TEST(Tunnel, FollowsAFabricPortThatGoesDownAtTheOtherSite) {
  World world({});
  ASSERT_TRUE(world.activate());
  // The subnet manager takes one side down: it trains anew, and so does the other one.
  const auto downs = link::count(world.sites[1]->port, link::PortCounter::kLinkDowned);
  world.sites[0]->port.set_state(PortState::kDown, world.now());
  world.run_for(100ms);
  EXPECT_EQ(link::count(world.sites[1]->port, link::PortCounter::kLinkDowned), downs + 1);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kInitialize);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kInitialize);
  EXPECT_TRUE(world.activate()) << world.describe();
  EXPECT_EQ(link::count(world.sites[0]->port, link::PortCounter::kLinkUps), 2) << "once";
}

TEST(Tunnel, KeepsThePortDownWhileTheOtherSitesIsDisabled) {
  World world({});
  ASSERT_TRUE(world.activate());
  world.sites[0]->port.set_physical_state(PortPhysicalState::kDisabled, world.now());
  ASSERT_TRUE(world.run_until([&] { return world.sites[1]->port.state() == PortState::kDown; }, 2s))
      << world.describe();
  world.run_for(5s);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kDown);
  world.sites[0]->port.set_physical_state(PortPhysicalState::kPolling, world.now());
  EXPECT_TRUE(world.activate()) << world.describe();
}

TEST(Tunnel, NoticesThatTheOtherEndHasBegunAnew) {
  World world({});
  ASSERT_TRUE(world.activate());
  ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 64));
  world.run_for(20ms);
  world.restart(1);
  world.run_for(100ms);
  EXPECT_EQ(world.count(0, TunnelCounter::kPeerRestarts), 1);
  EXPECT_EQ(link::count(world.sites[0]->port, link::PortCounter::kLinkDowned), 1);
  EXPECT_TRUE(world.activate()) << world.describe();
  ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 64));
  ASSERT_TRUE(world.sites[1]->send(Sl{0}, Vl{0}, 64));
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->came[0], 2);
  EXPECT_EQ(world.sites[0]->came[0], 1);
}

TEST(Tunnel, EndsTheSessionWithAWordWhenItIsStopped) {
  World world({});
  ASSERT_TRUE(world.activate());
  world.ends[1]->stop(world.now());
  world.run_for(20ms);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kDown);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kDown);
  EXPECT_EQ(world.count(0, TunnelCounter::kSessionsEnded), 1);
  world.ends[1]->start(world.now());
  EXPECT_TRUE(world.activate()) << world.describe();
}

TEST(Tunnel, RefusesAnEndInAnotherModeAndSaysWhy) {
  WorldOptions options;
  options.other = options.tunnel;
  options.other->mode = TunnelMode::kRouter;
  World world(options);
  world.run_for(2s);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kDown);
  EXPECT_EQ(world.ends[0]->session().why(),
            "the other end is in mode router, this one in mode bridge");
  EXPECT_EQ(world.ends[1]->session().why(),
            "the other end is in mode bridge, this one in mode router");
  EXPECT_LT(world.paths[0]->frames, 20) << "they refuse each other without a pause";
}

TEST(Tunnel, TakesFewerLanesWhereTheOtherEndHasFewer) {
  WorldOptions options;
  options.other = options.tunnel;
  options.other->port.data_vls = 4;
  options.other->recovery = false;
  World world(options);
  ASSERT_TRUE(world.activate());
  EXPECT_FALSE(world.ends[0]->session().agreement().recovery);
  ASSERT_TRUE(world.sites[0]->send(Sl{3}, Vl{3}, 64));
  ASSERT_TRUE(world.sites[0]->send(Sl{4}, Vl{4}, 64));
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->came[3], 1);
  EXPECT_EQ(world.count(0, TunnelCounter::kTxNoLane), 1);
}

TEST(Tunnel, GoesOnWhenThePathTakesShorterFrames) {
  World world({.wan = {.loss = 0.02, .longest_frame = 9000}});
  ASSERT_TRUE(world.activate());
  for (int i = 0; i < 300; ++i) {
    world.sites[0]->keep_full(Vl{0}, 4096);
    if (i == 100) {
      world.paths[0]->options.longest_frame = 1200;
      world.paths[0]->longest = 0;
    }
    world.run_for(1ms);
  }
  world.run_for(2s);
  EXPECT_EQ(world.sites[1]->came[0], world.sites[0]->next[0]);
  EXPECT_EQ(world.sites[1]->disorder, 0);
  EXPECT_LE(world.paths[0]->longest, 1200);
}

TEST(Tunnel, IsNotDisturbedByStrangersWhoKnowNeitherEndsNumber) {
  World world({});
  ASSERT_TRUE(world.activate());
  const auto inject = [&](const FrameHead& head, bool hello) {
    FrameBuilder frame;
    frame.begin(kLeastFrame);
    if (hello) {
      Hello from_nowhere{.own = 77, .wants_answer = true, .block = {}, .longest_frame = 9000};
      from_nowhere.capacity.fill(1000);
      ASSERT_TRUE(frame.add(from_nowhere));
    } else {
      ASSERT_TRUE(frame.add_end());
    }
    frame.finish(head);
    std::vector<std::byte> bytes;
    for (const Bytes part : frame.parts())
      bytes.insert(bytes.end(), part.begin(), part.end());
    world.paths[1]->inject(std::move(bytes), world.now());
  };
  for (std::uint64_t guess = 0; guess < 100; ++guess) {
    inject({.type = FrameType::kSession, .epoch = guess}, true);
    inject({.type = FrameType::kSession, .epoch = guess}, false);
    inject({.type = FrameType::kTraffic, .epoch = guess, .sequence = guess}, false);
    world.run_for(1ms);
  }
  EXPECT_TRUE(world.active());
  EXPECT_EQ(world.count(0, TunnelCounter::kSessions), 1);
  EXPECT_EQ(world.count(0, TunnelCounter::kRxWrongSession), 100);
  ASSERT_TRUE(world.sites[1]->send(Sl{0}, Vl{0}, 64));
  world.run_for(20ms);
  EXPECT_EQ(world.sites[0]->came[0], 1);
}

// What is sent is remembered until it has come, or must be taken for lost: here nothing comes, and
// no time goes by, while the other end has everything told that it sends.
TEST(Tunnel, WaitsToAcknowledgeWhereNoFrameMayLeave) {
  World world({});
  ASSERT_TRUE(world.activate());
  TunnelEnd& end = *world.ends[0];
  world.paths[0]->cut = true;
  ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 64));
  world.settle();
  const auto doubled = world.pool.copy(link::make_packet({.vl = Vl{0}, .payload = 64}));
  const Time now = world.now();
  FrameBuilder frame;
  std::vector<std::byte> bytes;
  std::uint64_t number = kFrameWindow;
  const auto take_one = [&] {
    frame.begin(kLeastFrame);
    frame.add_whole({.vl = Vl{0}, .sequence = ~std::uint32_t{0}}, *doubled);
    number += 2;  // one is missing, which is to be told at once
    frame.finish({.open = 1, .epoch = world.ends[1]->session().send_epoch(), .sequence = number});
    bytes.clear();
    for (const Bytes part : frame.parts())
      bytes.insert(bytes.end(), part.begin(), part.end());
    end.receive(bytes, now);
  };
  while (end.sender().may_leave()) {
    const std::uint64_t before = world.count(0, TunnelCounter::kTxFrames);
    take_one();
    end.run(now);
    ASSERT_EQ(world.count(0, TunnelCounter::kTxFrames), before + 1);
  }
  take_one();
  end.run(now);
  ASSERT_TRUE(end.deadline());
  EXPECT_GT(*end.deadline(), now) << "it would be run again and again";
}

TEST(Tunnel, LosesNothingWhenTheFarSideIsOutOfMemory) {
  // Room for 64 payloads behind FIFOs that promise more.
  World world({.buffer = {.lane_bytes = 1U << 20, .most_memory = 64 * 4096}});
  ASSERT_TRUE(world.activate());
  world.sites[1]->blocked = 1;
  for (int i = 0; i < 300; ++i) {
    world.sites[0]->keep_full(Vl{0}, 2048);
    world.run_for(1ms);
  }
  EXPECT_GT(world.count(1, TunnelCounter::kRxNoMemory), 0);
  world.sites[1]->blocked = 0;
  world.sites[1]->kept.clear();
  world.run_for(5s);
  EXPECT_EQ(world.sites[1]->came[0], world.sites[0]->next[0]) << world.describe();
  EXPECT_EQ(world.sites[1]->disorder, 0);
}

}  // namespace
}  // namespace weft::wan

// SPDX-License-Identifier: Apache-2.0
// Two ports of whatever kind, and a cable: on what speed they end.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "world.h"

namespace weft::phy {
namespace {

using test::World;
using test::WorldOptions;
using State = NegotiationState;
using Reason = NegotiationReason;

WorldOptions of_small_sweeps() {
  WorldOptions options;
  for (NegotiationOptions& node : options.nodes) {
    node.transmit_configurations = 2;
    node.receive_configurations = 2;
  }
  return options;
}

void expect_settled(World& world, const std::string& where) {
  EXPECT_TRUE(world.settled()) << where;
  EXPECT_EQ(world.speed(0), world.speed(1)) << where;
  EXPECT_EQ(world.node(0).state(), world.node(1).state()) << where;
}

LinkSpeed outcome(const WorldOptions& options) {
  World world(options);
  world.start_both();
  EXPECT_TRUE(world.run_for(600s));
  expect_settled(world, "");
  return world.speed(0);
}

TEST(TwoPorts, that_negotiate_end_at_ddr) {
  EXPECT_EQ(outcome(of_small_sweeps()), LinkSpeed::kDdr);
}

TEST(TwoPorts, of_which_one_is_sdr_only_end_at_sdr) {
  for (unsigned n = 0; n < 2; ++n) {
    WorldOptions options = of_small_sweeps();
    options.nodes[n].mode = SpeedMode::kSdrOnly;
    World world(options);
    world.start_both();
    EXPECT_TRUE(world.run_for(1s));
    expect_settled(world, "");
    EXPECT_EQ(world.node(1 - n).result()->reason, Reason::kPeerRefused);
    EXPECT_EQ(world.speed(0), LinkSpeed::kSdr);
  }
}

TEST(TwoPorts, of_which_both_are_of_one_speed_end_at_it) {
  WorldOptions options = of_small_sweeps();
  options.nodes[0].mode = options.nodes[1].mode = SpeedMode::kDdrOnly;
  EXPECT_EQ(outcome(options), LinkSpeed::kDdr);
  options.nodes[0].mode = options.nodes[1].mode = SpeedMode::kSdrOnly;
  EXPECT_EQ(outcome(options), LinkSpeed::kSdr);
}

TEST(TwoPorts, end_at_ddr_whichever_acknowledgements_neither_hears) {
  for (unsigned lost = 0; lost < 16; ++lost) {
    World world(of_small_sweeps());
    for (unsigned n = 0; n < 2; ++n) {
      world.drop_from(n, [=](const Advertisement& message) {
        const unsigned kind = 2 * n + (message.serdes_configured ? 1 : 0);
        return message.acknowledge && (lost >> kind & 1) != 0;
      });
    }
    world.start_both();
    EXPECT_TRUE(world.run_for(60s));
    expect_settled(world, std::to_string(lost));
    EXPECT_EQ(world.speed(0), LinkSpeed::kDdr) << lost;
  }
}

TEST(TwoPorts, of_which_one_knows_nothing_of_the_protocol_end_at_sdr) {
  World world(of_small_sweeps());
  world.drop_from(0, [](const Advertisement&) { return true; });
  world.drop_from(1, [](const Advertisement&) { return true; });
  world.start_both();
  EXPECT_TRUE(world.run_for(1s));
  expect_settled(world, "");
  EXPECT_EQ(world.node(0).result()->reason, Reason::kNoAnswer);
}

TEST(TwoPorts, of_which_one_or_both_skip_the_sweep_end_at_ddr_without_one) {
  for (unsigned who = 1; who < 4; ++who) {
    WorldOptions options = of_small_sweeps();
    for (unsigned n = 0; n < 2; ++n) {
      options.nodes[n].no_sweep = (who >> n & 1) != 0;
      options.nodes[n].default_iteration = n;
    }
    World world(options);
    world.start_both();
    EXPECT_TRUE(world.run_for(2s));
    expect_settled(world, "");
    EXPECT_EQ(world.speed(0), LinkSpeed::kDdr);
    for (unsigned n = 0; n < 2; ++n) {
      EXPECT_EQ(world.node(n).result()->transmit, 1 - n);
      EXPECT_EQ(world.node(n).counters().get(NegotiationCounter::kSweeps), 0U);
    }
  }
}

TEST(TwoPorts, end_at_sdr_when_no_settings_work_in_one_direction) {
  for (unsigned deaf = 0; deaf < 2; ++deaf) {
    WorldOptions options = of_small_sweeps();
    options.channel = [deaf](unsigned receiver, unsigned transmit, unsigned receive,
                             unsigned lane) {
      return receiver == deaf ? test::broken_channel(receiver, transmit, receive, lane)
                              : test::clean_channel(receiver, transmit, receive, lane);
    };
    EXPECT_EQ(outcome(options), LinkSpeed::kSdr);
  }
}

TEST(TwoPorts, end_at_ddr_with_the_one_pair_that_works_on_all_lanes) {
  WorldOptions options = of_small_sweeps();
  options.nodes[0].transmit_configurations = 5;
  options.nodes[1].receive_configurations = 4;
  options.channel = [](unsigned receiver, unsigned transmit, unsigned receive, unsigned lane) {
    const bool works = receiver == 0 || (transmit == 3 && receive == lane);
    return LaneMeasurement{works, works ? 0U : 1U, 1.0};
  };
  World world(options);
  world.start_both();
  EXPECT_TRUE(world.run_for(60s));
  expect_settled(world, "");
  EXPECT_EQ(world.node(0).result()->transmit, 3U);
  EXPECT_EQ(world.node(1).result()->receive->receive, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(world.line(1).receive, (std::vector<unsigned>{0, 1, 2, 3}));
}

TEST(TwoPorts, fall_back_to_sdr_when_the_link_does_not_train_at_ddr) {
  WorldOptions options = of_small_sweeps();
  options.trains_at_ddr = false;
  World world(options);
  world.start_both();
  EXPECT_TRUE(world.run_for(60s));
  expect_settled(world, "");
  EXPECT_EQ(world.node(0).result()->reason, Reason::kDdrTimeOut);
  EXPECT_EQ(world.node(1).result()->reason, Reason::kDdrTimeOut);
}

TEST(TwoPorts, negotiate_again_when_the_cable_was_pulled) {
  World world(of_small_sweeps());
  world.start_both();
  EXPECT_TRUE(world.run_for(60s));
  world.pull();
  EXPECT_TRUE(world.run_for(60s));
  EXPECT_TRUE(world.node(0).negotiating());
  world.plug();
  EXPECT_TRUE(world.run_for(60s));
  expect_settled(world, "");
  EXPECT_EQ(world.speed(0), LinkSpeed::kDdr);
}

TEST(TwoPorts, of_which_one_is_switched_on_later_end_at_ddr) {
  for (const Duration later : {Duration(1ms), Duration(5ms), Duration(3s)}) {
    World world(of_small_sweeps());
    world.start(0);
    world.run_for(later);
    world.start(1);
    EXPECT_TRUE(world.run_for(60s));
    expect_settled(world, "");
    EXPECT_EQ(world.speed(0), LinkSpeed::kDdr);
  }
}

TEST(TwoPorts, of_which_one_notices_late_that_the_link_is_up_end_at_ddr) {
  for (const Duration late : {Duration(100us), Duration(1ms), Duration(3900us)}) {
    WorldOptions options = of_small_sweeps();
    options.late[1] = late;
    EXPECT_EQ(outcome(options), LinkSpeed::kDdr) << late.count();
  }
}

TEST(TwoPorts, of_which_one_notices_too_late_end_at_one_speed) {
  WorldOptions options = of_small_sweeps();
  options.late[1] = 20ms;
  EXPECT_EQ(outcome(options), LinkSpeed::kSdr);
}

TEST(TwoPorts, of_which_one_restarts_in_any_state_end_at_ddr) {
  std::set<std::pair<State, State>> states;
  for (unsigned who = 0; who < 2; ++who) {
    for (int when = 0; when < 200; ++when) {
      World world(of_small_sweeps());
      world.start_both();
      for (int i = 0; i < when && world.next(); ++i)
        world.step();
      if (!world.next()) break;
      states.insert({world.node(who).state(), world.node(1 - who).state()});
      const std::string where = std::string(state_name(world.node(who).state())) + " / " +
                                std::string(state_name(world.node(1 - who).state()));
      world.restart(who);
      EXPECT_TRUE(world.run_for(600s)) << where;
      expect_settled(world, where);
      EXPECT_EQ(world.speed(0), LinkSpeed::kDdr) << where;
    }
  }
  EXPECT_GE(states.size(), 12U);
}

TEST(TwoPorts, lose_the_link_at_any_time_and_end_at_one_speed) {
  for (int when = 0; when < 200; ++when) {
    World world(of_small_sweeps());
    world.start_both();
    for (int i = 0; i < when && world.next(); ++i)
      world.step();
    world.pull();
    world.run_for(Duration(when * 1'000'000));
    world.plug();
    EXPECT_TRUE(world.run_for(600s)) << when;
    expect_settled(world, std::to_string(when));
  }
}

}  // namespace
}  // namespace weft::phy

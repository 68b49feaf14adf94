// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/sweep.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "world.h"

namespace weft::phy {
namespace {

using test::World;
using test::WorldOptions;

// Keeps what it is told, with the time at which it was.
struct WrittenSerdes final : SerdesControl {
  void set_line(LinkSpeed, LineUse) override {}
  void set_transmit(unsigned configuration) override {
    transmit = configuration;
    told.push_back(at + "tx" + std::to_string(configuration));
  }
  void set_receive(unsigned lane, unsigned configuration) override {
    receive[lane] = configuration;
    if (lane == 0) told.push_back(at + "rx" + std::to_string(configuration));
  }
  LaneMeasurement measure(unsigned lane) override {
    if (lane == 0) told.push_back(at + "measured");
    return quality ? quality(transmit, receive[lane], lane) : LaneMeasurement{};
  }

  std::string at;
  unsigned transmit = 0;
  std::map<unsigned, unsigned> receive;
  std::vector<std::string> told;
  std::function<LaneMeasurement(unsigned, unsigned, unsigned)> quality;
};

void run_out(Sweep& sweep, WrittenSerdes& serdes) {
  while (sweep.deadline()) {
    const Time now = *sweep.deadline();
    serdes.at = std::to_string((now - Time{}) / 1ms) + ":";
    sweep.expire(now, serdes);
  }
}

std::optional<SweepChoice> choice_of(SweepPlan plan, WrittenSerdes serdes) {
  Sweep sweep;
  sweep.start(plan, Time{}, serdes);
  run_out(sweep, serdes);
  return sweep.choice();
}

SweepPlan small_plan() {
  return {.iterations = 3,
          .iteration = 100ms,
          .transmit_configurations = 3,
          .receive_configurations = 2,
          .lanes = 1,
          .delta = 10ms,
          .soak = 20ms};
}

NegotiationOptions node_of_table_4(std::uint32_t iterations, std::uint32_t receive) {
  NegotiationOptions options;
  options.transmit_configurations = iterations;
  options.receive_configurations = receive;
  options.delta = 50ms;
  options.soak = 150ms;
  return options;
}

TEST(Sweep, of_table_4_is_of_five_iterations_of_750_ms_on_both_sides) {
  const NegotiationOptions node0 = node_of_table_4(3, 9);
  const NegotiationOptions node1 = node_of_table_4(5, 4);
  EXPECT_EQ(node0.iteration_duration(), 750ms);
  EXPECT_EQ(node1.iteration_duration(), 500ms);
  const SweepPlan plan0 = agree_sweep(node0, 5, node1.iteration_ms());
  const SweepPlan plan1 = agree_sweep(node1, 3, node0.iteration_ms());
  for (const SweepPlan& plan : {plan0, plan1}) {
    EXPECT_EQ(plan.iterations, 5U);
    EXPECT_EQ(plan.iteration, 750ms);
  }
  EXPECT_EQ(plan0.receive_configurations, 9U);
  EXPECT_EQ(plan1.receive_configurations, 4U);
}

TEST(Sweep, of_table_4_is_what_two_ports_do) {
  WorldOptions options;
  options.nodes = {node_of_table_4(3, 9), node_of_table_4(5, 4)};
  World world(options);
  world.start_both();
  ASSERT_TRUE(world.run_for(60s));
  for (unsigned n = 0; n < 2; ++n) {
    std::optional<Time> began;
    std::optional<Time> ended;
    for (const FlowStep& step : world.flow()) {
      if (step.node != n || step.kind != FlowStep::Kind::kState) continue;
      if (step.state == NegotiationState::kSweeping) began = step.time;
      if (step.state == NegotiationState::kReturning) ended = step.time;
    }
    ASSERT_TRUE(began && ended);
    EXPECT_EQ(*ended - *began, 5 * 750ms);
    EXPECT_EQ(world.node(n).sweep().plan().iterations, 5U);
    EXPECT_TRUE(world.node(n).sweep().at(4, n == 0 ? 8 : 3, 3));
  }
  // The best of each direction: iteration 2 sends configuration 2 of node 0, iteration 4 number 4
  // of node 1.
  EXPECT_EQ(world.node(0).result()->transmit, 2U);
  EXPECT_EQ(world.node(0).result()->receive->iteration, 4U);
  EXPECT_EQ(world.node(0).result()->receive->receive, std::vector<std::uint32_t>(4, 8U));
  EXPECT_EQ(world.node(1).result()->transmit, 4U);
  EXPECT_EQ(world.node(1).result()->receive->iteration, 2U);
  EXPECT_EQ(world.node(1).result()->receive->receive, std::vector<std::uint32_t>(4, 3U));
}

TEST(Sweep, soaks_tries_each_receive_configuration_for_delta_and_soaks_again) {
  SweepPlan plan = small_plan();
  plan.iterations = 2;
  plan.iteration = 60ms;
  WrittenSerdes serdes;
  serdes.at = "0:";
  Sweep sweep;
  sweep.start(plan, Time{}, serdes);
  run_out(sweep, serdes);
  EXPECT_EQ(serdes.told,
            (std::vector<std::string>{"0:tx0", "0:rx0", "20:rx0", "30:measured", "30:rx1",
                                      "40:measured", "60:tx1", "60:rx0", "80:rx0", "90:measured",
                                      "90:rx1", "100:measured"}));
}

TEST(Sweep, sends_for_the_whole_of_an_iteration_that_the_other_end_needs_longer_for) {
  WrittenSerdes serdes;
  Sweep sweep;
  sweep.start(small_plan(), Time{}, serdes);
  run_out(sweep, serdes);
  std::vector<std::string> sends;
  for (const std::string& told : serdes.told)
    if (told.find("tx") != std::string::npos) sends.push_back(told);
  EXPECT_EQ(sends, (std::vector<std::string>{"tx0", "100:tx1", "200:tx2"}));
  EXPECT_EQ(serdes.at, "300:");
}

TEST(Sweep, sends_configurations_over_again_when_there_are_fewer_than_iterations) {
  SweepPlan plan = small_plan();
  plan.iterations = 9;
  plan.transmit_configurations = 4;
  std::vector<std::uint32_t> sent;
  for (std::uint32_t i = 0; i < plan.iterations; ++i)
    sent.push_back(plan.transmit_of(i));
  EXPECT_EQ(sent, (std::vector<std::uint32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0}));
}

TEST(Sweep, keeps_to_its_schedule_however_late_it_is_woken) {
  WrittenSerdes serdes;
  Sweep sweep;
  sweep.start(small_plan(), Time{}, serdes);
  sweep.expire(Time(137ms), serdes);
  EXPECT_EQ(sweep.iteration(), 1U);
  EXPECT_EQ(sweep.deadline(), Time(140ms));
  sweep.expire(Time(1s), serdes);
  EXPECT_FALSE(sweep.running());
}

TEST(Sweep, chooses_the_pair_with_the_largest_eye) {
  WrittenSerdes serdes;
  serdes.quality = [](unsigned transmit, unsigned receive, unsigned) {
    return LaneMeasurement{true, 0, transmit == 1 && receive == 1 ? 2.0 : 1.0};
  };
  const auto choice = choice_of(small_plan(), serdes);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->iteration, 1U);
  EXPECT_EQ(choice->receive, std::vector<std::uint32_t>{1});
  EXPECT_EQ(choice->eye, 2.0);
}

TEST(Sweep, chooses_the_first_of_equals) {
  WrittenSerdes serdes;
  serdes.quality = [](unsigned, unsigned, unsigned) { return LaneMeasurement{true, 0, 1.0}; };
  const auto choice = choice_of(small_plan(), serdes);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->iteration, 0U);
  EXPECT_EQ(choice->receive, std::vector<std::uint32_t>{0});
}

TEST(Sweep, leaves_out_what_had_a_symbol_error_or_did_not_match) {
  WrittenSerdes serdes;
  serdes.quality = [](unsigned transmit, unsigned receive, unsigned) -> LaneMeasurement {
    if (transmit == 0) return {true, 1, 9.0};
    if (transmit == 1) return {false, 0, 8.0};
    return receive == 0 ? LaneMeasurement{true, 0, 0.1} : LaneMeasurement{true, 1, 7.0};
  };
  const auto choice = choice_of(small_plan(), serdes);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->iteration, 2U);
  EXPECT_EQ(choice->receive, std::vector<std::uint32_t>{0});
}

TEST(Sweep, chooses_nothing_when_nothing_counts) {
  EXPECT_FALSE(choice_of(small_plan(), WrittenSerdes{}));
}

TEST(Sweep, chooses_an_iteration_by_its_worst_lane_and_receives_on_each_lane_as_is_best_there) {
  SweepPlan plan = small_plan();
  plan.lanes = 4;
  WrittenSerdes serdes;
  serdes.quality = [](unsigned transmit, unsigned receive, unsigned lane) -> LaneMeasurement {
    // Iteration 0 is superb but for lane 3, iteration 1 even, iteration 2 lacks lane 2.
    if (transmit == 0) return {true, 0, lane == 3 ? 0.2 : 9.0};
    if (transmit == 2) return {lane != 2, 0, 9.0};
    return {true, 0, receive == lane % 2 ? 0.5 : 0.4};
  };
  const auto choice = choice_of(plan, serdes);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->iteration, 1U);
  EXPECT_EQ(choice->receive, (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(choice->eye, 0.5);
}

TEST(Sweep, that_is_stopped_wants_nothing_more) {
  WrittenSerdes serdes;
  Sweep sweep;
  EXPECT_FALSE(sweep.deadline());
  sweep.start(small_plan(), Time{}, serdes);
  EXPECT_TRUE(sweep.running());
  sweep.stop();
  EXPECT_FALSE(sweep.running());
}

}  // namespace
}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
// The three flow diagrams of the specification's clause 2.1.2, message by message, between the two
// nodes of its table 4.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>

#include "flow_outlines.h"
#include "phy/negotiation/flow_text.h"
#include "world.h"

namespace weft::phy {
namespace {

using test::World;
using test::WorldOptions;

WorldOptions switch_and_adapter() {
  WorldOptions options;
  options.nodes[0].transmit_configurations = 3;
  options.nodes[0].receive_configurations = 9;
  options.nodes[1].transmit_configurations = 5;
  options.nodes[1].receive_configurations = 4;
  return options;
}

constexpr const char* kCase1Flow = R"(
     2.000 ms  Node 0             SDR up
     2.000 ms  Node 0             requesting
     2.000 ms  Node 0 -->         Capabilities Advertisement: 5G, 3 iterations of 750 ms
     2.000 ms             Node 1  SDR up
     2.000 ms             Node 1  requesting
     2.000 ms         <-- Node 1  Capabilities Advertisement: 5G, 5 iterations of 500 ms
     2.010 ms             Node 1  requested, not acknowledged
     2.010 ms         <-- Node 1  Capabilities Advertisement + ACK: 5G, 5 iterations of 500 ms
     2.010 ms  Node 0             requested, not acknowledged
     2.010 ms  Node 0 -->         Capabilities Advertisement + ACK: 5G, 3 iterations of 750 ms
     2.020 ms  Node 0             acknowledging
     2.020 ms             Node 1  acknowledging
     3.020 ms  Node 0             sweeping
     3.020 ms             Node 1  sweeping
  3753.020 ms  Node 0             returning to SDR
  3753.020 ms             Node 1  returning to SDR
  3755.020 ms  Node 0             result requesting
  3755.020 ms  Node 0 -->         Result Advertisement: 5G, chosen iteration 4
  3755.020 ms             Node 1  result requesting
  3755.020 ms         <-- Node 1  Result Advertisement: 5G, chosen iteration 2
  3755.030 ms             Node 1  result requested, not acknowledged
  3755.030 ms         <-- Node 1  Result Advertisement + ACK: 5G, chosen iteration 2
  3755.030 ms  Node 0             result requested, not acknowledged
  3755.030 ms  Node 0 -->         Result Advertisement + ACK: 5G, chosen iteration 4
  3755.040 ms  Node 0             result acknowledging
  3755.040 ms             Node 1  result acknowledging
  3756.040 ms  Node 0             going to DDR
  3756.040 ms             Node 1  going to DDR
  3758.040 ms  Node 0             DDR: both ends agreed
  3758.040 ms             Node 1  DDR: both ends agreed
)";

constexpr const char* kCase2Flow = R"(
     2.000 ms  Node 0             SDR up
     2.000 ms  Node 0             requesting
     2.000 ms  Node 0 -->         Capabilities Advertisement: 5G, 3 iterations of 750 ms
     2.000 ms             Node 1  SDR up
     2.000 ms             Node 1  requesting
     2.000 ms         <-- Node 1  Capabilities Advertisement: 5G, 5 iterations of 500 ms
     2.010 ms             Node 1  requested, not acknowledged
     2.010 ms         <-- Node 1  Capabilities Advertisement + ACK: 5G, 5 iterations of 500 ms
     2.010 ms  Node 0             requested, not acknowledged
     2.010 ms  Node 0 --x         Capabilities Advertisement + ACK: 5G, 3 iterations of 750 ms
     2.020 ms  Node 0             acknowledging
     3.000 ms         <-- Node 1  Capabilities Advertisement: 5G, 5 iterations of 500 ms
     3.010 ms  Node 0 --x         Capabilities Advertisement + ACK: 5G, 3 iterations of 750 ms
     4.000 ms         <-- Node 1  Capabilities Advertisement: 5G, 5 iterations of 500 ms
     4.010 ms  Node 0 --x         Capabilities Advertisement + ACK: 5G, 3 iterations of 750 ms
     5.000 ms         <-- Node 1  Capabilities Advertisement: 5G, 5 iterations of 500 ms
     5.010 ms  Node 0 --x         Capabilities Advertisement + ACK: 5G, 3 iterations of 750 ms
     6.000 ms             Node 1  sweeping
     6.010 ms  Node 0             sweeping
  3756.000 ms             Node 1  returning to SDR
  3756.010 ms  Node 0             returning to SDR
  3758.010 ms  Node 0             result requesting
  3758.010 ms  Node 0 -->         Result Advertisement: 5G, chosen iteration 4
  3758.010 ms             Node 1  result requesting
  3758.010 ms         <-- Node 1  Result Advertisement: 5G, chosen iteration 2
  3758.020 ms             Node 1  result requested, not acknowledged
  3758.020 ms         x-- Node 1  Result Advertisement + ACK: 5G, chosen iteration 2
  3758.020 ms  Node 0             result requested, not acknowledged
  3758.020 ms  Node 0 -->         Result Advertisement + ACK: 5G, chosen iteration 4
  3758.030 ms             Node 1  result acknowledging
  3759.010 ms  Node 0 -->         Result Advertisement: 5G, chosen iteration 4
  3759.020 ms         x-- Node 1  Result Advertisement + ACK: 5G, chosen iteration 2
  3760.010 ms  Node 0 -->         Result Advertisement: 5G, chosen iteration 4
  3760.020 ms         x-- Node 1  Result Advertisement + ACK: 5G, chosen iteration 2
  3761.010 ms  Node 0 -->         Result Advertisement: 5G, chosen iteration 4
  3761.020 ms         x-- Node 1  Result Advertisement + ACK: 5G, chosen iteration 2
  3762.010 ms  Node 0             going to DDR
  3762.020 ms             Node 1  going to DDR
  3764.020 ms  Node 0             DDR: both ends agreed
  3764.020 ms             Node 1  DDR: both ends agreed
)";

constexpr const char* kCase3Flow = R"(
     2.000 ms  Node 0             SDR up
     2.000 ms  Node 0             requesting
     2.000 ms  Node 0 -->         Capabilities Advertisement: 5G, 3 iterations of 750 ms
     2.000 ms             Node 1  SDR up
     2.000 ms             Node 1  requesting
     2.000 ms         <-- Node 1  Capabilities Advertisement: 5G, 5 iterations of 500 ms
     2.010 ms             Node 1  requested, not acknowledged
     2.010 ms         <-- Node 1  Capabilities Advertisement + ACK: 5G, 5 iterations of 500 ms
     2.010 ms  Node 0             requested, not acknowledged
     2.010 ms  Node 0 -->         Capabilities Advertisement + ACK: 5G, 3 iterations of 750 ms
     2.020 ms  Node 0             acknowledging
     2.020 ms             Node 1  acknowledging
     3.020 ms  Node 0             sweeping
     3.020 ms             Node 1  sweeping
  3753.020 ms  Node 0             returning to SDR
  3753.020 ms             Node 1  returning to SDR
  3755.020 ms  Node 0             result requesting
  3755.020 ms  Node 0 -->         Result Advertisement: 5G, chosen iteration 4
  3755.020 ms             Node 1  result requesting
  3755.020 ms         <-- Node 1  Result Advertisement: not 5G
  3755.030 ms             Node 1  result requested, not acknowledged
  3755.030 ms         <-- Node 1  Result Advertisement + ACK: not 5G
  3755.030 ms  Node 0             result requested, not acknowledged
  3755.030 ms  Node 0 -->         Result Advertisement + ACK: 5G, chosen iteration 4
  3755.040 ms  Node 0             result acknowledging
  3755.040 ms             Node 1  result acknowledging
  3756.040 ms  Node 0             ended at SDR: no settings found by the peer
  3756.040 ms             Node 1  ended at SDR: no settings found here
)";

bool is_capability_ack(const Advertisement& a) {
  return a.acknowledge && !a.serdes_configured;
}
bool is_result_ack(const Advertisement& a) {
  return a.acknowledge && a.serdes_configured;
}

TEST(Flow, of_a_success_where_all_arrives_is_case_1) {
  World world(switch_and_adapter());
  world.start_both();
  EXPECT_TRUE(world.run_for(60s));
  EXPECT_EQ("\n" + flow_text(world.flow(), Time{}), kCase1Flow);
  EXPECT_EQ("\n" + flow_outline(world.flow()), test::kCase1Outline);
}

TEST(Flow, of_a_success_without_two_acknowledgements_is_case_2) {
  World world(switch_and_adapter());
  world.drop_from(0, is_capability_ack);
  world.drop_from(1, is_result_ack);
  world.start_both();
  EXPECT_TRUE(world.run_for(60s));
  EXPECT_EQ("\n" + flow_text(world.flow(), Time{}), kCase2Flow);
  EXPECT_EQ("\n" + flow_outline(world.flow()), test::kCase2Outline);
}

TEST(Flow, of_a_failure_is_case_3) {
  WorldOptions options = switch_and_adapter();
  options.channel = [](unsigned receiver, unsigned transmit, unsigned receive, unsigned lane) {
    return receiver == 0 ? test::clean_channel(receiver, transmit, receive, lane)
                         : test::broken_channel(receiver, transmit, receive, lane);
  };
  World world(options);
  world.start_both();
  EXPECT_TRUE(world.run_for(60s));
  EXPECT_EQ("\n" + flow_text(world.flow(), Time{}), kCase3Flow);
  EXPECT_EQ("\n" + flow_outline(world.flow()), test::kCase3Outline);
}

TEST(Flow, outlines_what_was_lost_and_sent_again_once_in_each_stage) {
  const Advertisement request{.ddr = true, .iterations = 1};
  const auto message = [&](unsigned node, std::uint32_t arrived) {
    return FlowStep{.kind = FlowStep::Kind::kMessage,
                    .node = node,
                    .message = request,
                    .copies = 4,
                    .arrived = arrived};
  };
  const FlowStep sweeping{.node = 1, .state = NegotiationState::kSweeping};
  const std::array steps{message(0, 0), message(0, 0), message(0, 1), message(1, 4),
                         sweeping,      message(0, 4), message(0, 2)};
  EXPECT_EQ(flow_outline(steps),
            "Node 0 -> Node 1: Capabilities Advertisement (lost)\n"
            "Node 0 -> Node 1: Capabilities Advertisement\n"
            "Node 1 -> Node 0: Capabilities Advertisement\n"
            "Node 1: sweeping\n"
            "Node 0 -> Node 1: Capabilities Advertisement\n");
  EXPECT_EQ(
      flow_text(std::span(steps).subspan(2, 1), Time(-1ms)),
      "     1.000 ms  Node 0 -->         Capabilities Advertisement: 5G, 1 iterations of 0 ms "
      "(1 of 4 arrived)\n");
}

}  // namespace
}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/options.h"

#include <gtest/gtest.h>

#include <string>

#include "phy/negotiation/port_speeds.h"

namespace weft::phy {
namespace {

std::string complaint(void (*change)(NegotiationOptions&)) {
  NegotiationOptions options;
  change(options);
  const Expected<void> checked = options.check();
  return checked ? "" : checked.error().message;
}

TEST(NegotiationOptions, are_by_default_those_of_clause_2_2) {
  const NegotiationOptions options;
  EXPECT_TRUE(options.check());
  EXPECT_EQ(options.burst_len, 4U);
  EXPECT_EQ(options.max_retry, 4U);
  EXPECT_EQ(options.xmit_time_out, 1ms);
  EXPECT_EQ(options.ddr_time_out, 400ms);
}

TEST(NegotiationOptions, say_what_is_wrong_and_what_would_be_right) {
  using O = NegotiationOptions;
  EXPECT_EQ(complaint([](O& o) { o.burst_len = 0; }), "burst_len 0: it is from 1 to 64");
  EXPECT_EQ(complaint([](O& o) { o.burst_len = 65; }), "burst_len 65: it is from 1 to 64");
  EXPECT_EQ(complaint([](O& o) { o.max_retry = 0; }), "max_retry 0: it is from 1 to 64");
  EXPECT_EQ(complaint([](O& o) { o.max_attempts = 0; }), "max_attempts 0: it is from 1 to 100");
  EXPECT_EQ(complaint([](O& o) { o.transmit_configurations = 0; }),
            "transmit_configurations 0: it is from 1 to 9");
  EXPECT_EQ(complaint([](O& o) { o.transmit_configurations = 10; }),
            "transmit_configurations 10: it is from 1 to 9");
  EXPECT_EQ(complaint([](O& o) { o.receive_configurations = 0; }),
            "receive_configurations 0: it is from 1 to 64");
  EXPECT_EQ(complaint([](O& o) { o.default_iteration = 9; }),
            "default_iteration 9: it is from 0 to 8");
  EXPECT_EQ(complaint([](O& o) { o.default_receive = 5; }), "default_receive 5: it is from 0 to 4");
  EXPECT_EQ(complaint([](O& o) { o.first_id = 0; }), "first_id 0: it is from 1 to 4294967295");
  EXPECT_EQ(complaint([](O& o) { o.lanes = 2; }), "lanes 2: it is 1, 4, 8 or 12");
  EXPECT_EQ(complaint([](O& o) { o.xmit_time_out = 0ms; }),
            "xmit_time_out 0 us: it is from 1 us to 60 s");
  EXPECT_EQ(complaint([](O& o) { o.delta = -1ms; }), "delta -1000 us: it is from 1 us to 60 s");
  EXPECT_EQ(complaint([](O& o) { o.longest_iteration = 549ms; }),
            "longest_iteration 549000 us: it is from 550000 us to 60 s");
}

TEST(NegotiationOptions, leave_time_for_what_one_end_is_ahead_of_the_other) {
  using O = NegotiationOptions;
  EXPECT_EQ(complaint([](O& o) { o.soak = 8ms; }), "soak 8000 us: it is from 9000 us to 60 s");
  EXPECT_EQ(complaint([](O& o) { o.soak = 9ms; }), "");
  EXPECT_EQ(complaint([](O& o) { o.ddr_time_out = 9ms; }),
            "ddr_time_out 9000 us: it is from 9001 us to 60 s");
  EXPECT_EQ(complaint([](O& o) { o.return_time_out = 9ms; }),
            "return_time_out 9000 us: it is from 9001 us to 60 s");
  EXPECT_EQ(complaint([](O& o) { o.xmit_time_out = 20ms; }),
            "soak 150000 us: it is from 180000 us to 60 s");
}

TEST(NegotiationOptions, tell_a_duration_in_milliseconds_that_are_enough) {
  NegotiationOptions options;
  EXPECT_EQ(options.iteration_duration(), 550ms);
  EXPECT_EQ(options.iteration_ms(), 550U);
  options.delta += 1ns;
  EXPECT_EQ(options.iteration_ms(), 551U);
}

TEST(PortSpeeds, of_a_port_that_negotiates_are_those_of_table_3) {
  EXPECT_EQ(port_speeds(SpeedMode::kAuto, LinkSpeed::kSdr), (PortSpeeds{3, 3, 1}));
  EXPECT_EQ(port_speeds(SpeedMode::kAuto, LinkSpeed::kDdr), (PortSpeeds{3, 3, 2}));
}

TEST(PortSpeeds, of_a_port_of_one_speed_have_that_one_enabled) {
  EXPECT_EQ(port_speeds(SpeedMode::kSdrOnly, LinkSpeed::kSdr), (PortSpeeds{1, 1, 1}));
  EXPECT_EQ(port_speeds(SpeedMode::kDdrOnly, LinkSpeed::kDdr), (PortSpeeds{3, 2, 2}));
}

}  // namespace
}  // namespace weft::phy

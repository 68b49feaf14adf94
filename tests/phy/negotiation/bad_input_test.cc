// SPDX-License-Identifier: Apache-2.0
// What a port makes of messages that nobody who plays by the rules sends: each is counted under its
// reason, and changes nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lone_port.h"
#include "wire/endian.h"
#include "world.h"

namespace weft::phy {
namespace {

using test::acknowledged;
using test::capabilities;
using test::LonePort;
using test::result;
using test::World;
using test::WorldOptions;
using Receipt = DdrNegotiation::Receipt;
using Counter = NegotiationCounter;
using State = NegotiationState;

constexpr std::size_t kDataAt = 64;

struct Bad {
  const char* what;
  std::size_t offset;
  std::uint32_t value;
  Counter counter;
  Receipt receipt;
};

const Bad kBad[] = {
    {"no iterations", kDataAt + 12, 0, Counter::kRxNoIterations, Receipt::kDropped},
    {"ten iterations", kDataAt + 12, 10, Counter::kRxTooManyIterations, Receipt::kDropped},
    {"bandwidth", kDataAt + 4, 2500, Counter::kRxBandwidth, Receipt::kDropped},
    {"a choice above 8", kDataAt, 0x4000'0001, Counter::kRxChoice, Receipt::kDropped},
    {"iterations of an hour", kDataAt + 8, 3'600'000, Counter::kRxTooLong, Receipt::kDropped},
    {"iterations of 49 days", kDataAt + 8, 0xFFFF'FFFF, Counter::kRxTooLong, Receipt::kDropped},
    {"another attribute", 16, 0x0011'0000, Counter::kRxOtherAttribute, Receipt::kNotOurs},
    {"another class", 0, 0x0101'0103, Counter::kRxOtherAttribute, Receipt::kNotOurs},
    {"another method", 0, 0x0181'0101, Counter::kRxMethod, Receipt::kDropped},
    {"a response", 0, 0x0181'0183, Counter::kRxMethod, Receipt::kDropped},
    {"another modifier", 20, 0, Counter::kRxModifier, Receipt::kDropped},
    {"another base version", 0, 0x0281'0103, Counter::kRxVersion, Receipt::kDropped},
    {"a LID", 32, 0x0001'0002, Counter::kRxRoute, Receipt::kDropped},
};

wire::MadBuffer spoilt(const Bad& bad) {
  Advertisement message = capabilities();
  if (bad.counter == Counter::kRxChoice) message.iterations = 9;
  wire::MadBuffer mad = make_advertisement_mad({message, 0x7'0000'0001});
  wire::store_be32(mad.data() + bad.offset, bad.value);
  return mad;
}

// The states of a port in a negotiation, each with a port that is there.
std::vector<State> bring_to_each_state(void (*in_each)(LonePort&)) {
  std::vector<State> seen;
  const auto visit = [&](LonePort& port) {
    seen.push_back(port.port.state());
    in_each(port);
  };
  NegotiationOptions options;
  options.transmit_configurations = 1;
  options.receive_configurations = 1;
  LonePort port(options);
  visit(port);
  port.link_up();
  visit(port);
  port.hear(capabilities());
  visit(port);
  port.hear(acknowledged(capabilities()));
  visit(port);
  port.wait(1ms);
  visit(port);
  while (port.port.state() == State::kSweeping)
    port.wait(1ms);
  visit(port);
  port.link_up();
  visit(port);
  port.hear(result(0));
  visit(port);
  port.hear(acknowledged(result(0)));
  visit(port);
  port.wait(1ms);
  visit(port);
  port.link_up(LinkSpeed::kDdr);
  visit(port);
  port.wait(400ms);
  port.port.link_down(port.now);
  visit(port);
  LonePort unanswered;
  unanswered.link_up();
  unanswered.wait(4ms);
  visit(unanswered);
  return seen;
}

TEST(BadInput, of_each_kind_is_counted_and_changes_nothing_in_any_state) {
  const std::vector<State> seen = bring_to_each_state([](LonePort& port) {
    for (const Bad& bad : kBad) {
      SCOPED_TRACE(bad.what);
      const NegotiationVariables before = port.port.variables();
      const std::uint64_t counted = port.count(bad.counter);
      const std::size_t sent = port.sent.size();
      EXPECT_EQ(port.port.receive(spoilt(bad), port.now), bad.receipt);
      EXPECT_EQ(port.count(bad.counter), counted + 1);
      EXPECT_EQ(port.port.variables(), before);
      EXPECT_EQ(port.sent.size(), sent);
    }
  });
  // All but the one that a port passes through at once.
  EXPECT_EQ(seen.size() + 1, static_cast<std::size_t>(State::kCount));
}

TEST(BadInput, of_another_size_is_counted) {
  LonePort port;
  const wire::MadBuffer mad = make_advertisement_mad({capabilities(), 1});
  EXPECT_EQ(port.port.receive(Bytes(mad).first(255), port.now), Receipt::kDropped);
  EXPECT_EQ(port.port.receive({}, port.now), Receipt::kDropped);
  EXPECT_EQ(port.count(Counter::kRxSize), 2U);
}

TEST(BadInput, of_reserved_bits_is_counted_and_the_rest_is_taken) {
  LonePort port;
  port.link_up();
  wire::MadBuffer mad = make_advertisement_mad({capabilities(), 0x7'0000'0001});
  wire::store_be32(mad.data() + kDataAt, 0x1FFF'FFFF);
  EXPECT_EQ(port.port.receive(mad, port.now), Receipt::kTaken);
  EXPECT_EQ(port.port.state(), State::kUnacknowledged);
  EXPECT_EQ(port.count(Counter::kRxReserved), 1U);
}

TEST(BadInput, of_a_negotiation_that_is_over_is_counted_as_stale) {
  LonePort port;
  port.link_up();
  const AdvertisementMad own = port.sent.front();
  port.hear(capabilities(), 7);
  port.port.start(port.now);
  port.link_up();
  const NegotiationVariables before = port.port.variables();
  EXPECT_EQ(port.hear(capabilities(), 7), Receipt::kDropped);
  EXPECT_EQ(port.hear(result(0), 7), Receipt::kDropped);
  const Advertisement ack = acknowledged(capabilities());
  EXPECT_EQ(port.hear_exactly({ack, own.transaction_id}), Receipt::kDropped);
  EXPECT_EQ(port.port.variables(), before);
  EXPECT_EQ(port.count(Counter::kRxStale), 3U);
}

TEST(BadInput, of_its_own_is_what_a_cable_brings_back_that_leads_nowhere_else) {
  LonePort port;
  port.link_up();
  while (port.port.negotiating()) {
    for (const AdvertisementMad& mad : std::vector(port.sent))
      port.hear_exactly(mad);
    port.wait(1ms);
  }
  EXPECT_EQ(port.port.result()->reason, NegotiationReason::kNoAnswer);
  EXPECT_GT(port.count(Counter::kRxOwn), 0U);
}

TEST(BadInput, of_a_result_of_another_negotiation_is_stale) {
  LonePort port({.no_sweep = true});
  port.link_up();
  port.hear(capabilities(), 7);
  port.hear(acknowledged(capabilities()));
  port.wait(1ms);
  ASSERT_EQ(port.port.state(), State::kResultRequesting);
  EXPECT_EQ(port.hear(result(0), 8), Receipt::kDropped);
  EXPECT_EQ(port.count(Counter::kRxStale), 1U);
  EXPECT_EQ(port.hear(result(0), 7), Receipt::kTaken);
}

TEST(BadInput, of_a_late_copy_of_a_request_does_not_begin_a_negotiation_anew) {
  LonePort port({.no_sweep = true});
  port.link_up();
  port.hear(capabilities(), 7);
  port.hear(acknowledged(capabilities()));
  port.wait(1ms);
  EXPECT_EQ(port.hear(capabilities(), 7), Receipt::kDropped);
  EXPECT_EQ(port.port.state(), State::kResultRequesting);
  EXPECT_EQ(port.count(Counter::kRxOutOfPhase), 1U);
}

TEST(BadInput, of_a_peer_that_does_not_number_its_negotiations_is_taken) {
  LonePort port;
  for (int time = 0; time < 2; ++time) {
    port.link_up();
    EXPECT_EQ(port.hear(capabilities(), 0), Receipt::kTaken);
    EXPECT_EQ(port.port.state(), State::kUnacknowledged);
    port.port.start(port.now);
  }
}

TEST(BadInput, of_requests_without_end_is_answered_no_more_than_once_in_half_a_time_out) {
  LonePort port({.mode = SpeedMode::kSdrOnly});
  port.link_up();
  for (int i = 0; i < 1000; ++i) {
    port.hear(capabilities(), static_cast<std::uint32_t>(2 + i));
    port.wait(10us);
  }
  EXPECT_LE(port.said().size(), 20U);
}

TEST(BadInput, of_a_peer_that_begins_anew_without_end_ends_after_max_attempts) {
  LonePort port;
  port.link_up();
  for (std::uint32_t id = 2; id < 1000 && port.port.state() != State::kSweeping; ++id) {
    port.hear(capabilities(), id);
    port.wait(900us);
  }
  EXPECT_EQ(port.port.state(), State::kSweeping);
  EXPECT_LT(port.now - Time(1s), 20ms);
}

// All that both ends said in a negotiation that succeeded, said again at any time of the next one.
TEST(BadInput, replayed_from_an_earlier_negotiation_changes_no_outcome) {
  WorldOptions options;
  for (NegotiationOptions& node : options.nodes) {
    node.transmit_configurations = 1;
    node.receive_configurations = 1;
  }
  for (int when = 0; when < 40; ++when) {
    World world(options);
    world.keep_sent(true);
    world.start_both();
    ASSERT_TRUE(world.run_for(60s));
    ASSERT_EQ(world.node(0).state(), State::kDdr);
    const std::vector<wire::MadBuffer> old[2] = {world.sent(0), world.sent(1)};
    world.pull();
    world.run_for(1s);
    world.plug();
    // From where both have begun through the exchange and into the sweep.
    while (world.node(0).state() == State::kFallingBack ||
           world.node(1).state() == State::kFallingBack) {
      world.step();
    }
    for (int i = 0; i < when && world.next(); ++i)
      world.step();
    for (unsigned n = 0; n < 2; ++n)
      for (const wire::MadBuffer& mad : old[n])
        world.inject(1 - n, mad);
    ASSERT_TRUE(world.run_for(60s));
    EXPECT_TRUE(world.settled());
    for (unsigned n = 0; n < 2; ++n) {
      EXPECT_EQ(world.node(n).state(), State::kDdr) << when;
      const NegotiationCounters& counters = world.node(n).counters();
      EXPECT_EQ(counters.get(Counter::kRxStale), old[1 - n].size()) << when;
    }
  }
}

}  // namespace
}  // namespace weft::phy

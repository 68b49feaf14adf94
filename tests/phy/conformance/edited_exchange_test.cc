// SPDX-License-Identifier: Apache-2.0
// What was recorded of two ports that keep to the specification, changed so that one no longer
// does.
#include <gtest/gtest.h>

#include <functional>

#include "findings.h"
#include "phy/conformance/replay.h"

namespace weft::phy::conformance {
namespace {

using test::failed;
using test::Ids;
using Kind = Observation::Kind;

constexpr std::uint32_t kSerDesConf = 1U << 30;

// Of a flow diagram, each observation changed, or left out.
Exchange edited(unsigned diagram, const std::function<bool(Observation&)>& keep) {
  Exchange out = replay(diagram);
  std::erase_if(out.observations, [&](Observation& seen) { return !keep(seen); });
  return out;
}

bool fails(const Exchange& exchange, unsigned node, const char* id) {
  return failed(judge(exchange, node, {})).count(id) == 1;
}

bool is_message(const Observation& seen, unsigned node, Speech speech) {
  return seen.kind == Kind::kMessage && seen.node == node && seen.mad.speech() == speech;
}

TEST(EditedExchange, fails_where_a_link_comes_up_at_ddr_first) {
  EXPECT_TRUE(fails(edited(1,
                           [](Observation& seen) {
                             if (seen.kind == Kind::kLinkUp) seen.speed = LinkSpeed::kDdr;
                             return true;
                           }),
                    1, "starts-at-sdr"));
}

TEST(EditedExchange, fails_where_an_answer_was_not_asked_for) {
  const Exchange exchange = edited(1, [](Observation& seen) {
    if (is_message(seen, 0, Speech::kCapabilities)) seen.arrived.reset();
    return true;
  });
  EXPECT_EQ(failed(judge(exchange, 1, {})), Ids{"answers-only"});
  EXPECT_EQ(failed(judge(exchange, 0, {})), Ids{});
}

TEST(EditedExchange, fails_where_a_node_goes_on_that_nobody_answered) {
  EXPECT_TRUE(fails(edited(1,
                           [](Observation& seen) {
                             if (seen.kind == Kind::kMessage && seen.node == 0) {
                               seen.arrived.reset();
                             }
                             return true;
                           }),
                    1, "unanswered"));
}

TEST(EditedExchange, fails_where_a_node_goes_to_ddr_with_a_peer_that_found_nothing) {
  EXPECT_TRUE(fails(edited(1,
                           [](Observation& seen) {
                             if (seen.node == 0 && seen.mad.serdes_configured()) {
                               seen.mad.flags &= ~1U;
                             }
                             return true;
                           }),
                    1, "stays-at-sdr"));
}

TEST(EditedExchange, fails_where_a_node_waits_for_an_acknowledgement_for_ever) {
  const auto until_line = [](unsigned node, LineUse use) {
    return [=, gone = false](Observation& seen) mutable {
      if (seen.node != node) return true;
      gone = gone || (seen.kind == Kind::kLine && seen.speed == LinkSpeed::kDdr && seen.use == use);
      return !gone;
    };
  };
  EXPECT_TRUE(fails(edited(2, until_line(1, LineUse::kIdle)), 1, "sweeps-unacknowledged"));
  EXPECT_TRUE(fails(edited(2, until_line(0, LineUse::kTrain)), 0, "ddr-unacknowledged"));
}

TEST(EditedExchange, fails_where_another_attribute_is_answered) {
  Exchange exchange = replay(1);
  for (std::size_t i = 0; i < exchange.observations.size(); ++i) {
    Observation other = exchange.observations[i];
    if (!is_message(other, 0, Speech::kCapabilities)) continue;
    other.mad.head->header.attribute_id = 0x0011;
    exchange.observations.insert(exchange.observations.begin() + static_cast<std::ptrdiff_t>(i),
                                 other);
    break;
  }
  EXPECT_EQ(failed(judge(exchange, 1, {})), Ids{"other-attributes"});
}

TEST(EditedExchange, fails_where_an_iteration_tries_less) {
  unsigned iteration = 0;
  EXPECT_TRUE(fails(edited(1,
                           [&](Observation& seen) {
                             if (seen.node != 0) return true;
                             if (seen.kind == Kind::kTransmit) ++iteration;
                             return seen.kind != Kind::kMeasured || iteration != 2;
                           }),
                    0, "sweep-receives"));
}

TEST(EditedExchange, fails_where_a_result_does_not_say_that_it_is_one) {
  EXPECT_TRUE(fails(edited(1,
                           [](Observation& seen) {
                             if (is_message(seen, 1, Speech::kResultAck)) {
                               seen.mad.flags &= ~kSerDesConf;
                             }
                             return true;
                           }),
                    1, "serdes-configured"));
}

TEST(EditedExchange, fails_where_acknowledgements_are_sent_too_often) {
  Exchange exchange = replay(2);
  for (std::size_t i = 0; i < exchange.observations.size(); ++i) {
    Observation again = exchange.observations[i];
    if (!is_message(again, 0, Speech::kCapabilitiesAck)) continue;
    again.mad.head->header.transaction_id ^= 0x4000;
    exchange.observations.insert(exchange.observations.begin() + static_cast<std::ptrdiff_t>(i), 4,
                                 again);
    break;
  }
  EXPECT_EQ(failed(judge(exchange, 0, {})), Ids{"ack-retries"});
}

TEST(EditedExchange, fails_where_a_message_is_on_another_lane_or_queue_pair) {
  const auto with = [](SeenMad::Envelope envelope) {
    return edited(1, [=](Observation& seen) {
      if (seen.kind == Kind::kMessage) seen.mad.envelope = envelope;
      return true;
    });
  };
  const Lid any{0xFFFF};
  EXPECT_EQ(failed(judge(with({Vl{15}, any, any, kQp0, kQp0}), 0, {})), Ids{});
  EXPECT_EQ(failed(judge(with({Vl{0}, any, any, kQp0, kQp0}), 0, {})), Ids{"lane"});
  EXPECT_EQ(failed(judge(with({Vl{15}, any, any, kQp1, kQp0}), 0, {})), Ids{"queue-pair"});
  EXPECT_EQ(failed(judge(with({Vl{15}, any, any, kQp0, kQp1}), 0, {})), Ids{"queue-pair"});
}

}  // namespace
}  // namespace weft::phy::conformance

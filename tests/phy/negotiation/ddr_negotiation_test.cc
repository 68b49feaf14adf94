// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/ddr_negotiation.h"

#include <gtest/gtest.h>

#include <vector>

#include "lone_port.h"

namespace weft::phy {
namespace {

using test::acknowledged;
using test::capabilities;
using test::LonePort;
using test::result;
using State = NegotiationState;
using Reason = NegotiationReason;

NegotiationOptions quick_sweep() {
  NegotiationOptions options;
  options.transmit_configurations = 2;
  options.receive_configurations = 3;
  return options;
}

TEST(DdrNegotiation, requests_max_retry_bursts_xmit_time_out_apart_and_ends_at_sdr) {
  LonePort port;
  port.link_up();
  EXPECT_EQ(port.sent.size(), 4U);
  EXPECT_EQ(port.port.variables().retry_cnt_0, 1U);
  port.wait(999us);
  EXPECT_EQ(port.sent.size(), 4U);
  port.wait(1us);
  EXPECT_EQ(port.sent.size(), 8U);
  port.wait(2ms);
  EXPECT_EQ(port.sent.size(), 16U);
  EXPECT_TRUE(port.port.negotiating());
  port.wait(1ms);
  EXPECT_EQ(port.sent.size(), 16U);
  EXPECT_EQ(port.port.state(), State::kEndedSdr);
  EXPECT_FALSE(port.port.negotiating());
  EXPECT_EQ(port.port.result()->reason, Reason::kNoAnswer);
  EXPECT_EQ(port.port.result()->speed, LinkSpeed::kSdr);
  EXPECT_EQ(port.count(NegotiationCounter::kTxRequests), 16U);
}

TEST(DdrNegotiation, takes_its_numbers_from_the_options) {
  NegotiationOptions options;
  options.burst_len = 2;
  options.max_retry = 3;
  options.xmit_time_out = 5ms;
  LonePort port(options);
  port.link_up();
  port.wait(14ms);
  EXPECT_EQ(port.sent.size(), 6U);
  EXPECT_TRUE(port.port.negotiating());
  port.wait(1ms);
  EXPECT_FALSE(port.port.negotiating());
}

TEST(DdrNegotiation, says_what_it_can_do) {
  LonePort port;
  port.link_up();
  EXPECT_EQ(port.said(),
            std::vector<Advertisement>({{.ddr = true, .iteration_ms = 550, .iterations = 9}}));
}

TEST(DdrNegotiation, numbers_its_transmissions_and_copies_the_number_of_what_it_answers) {
  LonePort port;
  port.link_up();
  EXPECT_EQ(port.sent.back().transaction_id, 0x100'0000'0001U);
  port.wait(1ms);
  EXPECT_EQ(port.sent.back().transaction_id, 0x100'0000'0002U);
  port.hear_exactly({capabilities(), 0x77'0000'0005});
  EXPECT_EQ(port.sent.back().transaction_id, 0x77'0000'0005U);
  EXPECT_TRUE(port.sent.back().advertisement.acknowledge);
}

TEST(DdrNegotiation, answers_a_burst_with_one_burst) {
  LonePort port;
  port.link_up();
  port.said();
  for (int copy = 0; copy < 4; ++copy)
    EXPECT_EQ(port.hear(capabilities()), DdrNegotiation::Receipt::kTaken);
  EXPECT_EQ(port.said().size(), 1U);
  EXPECT_EQ(port.count(NegotiationCounter::kTxAcknowledgements), 4U);
  EXPECT_EQ(port.count(NegotiationCounter::kRxTaken), 1U);
  EXPECT_EQ(port.count(NegotiationCounter::kRxRepeated), 3U);
}

TEST(DdrNegotiation, answers_a_request_that_comes_again_max_retry_times_in_all) {
  LonePort port;
  port.link_up();
  port.hear(acknowledged(capabilities()));
  port.said();
  for (int burst = 0; burst < 6; ++burst) {
    port.hear(capabilities());
    port.wait(900us);
  }
  EXPECT_EQ(port.said(),
            std::vector<Advertisement>(
                4, {.acknowledge = true, .ddr = true, .iteration_ms = 550, .iterations = 9}));
  EXPECT_EQ(port.port.variables().retry_cnt_ack, 4U);
  // The last two did not make it wait any longer.
  EXPECT_EQ(port.port.state(), State::kSweeping);
}

TEST(DdrNegotiation, that_was_answered_waits_for_a_request_before_it_sweeps) {
  LonePort port;
  port.link_up();
  port.hear(acknowledged(capabilities()));
  EXPECT_EQ(port.port.state(), State::kAcknowledging);
  port.wait(999us);
  EXPECT_EQ(port.port.state(), State::kAcknowledging);
  port.wait(1us);
  EXPECT_EQ(port.port.state(), State::kSweeping);
  EXPECT_EQ(port.speed, LinkSpeed::kDdr);
  EXPECT_EQ(port.use, LineUse::kIdle);
}

TEST(DdrNegotiation, that_was_asked_sweeps_though_it_is_never_answered) {
  LonePort port;
  port.link_up();
  port.hear(capabilities());
  EXPECT_EQ(port.port.state(), State::kUnacknowledged);
  port.wait(3999us);
  EXPECT_EQ(port.port.variables().retry_cnt_0, 4U);
  port.wait(1us);
  EXPECT_EQ(port.port.state(), State::kSweeping);
}

TEST(DdrNegotiation, follows_a_peer_that_has_gone_ahead_to_the_sweep) {
  for (const bool answered : {false, true}) {
    LonePort port;
    port.link_up();
    port.hear(answered ? acknowledged(capabilities()) : capabilities());
    port.port.link_down(port.now);
    EXPECT_EQ(port.port.state(), State::kSweeping);
  }
}

TEST(DdrNegotiation, begins_anew_when_the_link_is_lost_before_anything_was_heard) {
  LonePort port;
  port.link_up();
  port.port.link_down(port.now);
  EXPECT_EQ(port.port.state(), State::kDown);
  EXPECT_FALSE(port.port.deadline());
  port.said();
  port.link_up();
  EXPECT_EQ(port.said().size(), 1U);
  EXPECT_EQ(port.port.variables().own_id, LonePort::kId + 1);
}

TEST(DdrNegotiation, agrees_with_the_peer_on_the_larger_of_all_parameters) {
  NegotiationOptions options;
  options.transmit_configurations = 3;
  options.receive_configurations = 9;
  LonePort port(options);
  port.sweep_in_vain(capabilities());
  EXPECT_EQ(port.port.sweep().plan().iterations, 5U);
  EXPECT_EQ(port.port.sweep().plan().iteration, 750ms);
}

TEST(DdrNegotiation, goes_down_when_the_link_does_not_come_back_after_the_sweep) {
  LonePort port(quick_sweep());
  port.sweep_in_vain(capabilities());
  EXPECT_EQ(port.port.state(), State::kDown);
  EXPECT_TRUE(port.port.negotiating());
}

// With a peer that takes part, to where the link is back at SDR.
void exchange_capabilities(LonePort& port, const Advertisement& peer = capabilities()) {
  port.link_up();
  port.hear(peer);
  port.hear(acknowledged(peer));
  port.wait(1ms);
  while (port.port.state() == State::kSweeping)
    port.wait(1ms);
  if (port.port.state() == State::kReturning) port.link_up();
}

TEST(DdrNegotiation, goes_to_ddr_with_what_both_ends_chose) {
  LonePort port(quick_sweep());
  exchange_capabilities(port);
  EXPECT_EQ(port.port.state(), State::kResultRequesting);
  EXPECT_EQ(port.sent.back().advertisement,
            (Advertisement{.serdes_configured = true, .ddr = true, .iteration_ms = 450}));
  port.said();
  port.hear(result(3));
  EXPECT_EQ(
      port.said(),
      std::vector<Advertisement>(
          {{.acknowledge = true, .serdes_configured = true, .ddr = true, .iteration_ms = 450}}));
  port.hear(acknowledged(result(3)));
  EXPECT_EQ(port.port.state(), State::kResultAcknowledging);
  port.wait(1ms);
  EXPECT_EQ(port.port.state(), State::kGoingDdr);
  EXPECT_EQ(port.speed, LinkSpeed::kDdr);
  EXPECT_EQ(port.use, LineUse::kTrain);
  EXPECT_EQ(port.transmit, 1U);  // iteration 3 of two configurations
  EXPECT_TRUE(port.port.negotiating());
  port.link_up(LinkSpeed::kDdr);
  EXPECT_FALSE(port.port.negotiating());
  const auto ended = port.port.result();
  EXPECT_EQ(ended->speed, LinkSpeed::kDdr);
  EXPECT_EQ(ended->reason, Reason::kAgreed);
  EXPECT_EQ(ended->transmit, 1U);
  EXPECT_EQ(ended->receive->receive, std::vector<std::uint32_t>(4, 0U));
}

TEST(DdrNegotiation, stays_at_sdr_when_either_end_found_no_settings) {
  for (const bool here : {false, true}) {
    LonePort port(quick_sweep());
    if (here) port.quality = {true, 1, 1.0};
    exchange_capabilities(port);
    port.said();
    Advertisement peer = result(0);
    peer.ddr = here;
    port.hear(peer);
    EXPECT_EQ(port.said().front().ddr, !here);
    port.hear(acknowledged(peer));
    port.wait(1ms);
    EXPECT_EQ(port.port.result()->reason, here ? Reason::kNoneFoundHere : Reason::kNoneFoundThere);
    EXPECT_EQ(port.speed, LinkSpeed::kSdr);
    EXPECT_FALSE(port.port.result()->transmit);
  }
}

TEST(DdrNegotiation, stays_at_sdr_when_no_result_is_heard) {
  LonePort port(quick_sweep());
  exchange_capabilities(port);
  port.wait(4ms);
  EXPECT_EQ(port.port.result()->reason, Reason::kNoAnswer);
}

TEST(DdrNegotiation, goes_to_ddr_with_a_result_that_only_an_acknowledgement_told) {
  LonePort port(quick_sweep());
  exchange_capabilities(port);
  port.hear(acknowledged(result(0)));
  port.wait(1ms);
  EXPECT_EQ(port.port.state(), State::kGoingDdr);
}

TEST(DdrNegotiation, follows_a_peer_that_has_gone_ahead_to_ddr) {
  LonePort port(quick_sweep());
  exchange_capabilities(port);
  port.hear(result(0));
  port.port.link_down(port.now);
  EXPECT_EQ(port.port.state(), State::kGoingDdr);
}

TEST(DdrNegotiation, falls_back_when_the_link_does_not_come_up_at_ddr_and_stays_there) {
  LonePort port(quick_sweep());
  exchange_capabilities(port);
  port.hear(result(0));
  port.hear(acknowledged(result(0)));
  port.wait(1ms);
  port.port.link_down(port.now);  // of SDR, which it has left itself
  port.wait(400ms - 1us);
  EXPECT_EQ(port.port.state(), State::kGoingDdr);
  port.wait(1us);
  EXPECT_EQ(port.port.state(), State::kFallingBack);
  EXPECT_EQ(port.speed, LinkSpeed::kSdr);
  EXPECT_EQ(port.count(NegotiationCounter::kFellBack), 1U);
  port.link_up(LinkSpeed::kDdr);  // what was on its way
  EXPECT_EQ(port.port.state(), State::kFallingBack);
  port.link_up();
  EXPECT_EQ(port.port.result()->reason, Reason::kDdrTimeOut);
  port.said();
  port.hear(capabilities());
  EXPECT_EQ(port.said(), std::vector<Advertisement>({{.acknowledge = true}}));
  EXPECT_EQ(port.port.state(), State::kEndedSdr);
}

TEST(DdrNegotiation, that_fell_back_joins_a_peer_that_begins_anew) {
  LonePort port(quick_sweep());
  exchange_capabilities(port);
  port.hear(acknowledged(result(0)));
  port.wait(401ms);
  port.link_up();
  ASSERT_EQ(port.port.result()->reason, Reason::kDdrTimeOut);
  ASSERT_TRUE(port.port.variables().peer_result);
  port.hear(capabilities(), 8);
  EXPECT_EQ(port.port.state(), State::kUnacknowledged);
  EXPECT_FALSE(port.port.variables().peer_result) << "what it chose before is no matter";
}

TEST(DdrNegotiation, falls_back_and_begins_anew_when_the_link_is_lost_at_ddr) {
  LonePort port(quick_sweep());
  exchange_capabilities(port);
  port.hear(acknowledged(result(0)));
  port.wait(1ms);
  port.link_up(LinkSpeed::kDdr);
  port.wait(1s);
  EXPECT_EQ(port.port.variables().attempts, 0U);
  port.port.link_down(port.now);
  EXPECT_EQ(port.port.state(), State::kFallingBack);
  EXPECT_TRUE(port.port.negotiating());
  port.link_up();
  EXPECT_EQ(port.port.state(), State::kRequesting);
}

TEST(DdrNegotiation, ends_at_sdr_when_the_peer_says_that_it_cannot_do_more) {
  for (const bool as_answer : {false, true}) {
    LonePort port;
    port.link_up();
    port.said();
    port.hear({.acknowledge = as_answer});
    EXPECT_EQ(port.port.result()->reason, Reason::kPeerRefused);
    EXPECT_EQ(port.said().size(), as_answer ? 0U : 1U);  // a request is answered all the same
  }
}

TEST(DdrNegotiation, is_silent_and_refuses_when_the_port_is_sdr_only) {
  LonePort port({.mode = SpeedMode::kSdrOnly});
  port.link_up();
  EXPECT_EQ(port.port.result()->reason, Reason::kSdrOnly);
  EXPECT_TRUE(port.said().empty());
  port.hear(capabilities());
  EXPECT_EQ(port.said(), std::vector<Advertisement>({{.acknowledge = true}}));
}

TEST(DdrNegotiation, trains_at_ddr_without_a_word_when_the_port_is_ddr_only) {
  LonePort port({.mode = SpeedMode::kDdrOnly});
  EXPECT_EQ(port.speed, LinkSpeed::kDdr);
  EXPECT_EQ(port.use, LineUse::kTrain);
  port.link_up(LinkSpeed::kDdr);
  EXPECT_EQ(port.port.result()->reason, Reason::kDdrOnly);
  EXPECT_EQ(port.port.result()->speed, LinkSpeed::kDdr);
  port.wait(10s);
  port.port.link_down(port.now);
  EXPECT_EQ(port.port.state(), State::kDown);
  EXPECT_EQ(port.speed, LinkSpeed::kDdr);
  EXPECT_TRUE(port.said().empty());
}

TEST(DdrNegotiation, that_skips_the_sweep_says_so_in_every_message_and_enters_no_sweep) {
  NegotiationOptions options;
  options.no_sweep = true;
  options.default_iteration = 2;
  options.default_receive = 3;
  LonePort port(options);
  port.link_up();
  port.hear(capabilities());
  port.hear(acknowledged(capabilities()));
  port.wait(1ms);
  EXPECT_EQ(port.port.state(), State::kResultRequesting);
  port.hear(result(4));
  port.hear(acknowledged(result(4)));
  port.wait(1ms);
  EXPECT_EQ(port.port.state(), State::kGoingDdr);
  ASSERT_EQ(port.sent.size(), 16U);
  for (const AdvertisementMad& mad : port.sent) {
    EXPECT_TRUE(mad.advertisement.no_sweep && mad.advertisement.ddr);
    EXPECT_EQ(mad.advertisement.iterations, 2U);
  }
  EXPECT_EQ(port.count(NegotiationCounter::kSweeps), 0U);
  EXPECT_EQ(port.transmit, 4U);
  EXPECT_EQ(port.receive[3], 3U);
}

TEST(DdrNegotiation, skips_the_sweep_when_the_peer_asks_for_it_whatever_duration_it_says) {
  LonePort port;
  Advertisement peer{.no_sweep = true, .ddr = true, .iteration_ms = 0xFFFFFFFF, .iterations = 1};
  port.link_up();
  port.hear(peer);
  port.hear(acknowledged(peer));
  port.wait(1ms);
  EXPECT_EQ(port.port.state(), State::kResultRequesting);
  for (const AdvertisementMad& mad : port.sent)
    EXPECT_FALSE(mad.advertisement.no_sweep);  // it is of the side that asks
}

TEST(DdrNegotiation, follows_a_peer_that_is_at_its_result_already_when_there_is_no_sweep) {
  const Advertisement peer{.no_sweep = true, .ddr = true, .iterations = 1};
  Advertisement chosen = peer;
  chosen.serdes_configured = true;
  for (const bool answered : {false, true}) {
    LonePort port;
    port.link_up();
    port.hear(answered ? acknowledged(peer) : peer);
    port.said();
    port.hear(chosen);
    EXPECT_EQ(port.port.state(), State::kResultUnacknowledged);
    ASSERT_EQ(port.sent.size(), 8U);
    EXPECT_TRUE(port.said()[1].acknowledge);
  }
}

TEST(DdrNegotiation,
     knows_a_request_of_a_peer_that_has_not_noticed_its_answer_where_nothing_is_swept) {
  const Advertisement peer{.no_sweep = true, .ddr = true, .iterations = 1};
  LonePort port;
  port.link_up();
  port.hear(acknowledged(peer));
  port.wait(1ms);
  ASSERT_EQ(port.port.state(), State::kResultRequesting);
  port.hear(peer);
  EXPECT_EQ(port.port.state(), State::kResultRequesting);
  EXPECT_EQ(port.count(NegotiationCounter::kRejoined), 0U);
}

TEST(DdrNegotiation, believes_iterations_up_to_the_longest) {
  LonePort port;
  port.link_up();
  Advertisement peer = capabilities();
  peer.iteration_ms = 10'001;
  EXPECT_EQ(port.hear(peer), DdrNegotiation::Receipt::kDropped);
  peer.iteration_ms = 10'000;
  EXPECT_EQ(port.hear(peer), DdrNegotiation::Receipt::kTaken);
}

TEST(DdrNegotiation, leaves_out_the_number_that_stands_for_none) {
  LonePort port;
  NegotiationVariables variables = port.port.variables();
  variables.own_id = 0xFFFF'FFFF;
  port.port.restore(variables, port.port.sweep());
  port.link_up();
  EXPECT_EQ(port.port.state(), State::kRequesting);
  EXPECT_EQ(port.port.variables().own_id, 1U);
}

TEST(DdrNegotiation, does_not_take_a_result_before_a_sweep) {
  LonePort port;
  port.link_up();
  port.hear(capabilities());
  EXPECT_EQ(port.hear(result(1)), DdrNegotiation::Receipt::kDropped);
  EXPECT_EQ(port.port.state(), State::kUnacknowledged);
  EXPECT_EQ(port.count(NegotiationCounter::kRxOutOfPhase), 1U);
}

TEST(DdrNegotiation, joins_a_peer_that_is_late) {
  LonePort port;
  port.link_up();
  port.wait(10s);
  EXPECT_EQ(port.port.result()->reason, Reason::kNoAnswer);
  port.said();
  port.hear(capabilities());
  EXPECT_EQ(port.port.state(), State::kUnacknowledged);
  EXPECT_TRUE(port.port.negotiating());
  const auto bursts = port.said();
  ASSERT_EQ(bursts.size(), 2U);
  EXPECT_FALSE(bursts[0].acknowledge);
  EXPECT_TRUE(bursts[1].acknowledge);
  EXPECT_EQ(port.count(NegotiationCounter::kRejoined), 1U);
}

TEST(DdrNegotiation, gives_up_after_max_attempts_until_an_outcome_has_held) {
  LonePort port;
  for (int attempt = 0; attempt < 3; ++attempt) {
    port.link_up();
    EXPECT_EQ(port.port.state(), State::kRequesting);
    port.port.link_down(port.now);
  }
  port.said();
  port.link_up();
  EXPECT_EQ(port.port.result()->reason, Reason::kTooManyAttempts);
  EXPECT_TRUE(port.said().empty());
  EXPECT_EQ(port.count(NegotiationCounter::kAttemptsSpent), 1U);
  port.wait(400ms);
  port.port.link_down(port.now);
  port.link_up();
  EXPECT_EQ(port.port.state(), State::kRequesting);
}

TEST(DdrNegotiation, tells_its_timeline) {
  LonePort port;
  port.link_up();
  port.hear(capabilities());
  using Kind = TimelineEvent::Kind;
  std::vector<Kind> kinds;
  for (const TimelineEvent& event : port.events)
    kinds.push_back(event.kind);
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kState, Kind::kState, Kind::kSent, Kind::kTaken,
                                      Kind::kState, Kind::kSent}));
  EXPECT_EQ(port.events[1].state, State::kRequesting);
  EXPECT_EQ(port.events[3].state, State::kRequesting);
  EXPECT_EQ(port.events[3].event, NegotiationEvent::kRequest);
  EXPECT_EQ(port.events[4].before, State::kRequesting);
  EXPECT_EQ(port.events[5].copies, 4U);
}

}  // namespace
}  // namespace weft::phy

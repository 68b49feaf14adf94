// SPDX-License-Identifier: Apache-2.0
// What a port does when a row of its state table is taken. The state is the next one already.
#include <algorithm>

#include "phy/negotiation/ddr_negotiation.h"

namespace weft::phy {

void DdrNegotiation::act(NegotiationAction action, const AdvertisementMad* mad, Time now) {
  switch (action) {
    case NegotiationAction::kNothing:
      vars_.deadline.reset();
      return;
    case NegotiationAction::kBegin:
      begin();
      return send_request(now);
    case NegotiationAction::kSendRequest:
      return send_request(now);
    case NegotiationAction::kAnswer:
      learn(*mad);
      return answer(*mad, now);
    case NegotiationAction::kAnswerAndWait:
      learn(*mad);
      vars_.deadline = now + options_.xmit_time_out;
      return answer(*mad, now);
    case NegotiationAction::kLearn:
      learn(*mad);
      vars_.deadline = now + options_.xmit_time_out;
      return;
    case NegotiationAction::kRejoin:
      counters_.add(NegotiationCounter::kRejoined);
      begin();
      learn(*mad);
      send_request(now);
      return answer(*mad, now);
    case NegotiationAction::kRelearn:
      // With its number unchanged, or two ends that do this to each other would not stop.
      ++vars_.attempts;
      forget_peer();
      learn(*mad);
      send_request(now);
      return answer(*mad, now);
    case NegotiationAction::kHearRefusal:
      if (!mad->advertisement.acknowledge) answer(*mad, now);
      return hold(now);
    case NegotiationAction::kRefuse:
      hold(now);
      return refuse(*mad, now);
    case NegotiationAction::kStartSweep:
      return start_sweep(now);
    case NegotiationAction::kReturn:
      vars_.choice = sweep_.choice();
      set_line(LinkSpeed::kSdr, LineUse::kTrain);
      vars_.deadline = now + options_.return_time_out;
      return;
    case NegotiationAction::kBeginResult:
      return begin_result(now);
    case NegotiationAction::kBeginResultAndAnswer:
      begin_result(now);
      learn(*mad);
      return answer(*mad, now);
    case NegotiationAction::kGoDdr:
      return go_ddr(now);
    case NegotiationAction::kFallBack:
      set_line(LinkSpeed::kSdr, LineUse::kTrain);
      vars_.deadline.reset();
      return;
    case NegotiationAction::kHold:
      return hold(now);
    case NegotiationAction::kForget:
      vars_.attempts = 0;
      vars_.deadline.reset();
      return;
    case NegotiationAction::kCount:
      return;
  }
}

void DdrNegotiation::begin() {
  counters_.add(NegotiationCounter::kAttempts);
  ++vars_.attempts;
  ++vars_.own_id;
  if (vars_.own_id == 0) ++vars_.own_id;
  vars_.transmissions = 0;
  vars_.reason = NegotiationReason::kNone;
  vars_.choice.reset();
  forget_peer();
}

void DdrNegotiation::forget_peer() {
  if (vars_.peer_id.value_or(0) != 0) {
    auto& past = vars_.past_peer_ids;
    std::rotate(past.begin(), past.end() - 1, past.end());
    past.front() = *vars_.peer_id;
  }
  vars_.peer_id.reset();
  vars_.peer.reset();
  vars_.peer_result.reset();
  vars_.retry_cnt_0 = 0;
  vars_.retry_cnt_ack = 0;
}

void DdrNegotiation::learn(const AdvertisementMad& mad) {
  if (!mad.advertisement.acknowledge) {
    vars_.peer_id = static_cast<std::uint32_t>(mad.transaction_id >> 32);
  }
  (mad.advertisement.serdes_configured ? vars_.peer_result : vars_.peer) = mad.advertisement;
}

Advertisement DdrNegotiation::own_message() const {
  Advertisement message{.no_sweep = options_.no_sweep,
                        .ddr = true,
                        .iteration_ms = options_.iteration_ms(),
                        .iterations = options_.no_sweep ? options_.default_iteration
                                                        : options_.transmit_configurations};
  if (in_result_phase()) {
    message.serdes_configured = true;
    message.ddr = vars_.choice.has_value();
    message.iterations = vars_.choice ? vars_.choice->iteration : 0;
  }
  return message;
}

void DdrNegotiation::send_request(Time now) {
  ++vars_.retry_cnt_0;
  ++vars_.transmissions;
  vars_.deadline = now + options_.xmit_time_out;
  counters_.add(NegotiationCounter::kTxRequests, options_.burst_len);
  send({own_message(), std::uint64_t{vars_.own_id} << 32 | vars_.transmissions}, now);
}

void DdrNegotiation::answer(const AdvertisementMad& mad, Time now) {
  Advertisement message = own_message();
  message.acknowledge = true;
  send_answer({message, mad.transaction_id}, now);
}

void DdrNegotiation::refuse(const AdvertisementMad& mad, Time now) {
  send_answer({{.acknowledge = true, .no_sweep = options_.no_sweep}, mad.transaction_id}, now);
}

void DdrNegotiation::send_answer(const AdvertisementMad& mad, Time now) {
  ++vars_.retry_cnt_ack;
  // The other copies of a burst come at once, and the next burst after XmitTimeOut.
  vars_.hold_off = now + options_.xmit_time_out / 2;
  counters_.add(NegotiationCounter::kTxAcknowledgements, options_.burst_len);
  send(mad, now);
}

void DdrNegotiation::send(const AdvertisementMad& mad, Time now) {
  output_.record({.kind = TimelineEvent::Kind::kSent,
                  .time = now,
                  .state = vars_.state,
                  .before = vars_.state,
                  .message = mad.advertisement,
                  .copies = options_.burst_len});
  const wire::MadBuffer bytes = make_advertisement_mad(mad);
  for (std::uint32_t copy = 0; copy < options_.burst_len; ++copy)
    output_.send(bytes, now);
}

void DdrNegotiation::begin_result(Time now) {
  vars_.retry_cnt_0 = 0;
  vars_.retry_cnt_ack = 0;
  vars_.hold_off = now;
  if (skips_sweep()) set_default_choice();
  send_request(now);
}

void DdrNegotiation::set_default_choice() {
  vars_.choice = SweepChoice{.iteration = options_.default_iteration};
  vars_.choice->receive.assign(options_.lanes, options_.default_receive);
}

void DdrNegotiation::start_sweep(Time now) {
  counters_.add(NegotiationCounter::kSweeps);
  vars_.deadline.reset();
  set_line(LinkSpeed::kDdr, LineUse::kIdle);
  sweep_.start(agree_sweep(options_, vars_.peer->iterations, vars_.peer->iteration_ms), now,
               serdes_);
}

void DdrNegotiation::go_ddr(Time now) {
  serdes_.set_transmit(vars_.peer_result->iterations % options_.transmit_configurations);
  for (std::uint32_t lane = 0; lane < options_.lanes; ++lane)
    serdes_.set_receive(lane, vars_.choice->receive[lane]);
  set_line(LinkSpeed::kDdr, LineUse::kTrain);
  vars_.deadline = now + options_.ddr_time_out;
}

void DdrNegotiation::hold(Time now) {
  vars_.deadline = now + options_.ddr_time_out;
}

void DdrNegotiation::set_line(LinkSpeed speed, LineUse use) {
  vars_.speed = speed;
  serdes_.set_line(speed, use);
}

}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/ddr_negotiation.h"

#include <algorithm>
#include <cassert>

namespace weft::phy {

DdrNegotiation::DdrNegotiation(const NegotiationOptions& options, SerdesControl& serdes,
                               NegotiationOutput& output)
    : options_(options), serdes_(serdes), output_(output) {
  assert(options.check());
  vars_.own_id = options.first_id - 1;  // the next one is the first
  vars_.speed = options.mode == SpeedMode::kDdrOnly ? LinkSpeed::kDdr : LinkSpeed::kSdr;
}

void DdrNegotiation::start(Time) {
  forget_peer();
  vars_ = {.speed = options_.mode == SpeedMode::kDdrOnly ? LinkSpeed::kDdr : LinkSpeed::kSdr,
           .own_id = vars_.own_id,
           .past_peer_ids = vars_.past_peer_ids};
  sweep_.stop();
  set_line(vars_.speed, LineUse::kTrain);
}

void DdrNegotiation::link_up(LinkSpeed speed, Time now) {
  // A report that a change of speed has overtaken.
  if (speed != vars_.speed) return;
  const auto event =
      speed == LinkSpeed::kSdr ? NegotiationEvent::kLinkUpSdr : NegotiationEvent::kLinkUpDdr;
  dispatch(event, nullptr, now);
}

void DdrNegotiation::link_down(Time now) {
  dispatch(NegotiationEvent::kLinkDown, nullptr, now);
}

void DdrNegotiation::expire(Time now) {
  if (vars_.state == NegotiationState::kSweeping) {
    sweep_.expire(now, serdes_);
    if (!sweep_.running()) dispatch(NegotiationEvent::kSweepEnd, nullptr, now);
  }
  while (vars_.deadline && *vars_.deadline <= now) {
    const bool found = dispatch(NegotiationEvent::kTimeOut, nullptr, now);
    assert(found);
    if (!found) vars_.deadline.reset();
  }
}

std::optional<Time> DdrNegotiation::deadline() const {
  return vars_.state == NegotiationState::kSweeping ? sweep_.deadline() : vars_.deadline;
}

std::optional<NegotiationResult> DdrNegotiation::result() const {
  if (negotiating()) return std::nullopt;
  NegotiationResult result{.speed = vars_.speed, .reason = vars_.reason};
  if (vars_.reason == NegotiationReason::kAgreed) {
    result.transmit = vars_.peer_result->iterations % options_.transmit_configurations;
    result.receive = vars_.choice;
  }
  return result;
}

bool DdrNegotiation::dispatch(NegotiationEvent event, const AdvertisementMad* mad, Time now) {
  for (const NegotiationRow& row : negotiation_rows(vars_.state, event)) {
    if (!holds(row.guard, mad, now)) continue;
    if (mad != nullptr) {
      output_.record({.kind = TimelineEvent::Kind::kTaken,
                      .time = now,
                      .state = vars_.state,
                      .before = vars_.state,
                      .event = event,
                      .message = mad->advertisement,
                      .copies = 1});
    }
    enter(row, now);
    act(row.action, mad, now);
    if (row.next != row.state) dispatch(NegotiationEvent::kEntered, nullptr, now);
    return true;
  }
  return false;
}

void DdrNegotiation::enter(const NegotiationRow& row, Time now) {
  if (row.reason != NegotiationReason::kNone) vars_.reason = row.reason;
  if (row.next == row.state) return;
  vars_.state = row.next;
  if (row.next == NegotiationState::kDdr) counters_.add(NegotiationCounter::kEndedDdr);
  if (row.next == NegotiationState::kEndedSdr) counters_.add(NegotiationCounter::kEndedSdr);
  if (row.next == NegotiationState::kFallingBack) counters_.add(NegotiationCounter::kFellBack);
  if (row.reason == NegotiationReason::kTooManyAttempts) {
    counters_.add(NegotiationCounter::kAttemptsSpent);
  }
  output_.record({.kind = TimelineEvent::Kind::kState,
                  .time = now,
                  .state = row.next,
                  .before = row.state,
                  .event = row.event,
                  .reason = row.reason});
}

bool DdrNegotiation::holds(NegotiationGuard guard, const AdvertisementMad* mad, Time now) const {
  const bool attempts_left =
      options_.mode == SpeedMode::kAuto && vars_.attempts < options_.max_attempts;
  switch (guard) {
    case NegotiationGuard::kSdrOnly:
      return options_.mode == SpeedMode::kSdrOnly;
    case NegotiationGuard::kDdrOnly:
      return options_.mode == SpeedMode::kDdrOnly;
    case NegotiationGuard::kAttemptsLeft:
      return attempts_left;
    case NegotiationGuard::kRetriesLeft:
      return vars_.retry_cnt_0 < options_.max_retry;
    case NegotiationGuard::kAnswerDue:
      return vars_.retry_cnt_ack < options_.max_retry && now >= vars_.hold_off;
    case NegotiationGuard::kHoldOffOver:
      return now >= vars_.hold_off;
    case NegotiationGuard::kMayJoin: {
      const auto id = static_cast<std::uint32_t>(mad->transaction_id >> 32);
      return (vars_.reason == NegotiationReason::kNoAnswer ||
              vars_.reason == NegotiationReason::kDdrTimeOut) &&
             attempts_left && (id == 0 || id != vars_.peer_id);
    }
    case NegotiationGuard::kNoSweep:
      return skips_sweep();
    case NegotiationGuard::kBothFound:
      return vars_.choice && vars_.peer_result && vars_.peer_result->ddr;
    case NegotiationGuard::kNoneHere:
      return !vars_.choice;
    case NegotiationGuard::kTimedOut:
      return vars_.reason == NegotiationReason::kDdrTimeOut;
    case NegotiationGuard::kAlways:
    case NegotiationGuard::kCount:
      break;
  }
  return true;
}

bool DdrNegotiation::in_result_phase() const {
  return vars_.state == NegotiationState::kResultRequesting ||
         vars_.state == NegotiationState::kResultUnacknowledged ||
         vars_.state == NegotiationState::kResultAcknowledging;
}

bool DdrNegotiation::in_capability_phase() const {
  return vars_.state == NegotiationState::kRequesting ||
         vars_.state == NegotiationState::kUnacknowledged ||
         vars_.state == NegotiationState::kAcknowledging;
}

bool DdrNegotiation::is_past(std::uint32_t id) const {
  const auto& past = vars_.past_peer_ids;
  return id != 0 && std::find(past.begin(), past.end(), id) != past.end();
}

bool DdrNegotiation::skips_sweep() const {
  return options_.no_sweep || (vars_.peer && vars_.peer->no_sweep);
}

}  // namespace weft::phy

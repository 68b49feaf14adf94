// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/signalling_end.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace weft::wan::atm {
namespace {

constexpr std::uint32_t kMostCallValue = 0x7F'FFFF;

CallId id_of(const CallReference& call) {
  return {.value = call.value, .placed_here = call.to_originator};
}

}  // namespace

SignallingEnd::SignallingEnd(const SignallingOptions& options, CallOwner& owner)
    : options_(options), owner_(owner), sscop_(options.sscop, *this) {
}

// --- commands ----------------------------------------------------------------------------------

std::optional<CallId> SignallingEnd::place(SignallingMessage setup, Time now) {
  assert(setup.type == MessageType::kSetup && !missing_element(setup));
  if (!link_up() || calls_.size() >= options_.most_calls) return std::nullopt;
  CallId id{.value = 0, .placed_here = true};
  do {
    id.value = next_value_;
    next_value_ = next_value_ == kMostCallValue ? 1 : next_value_ + 1;
  } while (calls_.contains(id));
  counters_.add_in_turn(CallCounter::kPlaced);
  Call& call = calls_[id];
  call.channel = setup.channel;
  call.last = setup;
  enter(call, CallState::kSetupSent, now);
  send(setup, id, now);
  return id;
}

void SignallingEnd::proceed(const CallId& id, const std::optional<Channel>& channel, Time now) {
  const auto at = calls_.find(id);
  if (at == calls_.end() || at->second.state != CallState::kSetupHeard) return;
  if (channel) at->second.channel = channel;
  enter(at->second, CallState::kProceedingSent, now);
  send({.type = MessageType::kCallProceeding, .call = {}, .channel = channel}, id, now);
}

void SignallingEnd::connect(const CallId& id, const std::optional<Channel>& channel, Time now) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  const CallState state = at->second.state;
  if (state != CallState::kSetupHeard && state != CallState::kProceedingSent) return;
  if (channel) at->second.channel = channel;
  send({.type = MessageType::kConnect, .call = {}, .channel = channel}, id, now);
  if (options_.side == Side::kUser) {
    enter(at->second, CallState::kConnectSent, now);
    return;
  }
  // A network has no timer for the acknowledgement, and does not wait for it (5.1.7).
  enter(at->second, CallState::kActive, now);
  counters_.add_in_turn(CallCounter::kConnected);
  owner_.call_connected(id, at->second.channel.value_or(Channel{}), now);
}

void SignallingEnd::release(const CallId& id, Cause cause, Time now) {
  const auto at = calls_.find(id);
  if (at == calls_.end() || at->second.state == CallState::kReleaseSent) return;
  counters_.add_in_turn(CallCounter::kReleased);
  at->second.last = {.type = MessageType::kRelease, .call = {}, .cause = cause};
  enter(at->second, CallState::kReleaseSent, now);
  send(at->second.last, id, now);
}

void SignallingEnd::restart(Time now) {
  end_all(Cause::kTemporaryFailure, true, now);
  restart_due_ = now + options_.times.t316;
  restarted_again_ = false;
  send({.type = MessageType::kRestart, .call = {}, .all_channels = true}, {}, now);
}

void SignallingEnd::enquire(const CallId& id, Time now) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  at->second.enquired_again = false;
  ask(id, at->second, now);
}

void SignallingEnd::ask(const CallId& id, Call& call, Time now) {
  call.enquiry_due = now + options_.times.t322;
  send({.type = MessageType::kStatusEnquiry, .call = {}}, id, now);
}

CallState SignallingEnd::state(const CallId& call) const {
  const auto at = calls_.find(call);
  return at == calls_.end() ? CallState::kNull : at->second.state;
}

// --- steps -------------------------------------------------------------------------------------

void SignallingEnd::send(SignallingMessage message, const CallId& call, Time now) {
  message.call = {.value = call.value, .to_originator = call.value != 0 && !call.placed_here};
  if (!sscop_.send(write_message(message), now)) counters_.add_in_turn(CallCounter::kUnsent);
}

void SignallingEnd::enter(Call& call, CallState state, Time now) {
  call.state = state;
  call.repeated = false;
  Duration CallTimes::*const timer = info(state).timer;
  call.due = timer == nullptr ? Time::max() : now + options_.times.*timer;
}

void SignallingEnd::end(Calls::iterator call, Cause cause, Time now) {
  const CallId id = call->first;
  const bool told = call->second.state != CallState::kReleaseSent;
  calls_.erase(call);
  if (!told) return;
  counters_.add_in_turn(CallCounter::kReleased);
  owner_.call_ended(id, cause, now);
}

// Whoever is told may begin or end others: so by a list.
void SignallingEnd::end_all(Cause cause, bool active_too, Time now) {
  std::vector<CallId> ids;
  for (const auto& [id, call] : calls_) {
    if (active_too || call.state != CallState::kActive) ids.push_back(id);
  }
  for (const CallId& id : ids) {
    const auto at = calls_.find(id);
    if (at != calls_.end()) end(at, cause, now);
  }
}

void SignallingEnd::refuse(const CallId& call, Cause cause, Time now) {
  send({.type = MessageType::kReleaseComplete, .call = {}, .cause = cause}, call, now);
}

// --- the link ----------------------------------------------------------------------------------

void SignallingEnd::established(Time now) {
  link_lost_due_ = Time::max();
  for (auto& [id, call] : calls_) {
    if (call.state != CallState::kActive) continue;
    call.enquired_again = false;
    ask(id, call, now);
  }
  owner_.link_changed(true, now);
}

void SignallingEnd::released(Time now) {
  end_all(Cause::kTemporaryFailure, false, now);
  restart_due_ = Time::max();
  link_lost_due_ = calls_.empty() ? Time::max() : now + options_.times.t309;
  for (auto& [id, call] : calls_)
    call.enquiry_due = Time::max();
  owner_.link_changed(false, now);
}

// --- messages ----------------------------------------------------------------------------------

void SignallingEnd::message(Bytes bytes, Time now) {
  counters_.add_in_turn(CallCounter::kMessages);
  const auto message = read_message(bytes);
  if (!message) {
    bad_message(message.error(), now);
    return;
  }
  if (message->call.value == CallReference::kGlobal) {
    global_message(*message, now);
    return;
  }
  const CallId id = id_of(message->call);
  const auto call = calls_.find(id);
  if (call == calls_.end()) {
    unknown_call(id, *message, now);
  } else {
    known_call(call, *message, now);
  }
}

// 5.6.3 to 5.6.7: what cannot be read is answered where it says which call it is of.
void SignallingEnd::bad_message(const BadMessage& bad, Time now) {
  counters_.add_in_turn(CallCounter::kBadMessages);
  if (!bad.call || bad.call->value == CallReference::kGlobal) return;
  const CallId id = id_of(*bad.call);
  const auto call = calls_.find(id);
  if (call == calls_.end()) {
    if (static_cast<MessageType>(bad.type) == MessageType::kSetup) {
      counters_.add_in_turn(CallCounter::kRefused);
      refuse(id, bad.cause, now);
    }
    return;
  }
  const auto type = static_cast<MessageType>(bad.type);
  if (type == MessageType::kRelease || type == MessageType::kReleaseComplete) {
    if (type == MessageType::kRelease) refuse(id, bad.cause, now);
    end(call, bad.cause, now);
    return;
  }
  send({.type = MessageType::kStatus,
        .call = {},
        .cause = bad.cause,
        .call_state = state_value(call->second.state, options_.side)},
       id, now);
}

void SignallingEnd::global_message(const SignallingMessage& message, Time now) {
  if (message.type == MessageType::kRestart && message.all_channels) {
    end_all(Cause::kTemporaryFailure, true, now);
    send({.type = MessageType::kRestartAck, .call = {}, .all_channels = true}, {}, now);
  } else if (message.type == MessageType::kRestartAck && restart_due_ != Time::max()) {
    restart_due_ = Time::max();
  } else {
    counters_.add_in_turn(CallCounter::kUnexpected);
  }
}

// 5.6.3.2.
void SignallingEnd::unknown_call(const CallId& id, const SignallingMessage& message, Time now) {
  switch (message.type) {
    case MessageType::kSetup:
      // One with a reference of this side's choice is of no call.
      if (!id.placed_here) setup_came(id, message, now);
      return;
    case MessageType::kReleaseComplete:
      return;
    case MessageType::kStatusEnquiry:
      send({.type = MessageType::kStatus,
            .call = {},
            .cause = Cause::kResponseToEnquiry,
            .call_state = std::uint8_t{0}},
           id, now);
      return;
    case MessageType::kStatus:
      if (message.call_state == 0) return;
      break;
    default:
      break;
  }
  counters_.add_in_turn(CallCounter::kUnexpected);
  refuse(id, Cause::kInvalidCallReference, now);
}

void SignallingEnd::setup_came(const CallId& id, const SignallingMessage& message, Time now) {
  if (missing_element(message)) {
    counters_.add_in_turn(CallCounter::kBadMessages);
    counters_.add_in_turn(CallCounter::kRefused);
    refuse(id, Cause::kMandatoryElementMissing, now);
    return;
  }
  if (calls_.size() >= options_.most_calls) {
    counters_.add_in_turn(CallCounter::kRefused);
    refuse(id, Cause::kTemporaryFailure, now);
    return;
  }
  counters_.add_in_turn(CallCounter::kCame);
  Call& call = calls_[id];
  call.channel = message.channel;
  enter(call, CallState::kSetupHeard, now);
  owner_.call_came(id, message, now);
}

void SignallingEnd::known_call(Calls::iterator call, const SignallingMessage& message, Time now) {
  switch (message.type) {
    case MessageType::kStatusEnquiry:
      send({.type = MessageType::kStatus,
            .call = {},
            .cause = Cause::kResponseToEnquiry,
            .call_state = state_value(call->second.state, options_.side)},
           call->first, now);
      return;
    case MessageType::kStatus:
      status_came(call, message, now);
      return;
    case MessageType::kSetup:
      return;  // sent again because the answer takes time
    default:
      break;
  }
  const CallRow* const row = call_row(call->second.state, message.type);
  if (row != nullptr) {
    act(call, *row, message, now);
    return;
  }
  // An acknowledgement that nobody waits for, as a network's side does not.
  if (message.type == MessageType::kConnectAck && call->second.state == CallState::kActive) return;
  counters_.add_in_turn(CallCounter::kUnexpected);
  send({.type = MessageType::kStatus,
        .call = {},
        .cause = Cause::kNotInThisState,
        .call_state = state_value(call->second.state, options_.side)},
       call->first, now);
}

// 5.6.12: an end that has no call ends it here; one that is not where this one is, too.
void SignallingEnd::status_came(Calls::iterator call, const SignallingMessage& message, Time now) {
  call->second.enquiry_due = Time::max();
  if (message.call_state == 0) {
    end(call, message.cause.value_or(Cause::kTemporaryFailure), now);
    return;
  }
  const bool active = message.call_state == state_value(CallState::kActive, options_.side);
  const bool wrong = call->second.state == CallState::kActive && !active;
  if (!wrong) return;
  const CallId id = call->first;
  release(id, Cause::kNotInThisState, now);
  owner_.call_ended(id, Cause::kNotInThisState, now);
}

void SignallingEnd::act(Calls::iterator call, const CallRow& row, const SignallingMessage& message,
                        Time now) {
  const CallId id = call->first;
  if (message.channel) call->second.channel = message.channel;
  enter(call->second, row.next, now);
  switch (row.action) {
    case CallAction::kNone:
      return;
    case CallAction::kAcknowledge:
      send({.type = MessageType::kConnectAck, .call = {}}, id, now);
      [[fallthrough]];
    case CallAction::kConnected:
      counters_.add_in_turn(CallCounter::kConnected);
      owner_.call_connected(id, call->second.channel.value_or(Channel{}), now);
      return;
    case CallAction::kAnswer:
      send({.type = MessageType::kReleaseComplete, .call = {}}, id, now);
      [[fallthrough]];
    case CallAction::kGone:
      end(call, message.cause.value_or(Cause::kNormalClearing), now);
      return;
    case CallAction::kForget:
      calls_.erase(call);
      return;
  }
}

// --- time --------------------------------------------------------------------------------------

Time SignallingEnd::next_deadline() const {
  Time next = std::min({sscop_.next_deadline(), link_lost_due_, restart_due_});
  for (const auto& [id, call] : calls_)
    next = std::min({next, call.due, call.enquiry_due});
  return next;
}

void SignallingEnd::advance(Time now) {
  sscop_.advance(now);
  if (now >= link_lost_due_) {
    link_lost_due_ = Time::max();
    end_all(Cause::kTemporaryFailure, true, now);
  }
  if (now >= restart_due_) {
    counters_.add_in_turn(CallCounter::kTimedOut);
    restart_due_ = restarted_again_ ? Time::max() : now + options_.times.t316;
    if (!restarted_again_)
      send({.type = MessageType::kRestart, .call = {}, .all_channels = true}, {}, now);
    restarted_again_ = true;
  }
  std::vector<CallId> due;
  for (const auto& [id, call] : calls_) {
    if (now >= std::min(call.due, call.enquiry_due)) due.push_back(id);
  }
  for (const CallId& id : due) {
    auto call = calls_.find(id);
    if (call == calls_.end()) continue;
    counters_.add_in_turn(CallCounter::kTimedOut);
    if (now >= call->second.due) {
      timer_ran_off(call, now);
    } else {
      enquiry_ran_off(call, now);
    }
  }
}

void SignallingEnd::timer_ran_off(Calls::iterator at, Time now) {
  const CallId id = at->first;
  Call& call = at->second;
  if (info(call.state).repeats && !call.repeated) {
    send(call.last, id, now);
    enter(call, call.state, now);
    call.repeated = true;
    return;
  }
  if (call.state == CallState::kReleaseSent) {
    calls_.erase(at);
    return;
  }
  if (call.state == CallState::kSetupSent) {
    refuse(id, Cause::kTimerExpired, now);
    end(at, Cause::kNoUserResponding, now);
    return;
  }
  release(id, Cause::kTimerExpired, now);
  owner_.call_ended(id, Cause::kTimerExpired, now);
}

void SignallingEnd::enquiry_ran_off(Calls::iterator at, Time now) {
  const CallId id = at->first;
  if (!at->second.enquired_again) {
    at->second.enquired_again = true;
    ask(id, at->second, now);
    return;
  }
  at->second.enquiry_due = Time::max();
  if (at->second.state == CallState::kReleaseSent) return;
  release(id, Cause::kTemporaryFailure, now);
  owner_.call_ended(id, Cause::kTemporaryFailure, now);
}

}  // namespace weft::wan::atm

// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/control_protocol.h"

#include <algorithm>

namespace weft::wan {
namespace {

using OnControl = ControlEvent;
using Code = ControlCode;

// As much of a packet as a reject sends back (RFC 1661, 5.6), with room for any MRU.
constexpr std::size_t kRejectedOctets = 64;

}  // namespace

void ControlProtocol::happen(ControlEvent event, Time now) {
  step(event, {}, now);
}

void ControlProtocol::run(Time now) {
  if (!timer_ || now < *timer_) return;
  timer_.reset();
  happen(tries_ > 0 ? OnControl::kTimeOut : OnControl::kTimeOutLast, now);
}

void ControlProtocol::receive(const ControlPacket& packet, Time now) {
  if (state_ == ControlState::kInitial || state_ == ControlState::kStarting) return;
  if (const auto event = event_of(packet)) step(*event, packet, now);
}

std::optional<ControlEvent> ControlProtocol::event_of(const ControlPacket& packet) {
  switch (packet.code) {
    case Code::kConfigureRequest:
      return judge_request(packet);
    case Code::kConfigureAck:
    case Code::kConfigureNak:
    case Code::kConfigureReject:
      return judge_answer(packet);
    case Code::kTerminateRequest:
      return OnControl::kTerminate;
    case Code::kTerminateAck:
      return OnControl::kTerminateAck;
    case Code::kCodeReject: {
      if (packet.data.empty()) break;
      const bool basic =
          std::to_integer<unsigned>(packet.data[0]) <= static_cast<unsigned>(Code::kCodeReject);
      return basic ? OnControl::kRejectFatal : OnControl::kRejectFine;
    }
    default:
      return policy_.other(packet).value_or(OnControl::kUnknownCode);
  }
  counters_.add_in_turn(PppCounter::kControlMalformed);
  return std::nullopt;
}

std::optional<ControlEvent> ControlProtocol::judge_request(const ControlPacket& packet) {
  if (!are_options(packet.data)) {
    counters_.add_in_turn(PppCounter::kControlMalformed);
    return std::nullopt;
  }
  auto verdict = policy_.judge(packet.data, naks_ < times_.max_failure);
  if (!verdict.rejected.empty()) {
    reply_code_ = Code::kConfigureReject;
    reply_ = std::move(verdict.rejected);
    return OnControl::kBadRequest;
  }
  if (!verdict.wished.empty()) {
    reply_code_ = Code::kConfigureNak;
    reply_ = std::move(verdict.wished);
    return OnControl::kBadRequest;
  }
  reply_code_ = Code::kConfigureAck;
  reply_.assign(packet.data.begin(), packet.data.end());
  return OnControl::kGoodRequest;
}

// An answer counts once, and to the last request only: else one that is late, or comes twice,
// would undo what has been agreed since.
std::optional<ControlEvent> ControlProtocol::judge_answer(const ControlPacket& packet) {
  const bool acks = packet.code == Code::kConfigureAck;
  if (!awaits_answer_ || packet.identifier != request_identifier_ || !are_options(packet.data) ||
      (acks && !std::ranges::equal(packet.data, request_))) {
    counters_.add_in_turn(PppCounter::kControlUnasked);
    return std::nullopt;
  }
  awaits_answer_ = false;
  if (acks) return OnControl::kAck;
  if (packet.code == Code::kConfigureNak) {
    policy_.wished(packet.data);
  } else {
    policy_.rejected(packet.data);
  }
  return OnControl::kNak;
}

void ControlProtocol::step(ControlEvent event, const ControlPacket& cause, Time now) {
  const auto next = control_step(state_, event);
  if (!next) return;
  state_ = next->next;
  if (!has_restart_timer(state_)) timer_.reset();
  act(next->actions, cause, now);
  // Of the states that wait, some are entered without anything being sent.
  if (has_restart_timer(state_) && !timer_) timer_ = now + times_.restart;
}

void ControlProtocol::act(std::uint16_t actions, const ControlPacket& cause, Time now) {
  if ((actions & kLayerDown) != 0) policy_.layer_down();
  if ((actions & kInitRestart) != 0)
    tries_ = (actions & kSendTerminate) != 0 ? times_.max_terminate : times_.max_configure;
  if ((actions & kZeroRestart) != 0) tries_ = 0;
  act_on_line(actions, cause, now);
  if ((actions & kLayerUp) != 0) policy_.layer_up(now);
}

void ControlProtocol::act_on_line(std::uint16_t actions, const ControlPacket& cause, Time now) {
  if ((actions & (kSendRequest | kSendTerminate)) != 0) {
    tries_ -= tries_ > 0 ? 1 : 0;
    timer_ = now + times_.restart;
    awaits_answer_ = (actions & kSendRequest) != 0;
    request_identifier_ = next_identifier();
    request_ = awaits_answer_ ? policy_.request() : std::vector<std::byte>{};
    line_.send(protocol_,
               {.code = awaits_answer_ ? Code::kConfigureRequest : Code::kTerminateRequest,
                .identifier = request_identifier_,
                .data = request_});
  }
  if ((actions & kSendAck) != 0) {
    naks_ = 0;
    policy_.agreed(cause.data);
  }
  if ((actions & kSendNak) != 0 && reply_code_ == Code::kConfigureNak) ++naks_;
  if ((actions & (kSendAck | kSendNak)) != 0)
    line_.send(protocol_, {.code = reply_code_, .identifier = cause.identifier, .data = reply_});
  if ((actions & kSendTerminateAck) != 0) {
    line_.send(protocol_,
               {.code = Code::kTerminateAck, .identifier = cause.identifier, .data = {}});
  }
  if ((actions & kSendCodeReject) != 0) {
    const std::vector<std::byte> packet = cause.bytes();
    const Bytes rejected = Bytes(packet).first(std::min(packet.size(), kRejectedOctets));
    line_.send(protocol_, {.code = Code::kCodeReject, .identifier = 0, .data = rejected});
  }
  if ((actions & kSendEchoReply) != 0) policy_.answer(cause);
}

}  // namespace weft::wan

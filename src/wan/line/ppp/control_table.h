// SPDX-License-Identifier: Apache-2.0
// The option negotiation automaton of PPP as data (RFC 1661, 4.1): its states, and one table of
// what leads from which to which. ControlProtocol runs it, control_text.h prints it, and
// docs/wan-gfp-ppp.md has the print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::wan {

enum class ControlState : std::uint8_t {
  kInitial,
  kStarting,
  kClosed,
  kStopped,
  kClosing,
  kStopping,
  kReqSent,
  kAckRcvd,
  kAckSent,
  kOpened,
  kCount
};
inline constexpr std::size_t kControlStates = static_cast<std::size_t>(ControlState::kCount);

enum class ControlEvent : std::uint8_t {
  kUp,  // of what carries it
  kDown,
  kOpen,  // of whoever wants it
  kClose,
  kTimeOut,       // and there may be another try: TO+
  kTimeOutLast,   // TO-
  kGoodRequest,   // RCR+
  kBadRequest,    // RCR-
  kAck,           // RCA
  kNak,           // RCN: Configure-Nak or Configure-Reject
  kTerminate,     // RTR
  kTerminateAck,  // RTA
  kUnknownCode,   // RUC
  kRejectFine,    // RXJ+: a reject of what can be done without
  kRejectFatal,   // RXJ-
  kEcho,          // RXR: Echo-Request, Echo-Reply, Discard-Request
  kCount
};
inline constexpr std::size_t kControlEvents = static_cast<std::size_t>(ControlEvent::kCount);

// What a transition does besides; bits, done from the lowest on.
enum ControlAction : std::uint16_t {
  kNoAction = 0,
  kLayerDown = 1 << 0,         // tld
  kInitRestart = 1 << 1,       // irc
  kZeroRestart = 1 << 2,       // zrc
  kSendRequest = 1 << 3,       // scr
  kSendTerminate = 1 << 4,     // str
  kSendAck = 1 << 5,           // sca
  kSendNak = 1 << 6,           // scn
  kSendTerminateAck = 1 << 7,  // sta
  kSendCodeReject = 1 << 8,    // scj
  kSendEchoReply = 1 << 9,     // ser
  kLayerUp = 1 << 10,          // tlu
  kLayerStarted = 1 << 11,     // tls
  kLayerFinished = 1 << 12,    // tlf
};
inline constexpr std::size_t kControlActions = 13;

struct ControlStep {
  std::uint16_t actions = kNoAction;
  ControlState next{};
};

// None: the event cannot happen there, and changes nothing.
[[nodiscard]] std::optional<ControlStep> control_step(ControlState state, ControlEvent event);
// Whether the restart timer runs (RFC 1661, 4.2).
[[nodiscard]] constexpr bool has_restart_timer(ControlState state) {
  return state >= ControlState::kClosing && state <= ControlState::kAckSent;
}

}  // namespace weft::wan

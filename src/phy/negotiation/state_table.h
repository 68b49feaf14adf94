// SPDX-License-Identifier: Apache-2.0
// The state machine of a port that negotiates DDR, as a table: what happens to it in a state, under
// which condition, what it does then and where that leads. The code runs this table, and
// docs/link-training.md shows it. The figures of the DDR auto-negotiation specification (Mellanox
// document 2429) that drew it are lost; clauses 2.1.1 and 2.2 say what it has to do.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::phy {

enum class NegotiationState : std::uint8_t {
  kDown,                  // no link
  kSdrUp,                 // the link has come up at SDR
  kRequesting,            // asks, and has heard nothing yet
  kUnacknowledged,        // was asked and has answered, but is not answered itself
  kAcknowledging,         // was answered, and answers
  kSweeping,              // tries SerDes settings at DDR
  kReturning,             // goes back to SDR, SerDesConf = 1
  kResultRequesting,      // says what it has found, and has heard nothing yet
  kResultUnacknowledged,  // as above, of the result
  kResultAcknowledging,
  kGoingDdr,     // the link is to come up at DDR
  kDdr,          // it has: the negotiation has ended
  kFallingBack,  // the link is to come up at SDR after all
  kEndedSdr,     // the negotiation has ended, the link stays at SDR
  kCount
};

enum class NegotiationEvent : std::uint8_t {
  kEntered,  // the state itself, at once
  kLinkUpSdr,
  kLinkUpDdr,
  kLinkDown,
  kRequest,      // Capabilities Advertisement with 5G
  kRestart,      // one of another negotiation than the one that goes on
  kAcknowledge,  // Capabilities Advertisement + ACK with 5G
  kRefusal,      // either without 5G
  kResult,       // Result Advertisement
  kResultAcknowledge,
  kTimeOut,
  kSweepEnd,
  kCount
};

enum class NegotiationGuard : std::uint8_t {
  kAlways,
  kSdrOnly,
  kDdrOnly,
  kAttemptsLeft,
  kRetriesLeft,
  kAnswerDue,
  kHoldOffOver,
  kMayJoin,
  kNoSweep,
  kBothFound,
  kNoneHere,
  kTimedOut,
  kCount
};

enum class NegotiationAction : std::uint8_t {
  kNothing,
  kBegin,
  kSendRequest,
  kAnswer,
  kAnswerAndWait,
  kLearn,
  kRejoin,
  kRelearn,
  kHearRefusal,
  kRefuse,
  kStartSweep,
  kReturn,
  kBeginResult,
  kBeginResultAndAnswer,
  kGoDdr,
  kFallBack,
  kHold,
  kForget,
  kCount
};

// Why a negotiation ended as it did.
enum class NegotiationReason : std::uint8_t {
  kNone,             // it has not ended
  kAgreed,           // DDR
  kDdrOnly,          // DDR, as the port is configured
  kSdrOnly,          // as the port is configured
  kNoAnswer,         // the peer does not know the protocol, or nothing of it arrived
  kPeerRefused,      // the peer said 5G = 0
  kNoneFoundHere,    // no pair of settings worked for this port
  kNoneFoundThere,   // none worked for the peer
  kDdrTimeOut,       // the link did not come up at DDR
  kTooManyAttempts,  // it was tried max_attempts times without an outcome that held
  kCount
};

struct NegotiationRow {
  NegotiationState state{};
  NegotiationEvent event{};
  NegotiationGuard guard{};
  NegotiationAction action{};
  NegotiationState next{};
  NegotiationReason reason = NegotiationReason::kNone;  // with which the negotiation ends
};

// In order: of the rows of a state and event, the first whose guard holds is taken. Without one,
// nothing happens.
[[nodiscard]] std::span<const NegotiationRow> negotiation_table();
// Those of one state and event.
[[nodiscard]] std::span<const NegotiationRow> negotiation_rows(NegotiationState state,
                                                               NegotiationEvent event);

// Short names, as the docs and `weft link show` have them: "result requesting".
[[nodiscard]] std::string_view state_name(NegotiationState state);
[[nodiscard]] std::string_view event_name(NegotiationEvent event);
[[nodiscard]] std::string_view guard_name(NegotiationGuard guard);
[[nodiscard]] std::string_view action_name(NegotiationAction action);
[[nodiscard]] std::string_view reason_name(NegotiationReason reason);

}  // namespace weft::phy

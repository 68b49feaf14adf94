// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/state_table.h"

#include <algorithm>

namespace weft::phy {
namespace {

using At = NegotiationState;
using On = NegotiationEvent;
using If = NegotiationGuard;
using Do = NegotiationAction;
using Why = NegotiationReason;

// Ordered by state and event. Both phases of the exchange, capabilities and results, are alike; a
// link that goes down in one says that the other end has gone ahead, once that end was heard.
constexpr std::array kRowsUntilSweep = std::to_array<NegotiationRow>({
    {At::kDown, On::kLinkUpSdr, If::kAlways, Do::kNothing, At::kSdrUp},
    {At::kDown, On::kLinkUpDdr, If::kAlways, Do::kHold, At::kDdr, Why::kDdrOnly},

    {At::kSdrUp, On::kEntered, If::kSdrOnly, Do::kHold, At::kEndedSdr, Why::kSdrOnly},
    {At::kSdrUp, On::kEntered, If::kAttemptsLeft, Do::kBegin, At::kRequesting},
    {At::kSdrUp, On::kEntered, If::kAlways, Do::kHold, At::kEndedSdr, Why::kTooManyAttempts},

    {At::kRequesting, On::kLinkDown, If::kAlways, Do::kNothing, At::kDown},
    {At::kRequesting, On::kRequest, If::kAlways, Do::kAnswer, At::kUnacknowledged},
    {At::kRequesting, On::kAcknowledge, If::kAlways, Do::kLearn, At::kAcknowledging},
    {At::kRequesting, On::kRefusal, If::kAlways, Do::kHearRefusal, At::kEndedSdr,
     Why::kPeerRefused},
    {At::kRequesting, On::kTimeOut, If::kRetriesLeft, Do::kSendRequest, At::kRequesting},
    {At::kRequesting, On::kTimeOut, If::kAlways, Do::kHold, At::kEndedSdr, Why::kNoAnswer},

    {At::kUnacknowledged, On::kLinkDown, If::kNoSweep, Do::kNothing, At::kDown},
    {At::kUnacknowledged, On::kLinkDown, If::kAlways, Do::kStartSweep, At::kSweeping},
    {At::kUnacknowledged, On::kRequest, If::kAnswerDue, Do::kAnswer, At::kUnacknowledged},
    {At::kUnacknowledged, On::kRestart, If::kAttemptsLeft, Do::kRelearn, At::kUnacknowledged},
    {At::kUnacknowledged, On::kAcknowledge, If::kAlways, Do::kLearn, At::kAcknowledging},
    {At::kUnacknowledged, On::kRefusal, If::kAlways, Do::kHearRefusal, At::kEndedSdr,
     Why::kPeerRefused},
    {At::kUnacknowledged, On::kResult, If::kNoSweep, Do::kBeginResultAndAnswer,
     At::kResultUnacknowledged},
    {At::kUnacknowledged, On::kTimeOut, If::kRetriesLeft, Do::kSendRequest, At::kUnacknowledged},
    {At::kUnacknowledged, On::kTimeOut, If::kNoSweep, Do::kBeginResult, At::kResultRequesting},
    {At::kUnacknowledged, On::kTimeOut, If::kAlways, Do::kStartSweep, At::kSweeping},

    {At::kAcknowledging, On::kLinkDown, If::kNoSweep, Do::kNothing, At::kDown},
    {At::kAcknowledging, On::kLinkDown, If::kAlways, Do::kStartSweep, At::kSweeping},
    {At::kAcknowledging, On::kRequest, If::kAnswerDue, Do::kAnswerAndWait, At::kAcknowledging},
    {At::kAcknowledging, On::kRestart, If::kAttemptsLeft, Do::kRelearn, At::kUnacknowledged},
    {At::kAcknowledging, On::kRefusal, If::kAlways, Do::kHearRefusal, At::kEndedSdr,
     Why::kPeerRefused},
    {At::kAcknowledging, On::kResult, If::kNoSweep, Do::kBeginResultAndAnswer,
     At::kResultUnacknowledged},
    {At::kAcknowledging, On::kTimeOut, If::kNoSweep, Do::kBeginResult, At::kResultRequesting},
    {At::kAcknowledging, On::kTimeOut, If::kAlways, Do::kStartSweep, At::kSweeping},

    {At::kSweeping, On::kSweepEnd, If::kAlways, Do::kReturn, At::kReturning},
});

constexpr std::array kRowsSinceSweep = std::to_array<NegotiationRow>({
    {At::kReturning, On::kLinkUpSdr, If::kAlways, Do::kBeginResult, At::kResultRequesting},
    {At::kReturning, On::kTimeOut, If::kAlways, Do::kNothing, At::kDown},

    {At::kResultRequesting, On::kLinkDown, If::kAlways, Do::kNothing, At::kDown},
    {At::kResultRequesting, On::kRestart, If::kAttemptsLeft, Do::kRejoin, At::kUnacknowledged},
    {At::kResultRequesting, On::kRestart, If::kAlways, Do::kRefuse, At::kEndedSdr,
     Why::kTooManyAttempts},
    {At::kResultRequesting, On::kRefusal, If::kAlways, Do::kHearRefusal, At::kEndedSdr,
     Why::kPeerRefused},
    {At::kResultRequesting, On::kResult, If::kAlways, Do::kAnswer, At::kResultUnacknowledged},
    {At::kResultRequesting, On::kResultAcknowledge, If::kAlways, Do::kLearn,
     At::kResultAcknowledging},
    {At::kResultRequesting, On::kTimeOut, If::kRetriesLeft, Do::kSendRequest,
     At::kResultRequesting},
    {At::kResultRequesting, On::kTimeOut, If::kAlways, Do::kHold, At::kEndedSdr, Why::kNoAnswer},

    {At::kResultUnacknowledged, On::kLinkDown, If::kBothFound, Do::kGoDdr, At::kGoingDdr},
    {At::kResultUnacknowledged, On::kLinkDown, If::kAlways, Do::kNothing, At::kDown},
    {At::kResultUnacknowledged, On::kRestart, If::kAttemptsLeft, Do::kRejoin, At::kUnacknowledged},
    {At::kResultUnacknowledged, On::kRestart, If::kAlways, Do::kRefuse, At::kEndedSdr,
     Why::kTooManyAttempts},
    {At::kResultUnacknowledged, On::kRefusal, If::kAlways, Do::kHearRefusal, At::kEndedSdr,
     Why::kPeerRefused},
    {At::kResultUnacknowledged, On::kResult, If::kAnswerDue, Do::kAnswer,
     At::kResultUnacknowledged},
    {At::kResultUnacknowledged, On::kResultAcknowledge, If::kAlways, Do::kLearn,
     At::kResultAcknowledging},
    {At::kResultUnacknowledged, On::kTimeOut, If::kRetriesLeft, Do::kSendRequest,
     At::kResultUnacknowledged},
    {At::kResultUnacknowledged, On::kTimeOut, If::kBothFound, Do::kGoDdr, At::kGoingDdr},
    {At::kResultUnacknowledged, On::kTimeOut, If::kNoneHere, Do::kHold, At::kEndedSdr,
     Why::kNoneFoundHere},
    {At::kResultUnacknowledged, On::kTimeOut, If::kAlways, Do::kHold, At::kEndedSdr,
     Why::kNoneFoundThere},

    {At::kResultAcknowledging, On::kLinkDown, If::kBothFound, Do::kGoDdr, At::kGoingDdr},
    {At::kResultAcknowledging, On::kLinkDown, If::kAlways, Do::kNothing, At::kDown},
    {At::kResultAcknowledging, On::kRestart, If::kAttemptsLeft, Do::kRejoin, At::kUnacknowledged},
    {At::kResultAcknowledging, On::kRestart, If::kAlways, Do::kRefuse, At::kEndedSdr,
     Why::kTooManyAttempts},
    {At::kResultAcknowledging, On::kRefusal, If::kAlways, Do::kHearRefusal, At::kEndedSdr,
     Why::kPeerRefused},
    {At::kResultAcknowledging, On::kResult, If::kAnswerDue, Do::kAnswerAndWait,
     At::kResultAcknowledging},
    {At::kResultAcknowledging, On::kTimeOut, If::kBothFound, Do::kGoDdr, At::kGoingDdr},
    {At::kResultAcknowledging, On::kTimeOut, If::kNoneHere, Do::kHold, At::kEndedSdr,
     Why::kNoneFoundHere},
    {At::kResultAcknowledging, On::kTimeOut, If::kAlways, Do::kHold, At::kEndedSdr,
     Why::kNoneFoundThere},

    {At::kGoingDdr, On::kLinkUpDdr, If::kAlways, Do::kHold, At::kDdr, Why::kAgreed},
    {At::kGoingDdr, On::kTimeOut, If::kAlways, Do::kFallBack, At::kFallingBack, Why::kDdrTimeOut},

    {At::kDdr, On::kLinkDown, If::kDdrOnly, Do::kNothing, At::kDown},
    {At::kDdr, On::kLinkDown, If::kAlways, Do::kFallBack, At::kFallingBack},
    {At::kDdr, On::kTimeOut, If::kAlways, Do::kForget, At::kDdr},

    {At::kFallingBack, On::kLinkUpSdr, If::kTimedOut, Do::kHold, At::kEndedSdr, Why::kDdrTimeOut},
    {At::kFallingBack, On::kLinkUpSdr, If::kAlways, Do::kNothing, At::kSdrUp},

    {At::kEndedSdr, On::kLinkDown, If::kAlways, Do::kNothing, At::kDown},
    {At::kEndedSdr, On::kRequest, If::kMayJoin, Do::kRejoin, At::kUnacknowledged},
    {At::kEndedSdr, On::kRequest, If::kHoldOffOver, Do::kRefuse, At::kEndedSdr},
    {At::kEndedSdr, On::kTimeOut, If::kAlways, Do::kForget, At::kEndedSdr},
});

constexpr auto kNegotiationRows = [] {
  std::array<NegotiationRow, kRowsUntilSweep.size() + kRowsSinceSweep.size()> rows{};
  const auto rest = std::copy(kRowsUntilSweep.begin(), kRowsUntilSweep.end(), rows.begin());
  std::copy(kRowsSinceSweep.begin(), kRowsSinceSweep.end(), rest);
  return rows;
}();

constexpr bool is_of_same_place(const NegotiationRow& a, const NegotiationRow& b) {
  return a.state == b.state && a.event == b.event;
}
constexpr bool stands_before(const NegotiationRow& a, const NegotiationRow& b) {
  return a.state != b.state ? a.state < b.state : a.event < b.event;
}
static_assert(std::is_sorted(kNegotiationRows.begin(), kNegotiationRows.end(), stands_before));
// What is never reached is a mistake.
static_assert(std::adjacent_find(kNegotiationRows.begin(), kNegotiationRows.end(),
                                 [](const NegotiationRow& a, const NegotiationRow& b) {
                                   return is_of_same_place(a, b) && a.guard == If::kAlways;
                                 }) == kNegotiationRows.end());

template <class Enum>
using NamesOf = std::array<std::string_view, static_cast<std::size_t>(Enum::kCount)>;

constexpr NamesOf<NegotiationState> kStateNames{
    "down",
    "SDR up",
    "requesting",
    "requested, not acknowledged",
    "acknowledging",
    "sweeping",
    "returning to SDR",
    "result requesting",
    "result requested, not acknowledged",
    "result acknowledging",
    "going to DDR",
    "DDR",
    "falling back to SDR",
    "ended at SDR",
};

constexpr NamesOf<NegotiationEvent> kEventNames{
    "at once",         "link up at SDR",
    "link up at DDR",  "link down",
    "request",         "request of another negotiation",
    "acknowledgement", "refusal",
    "result",          "result acknowledgement",
    "time-out",        "sweep over",
};

constexpr NamesOf<NegotiationGuard> kGuardNames{
    "",
    "the port is SDR only",
    "the port is DDR only",
    "attempts < MaxAttempts",
    "RetryCnt0 < MaxRetry",
    "RetryCntAck < MaxRetry, no copy of the last one",
    "no copy of the last one",
    "the end was for want of an answer or by DDRTimeOut; of another negotiation; attempts < "
    "MaxAttempts",
    "NoSweep was asked for",
    "both ends have found settings",
    "this port has found none",
    "DDRTimeOut was the cause",
};

constexpr NamesOf<NegotiationAction> kActionNames{
    "",
    "begin a negotiation; send requests",
    "send requests",
    "learn; send acknowledgements",
    "learn; send acknowledgements; wait XmitTimeOut",
    "learn; wait XmitTimeOut",
    "begin a negotiation; learn; send requests and acknowledgements",
    "forget the peer; learn; send requests and acknowledgements",
    "acknowledge it if it is a request; wait DDRTimeOut",
    "acknowledge with 5G = 0; wait DDRTimeOut",
    "DDR without training; sweep",
    "choose; SDR; SerDesConf = 1; wait ReturnTimeOut",
    "send results",
    "learn; send results and acknowledgements",
    "chosen settings; DDR; wait DDRTimeOut",
    "SDR",
    "wait DDRTimeOut",
    "attempts = 0",
};

constexpr NamesOf<NegotiationReason> kReasonNames{
    "not ended",  "both ends agreed",     "the port is DDR only",   "the port is SDR only",
    "no answer",  "the peer said 5G = 0", "no settings found here", "no settings found by the peer",
    "DDRTimeOut", "too many attempts",
};

template <class Enum>
std::string_view name_in(const NamesOf<Enum>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::span<const NegotiationRow> negotiation_table() {
  return kNegotiationRows;
}

std::span<const NegotiationRow> negotiation_rows(NegotiationState state, NegotiationEvent event) {
  const NegotiationRow place{state, event, If::kAlways, Do::kNothing, state};
  const auto [first, last] =
      std::equal_range(kNegotiationRows.begin(), kNegotiationRows.end(), place, stands_before);
  return {first, last};
}

std::string_view state_name(NegotiationState state) {
  return name_in(kStateNames, state);
}
std::string_view event_name(NegotiationEvent event) {
  return name_in(kEventNames, event);
}
std::string_view guard_name(NegotiationGuard guard) {
  return name_in(kGuardNames, guard);
}
std::string_view action_name(NegotiationAction action) {
  return name_in(kActionNames, action);
}
std::string_view reason_name(NegotiationReason reason) {
  return name_in(kReasonNames, reason);
}

}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/control_table.h"

#include <array>

namespace weft::wan {
namespace {

using Cell = std::optional<ControlStep>;
using ControlRow = std::array<Cell, kControlStates>;

constexpr Cell kNever;

constexpr Cell go(ControlState next, unsigned actions = kNoAction) {
  return ControlStep{static_cast<std::uint16_t>(actions), next};
}

// The states by their numbers in RFC 1661.
constexpr auto k0 = ControlState::kInitial;
constexpr auto k1 = ControlState::kStarting;
constexpr auto k2 = ControlState::kClosed;
constexpr auto k3 = ControlState::kStopped;
constexpr auto k4 = ControlState::kClosing;
constexpr auto k5 = ControlState::kStopping;
constexpr auto k6 = ControlState::kReqSent;
constexpr auto k7 = ControlState::kAckRcvd;
constexpr auto k8 = ControlState::kAckSent;
constexpr auto k9 = ControlState::kOpened;

// And the actions by their names there.
constexpr unsigned tld = kLayerDown;
constexpr unsigned irc = kInitRestart;
constexpr unsigned zrc = kZeroRestart;
constexpr unsigned scr = kSendRequest;
constexpr unsigned str = kSendTerminate;
constexpr unsigned sca = kSendAck;
constexpr unsigned scn = kSendNak;
constexpr unsigned sta = kSendTerminateAck;
constexpr unsigned scj = kSendCodeReject;
constexpr unsigned ser = kSendEchoReply;
constexpr unsigned tlu = kLayerUp;
constexpr unsigned tls = kLayerStarted;
constexpr unsigned tlf = kLayerFinished;

// A row for each event; columns are the states, from Initial to Opened.
constexpr std::array<ControlRow, kControlEvents> kControlTable{{
    // Up
    {go(k2), go(k6, irc | scr), kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever},
    // Down
    {kNever, kNever, go(k0), go(k1, tls), go(k0), go(k1), go(k1), go(k1), go(k1), go(k1, tld)},
    // Open
    {go(k1, tls), go(k1), go(k6, irc | scr), go(k3), go(k5), go(k5), go(k6), go(k7), go(k8),
     go(k9)},
    // Close
    {go(k0), go(k0, tlf), go(k2), go(k2), go(k4), go(k4), go(k4, irc | str), go(k4, irc | str),
     go(k4, irc | str), go(k4, tld | irc | str)},
    // TO+
    {kNever, kNever, kNever, kNever, go(k4, str), go(k5, str), go(k6, scr), go(k6, scr),
     go(k8, scr), kNever},
    // TO-
    {kNever, kNever, kNever, kNever, go(k2, tlf), go(k3, tlf), go(k3, tlf), go(k3, tlf),
     go(k3, tlf), kNever},
    // RCR+
    {kNever, kNever, go(k2, sta), go(k8, irc | scr | sca), go(k4), go(k5), go(k8, sca),
     go(k9, sca | tlu), go(k8, sca), go(k8, tld | scr | sca)},
    // RCR-
    {kNever, kNever, go(k2, sta), go(k6, irc | scr | scn), go(k4), go(k5), go(k6, scn), go(k7, scn),
     go(k6, scn), go(k6, tld | scr | scn)},
    // RCA
    {kNever, kNever, go(k2, sta), go(k3, sta), go(k4), go(k5), go(k7, irc), go(k6, scr),
     go(k9, irc | tlu), go(k6, tld | scr)},
    // RCN
    {kNever, kNever, go(k2, sta), go(k3, sta), go(k4), go(k5), go(k6, irc | scr), go(k6, scr),
     go(k8, irc | scr), go(k6, tld | scr)},
    // RTR
    {kNever, kNever, go(k2, sta), go(k3, sta), go(k4, sta), go(k5, sta), go(k6, sta), go(k6, sta),
     go(k6, sta), go(k5, tld | zrc | sta)},
    // RTA
    {kNever, kNever, go(k2), go(k3), go(k2, tlf), go(k3, tlf), go(k6), go(k6), go(k8),
     go(k6, tld | scr)},
    // RUC
    {kNever, kNever, go(k2, scj), go(k3, scj), go(k4, scj), go(k5, scj), go(k6, scj), go(k7, scj),
     go(k8, scj), go(k9, scj)},
    // RXJ+
    {kNever, kNever, go(k2), go(k3), go(k4), go(k5), go(k6), go(k6), go(k8), go(k9)},
    // RXJ-
    {kNever, kNever, go(k2, tlf), go(k3, tlf), go(k2, tlf), go(k3, tlf), go(k3, tlf), go(k3, tlf),
     go(k3, tlf), go(k5, tld | irc | str)},
    // RXR
    {kNever, kNever, go(k2), go(k3), go(k4), go(k5), go(k6), go(k7), go(k8), go(k9, ser)},
}};

}  // namespace

std::optional<ControlStep> control_step(ControlState state, ControlEvent event) {
  return kControlTable[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
}

}  // namespace weft::wan

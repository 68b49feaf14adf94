// SPDX-License-Identifier: Apache-2.0
#include "hca/qp_state.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

namespace weft::hca {
namespace {

// One row of IBA tables 91 and 92. The state itself (kAttrState) may go with each, and is needed to
// change it.
struct Transition {
  QpState from;
  QpState to;
  std::uint32_t required;
  std::uint32_t optional;
};

using enum QpState;

//            kReset <---- any state
//              |                          any state ----> kErr
//              v
//            kInit ---> kRtr ---> kRts <--> kSqd
//                                  ^ |
//                                  | v  a send failed (unreliable services)
//                                  kSqe
constexpr std::array kDatagram{
    Transition{kReset, kInit, kAttrPKeyIndex | kAttrPort | kAttrQKey, 0},
    Transition{kInit, kInit, 0, kAttrPKeyIndex | kAttrPort | kAttrQKey},
    Transition{kInit, kRtr, 0, kAttrPKeyIndex | kAttrQKey},
    Transition{kRtr, kRts, kAttrSqPsn, kAttrCurrentState | kAttrQKey},
    Transition{kRts, kRts, 0, kAttrCurrentState | kAttrQKey},
    Transition{kRts, kSqd, 0, kAttrSqdNotify},
    Transition{kSqd, kRts, 0, kAttrCurrentState | kAttrQKey},
    Transition{kSqd, kSqd, 0, kAttrPKeyIndex | kAttrQKey},
    Transition{kSqe, kRts, 0, kAttrCurrentState | kAttrQKey},
};

// Of raw queue pairs nothing but the port is to be said.
constexpr std::array kRaw{
    Transition{kReset, kInit, kAttrPort, 0},
    Transition{kInit, kInit, 0, kAttrPort},
    Transition{kInit, kRtr, 0, 0},
    Transition{kRtr, kRts, 0, kAttrCurrentState},
    Transition{kRts, kRts, 0, kAttrCurrentState},
    Transition{kRts, kSqd, 0, kAttrSqdNotify},
    Transition{kSqd, kRts, 0, kAttrCurrentState},
    Transition{kSqd, kSqd, 0, 0},
    Transition{kSqe, kRts, 0, kAttrCurrentState},
};

// Connected services differ in whether they are acknowledged, and in which half of a reliable
// connection this end has: both (RC), the requester (XRC initiator) or the responder (XRC target).
constexpr std::uint32_t kRequester = kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut;
constexpr std::uint32_t kResponder = kAttrMaxReadsIn | kAttrRnrTimer;

constexpr std::array<Transition, 8> connected(bool reliable, std::uint32_t halves) {
  constexpr std::uint32_t kAccess = kAttrPKeyIndex | kAttrPort | kAttrAccess;
  constexpr std::uint32_t kRoute = kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn;
  constexpr std::uint32_t kMigration = kAttrAlternatePath | kAttrPathMigration;
  const std::uint32_t requester = halves & kRequester;
  const std::uint32_t responder = halves & kResponder;
  const std::uint32_t timeout = reliable ? kAttrAckTimeout : 0u;
  const std::uint32_t any_time =
      kAttrCurrentState | kAttrAccess | kMigration | (responder & kAttrRnrTimer);
  const std::uint32_t at_rest = kAttrPath | kMigration | kAttrAccess | kAttrPKeyIndex | timeout |
                                requester | responder | (reliable ? kAttrPort : 0u);
  return {{
      {kReset, kInit, kAccess, 0},
      {kInit, kInit, 0, kAccess},
      // Programs set up both ends of XRC with one mask: what the other half would need is let pass.
      {kInit, kRtr, kRoute | responder,
       kAttrAlternatePath | kAttrAccess | kAttrPKeyIndex | (reliable ? kResponder : 0u)},
      {kRtr, kRts, kAttrSqPsn | timeout | requester, any_time | (reliable ? kRequester : 0u)},
      {kRts, kRts, 0, any_time},
      {kRts, kSqd, 0, kAttrSqdNotify},
      {kSqd, kRts, 0, any_time},
      {kSqd, kSqd, 0, at_rest},
  }};
}

constexpr auto kReliable = connected(true, kRequester | kResponder);
constexpr auto kInitiator = connected(true, kRequester);
constexpr auto kTarget = connected(true, kResponder);
constexpr auto kUnreliable = connected(false, 0);
constexpr Transition kUnreliableRecovery{kSqe, kRts, 0, kAttrCurrentState | kAttrAccess};

std::span<const Transition> transitions_of(QpType type) {
  switch (type) {
    case QpType::kUd:
      return kDatagram;
    case QpType::kRc:
      return kReliable;
    case QpType::kUc:
      return kUnreliable;
    case QpType::kXrcInitiator:
      return kInitiator;
    case QpType::kXrcTarget:
      return kTarget;
    case QpType::kRaw:
      return kRaw;
  }
  return {};
}

struct AttributeName {
  std::uint32_t bit;
  const char* name;
};

constexpr std::array kNames{
    AttributeName{kAttrState, "state"},
    AttributeName{kAttrCurrentState, "current state"},
    AttributeName{kAttrSqdNotify, "SQD notify"},
    AttributeName{kAttrAccess, "access flags"},
    AttributeName{kAttrPKeyIndex, "P_Key index"},
    AttributeName{kAttrPort, "port"},
    AttributeName{kAttrQKey, "Q_Key"},
    AttributeName{kAttrSqPsn, "SQ PSN"},
    AttributeName{kAttrPath, "path"},
    AttributeName{kAttrPathMtu, "path MTU"},
    AttributeName{kAttrAckTimeout, "ACK timeout"},
    AttributeName{kAttrRetryCount, "retry count"},
    AttributeName{kAttrRnrRetry, "RNR retry"},
    AttributeName{kAttrRqPsn, "RQ PSN"},
    AttributeName{kAttrMaxReadsOut, "max reads out"},
    AttributeName{kAttrMaxReadsIn, "max reads in"},
    AttributeName{kAttrAlternatePath, "alternate path"},
    AttributeName{kAttrRnrTimer, "min RNR timer"},
    AttributeName{kAttrPathMigration, "path migration state"},
    AttributeName{kAttrPeer, "destination QPN"},
    AttributeName{kAttrOther, "attributes that no queue pair here has"},
};

std::string names_of(std::uint32_t mask) {
  std::string text;
  for (const AttributeName& name : kNames) {
    if ((mask & name.bit) == 0) continue;
    text += text.empty() ? "" : ", ";
    text += name.name;
    mask &= ~name.bit;
  }
  if (mask != 0) text += fmt::format("{}mask bits {:#x}", text.empty() ? "" : ", ", mask);
  return text;
}

std::optional<Transition> find_transition(QpType type, QpState from, QpState to) {
  // IBA 10.3.1: Reset and Error can be entered from every state.
  if (to == kReset || to == kErr) return Transition{from, to, 0, 0};
  if (type == QpType::kUc && from == kSqe && to == kRts) return kUnreliableRecovery;
  for (const Transition& row : transitions_of(type)) {
    if (row.from == from && row.to == to) return row;
  }
  return std::nullopt;
}

}  // namespace

const char* to_string(QpState state) {
  switch (state) {
    case kReset:
      return "RESET";
    case kInit:
      return "INIT";
    case kRtr:
      return "RTR";
    case kRts:
      return "RTS";
    case kSqd:
      return "SQD";
    case kSqe:
      return "SQE";
    case kErr:
      return "ERR";
  }
  return "unknown";
}

Expected<void> check_transition(QpType type, QpState from, QpState to, std::uint32_t mask) {
  const std::string what = fmt::format("modify {} to {}", to_string(from), to_string(to));
  const auto row = find_transition(type, from, to);
  if (!row) return fail(std::errc::invalid_argument, what + ": no such transition (IBA 10.3.1)");
  // A modify that leaves the state alone need not name it.
  const std::uint32_t required = row->required | (from == to ? 0u : kAttrState);
  if (const std::uint32_t missing = required & ~mask; missing != 0) {
    return fail(std::errc::invalid_argument, what + ": missing " + names_of(missing));
  }
  if (const std::uint32_t extra = mask & ~(required | row->optional | kAttrState); extra != 0) {
    return fail(std::errc::invalid_argument, what + ": not allowed: " + names_of(extra));
  }
  return {};
}

Expected<void> check_current_state(const QpAttributes& attributes, std::uint32_t mask, QpState is) {
  if ((mask & kAttrCurrentState) == 0 || attributes.current_state == is) return {};
  return fail(std::errc::invalid_argument,
              fmt::format("modify: the queue pair is in {}, not in {}", to_string(is),
                          to_string(attributes.current_state)));
}

Expected<void> check_port(const QpAttributes& attributes, std::uint32_t mask, std::uint8_t is) {
  if ((mask & kAttrPort) == 0 || attributes.port == is) return {};
  return fail(std::errc::invalid_argument,
              fmt::format("modify: port {}: the queue pair is on port {}", attributes.port, is));
}

}  // namespace weft::hca

// SPDX-License-Identifier: Apache-2.0
#include "hca/qp_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace weft::hca {
namespace {

// One row of IBA tables 91 and 92 for unreliable datagrams. The state itself (kAttrState) may go
// with each, and is needed to change it.
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
//                                  | v  a send failed
//                                  kSqe
constexpr std::array kUdTransitions{
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
    AttributeName{kAttrOther, "attributes of connected queue pairs"},
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

std::optional<Transition> find_transition(QpState from, QpState to) {
  // IBA 10.3.1: Reset and Error can be entered from every state.
  if (to == kReset || to == kErr) return Transition{from, to, 0, 0};
  const auto* const row =
      std::find_if(kUdTransitions.begin(), kUdTransitions.end(),
                   [=](const Transition& t) { return t.from == from && t.to == to; });
  if (row == kUdTransitions.end()) return std::nullopt;
  return *row;
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
  (void)type;  // datagram queue pairs are the only kind so far
  const std::string what = fmt::format("modify {} to {}", to_string(from), to_string(to));
  const auto row = find_transition(from, to);
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

}  // namespace weft::hca

// SPDX-License-Identifier: Apache-2.0
// The states of a call at one side of an interface, and what leads from which to which, as data
// (ITU-T Q.2931, 2.1 and 5). SignallingEnd runs it, call_text() prints it, and docs/wan-atm.md has
// the print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "wan/line/atm/signalling_message.h"

namespace weft::wan::atm {

// Named by what was said last. The standard's states, U of the user and N of the network, have
// other names at either side; which they are, the table says.
enum class CallState : std::uint8_t {
  kNull,
  kSetupSent,
  kProceedingHeard,
  kSetupHeard,
  kProceedingSent,
  kConnectSent,
  kActive,
  kReleaseSent,
  kCount
};
inline constexpr std::size_t kCallStates = static_cast<std::size_t>(CallState::kCount);

// Which side of an interface this is.
enum class Side : std::uint8_t { kUser, kNetwork };

// Values of Q.2931, 7.
struct CallTimes {
  Duration t303 = 4s;    // SETUP sent; once more, then the call is given up
  Duration t308 = 30s;   // RELEASE sent; once more, then it is taken as answered
  Duration t309 = 10s;   // the signalling link is lost: calls that are active stay as long
  Duration t310 = 30s;   // CALL PROCEEDING received
  Duration t313 = 4s;    // CONNECT sent
  Duration t316 = 120s;  // RESTART sent; once more
  Duration t322 = 4s;    // STATUS ENQUIRY sent; once more, then the call is released
};

struct CallStateInfo {
  std::string_view name;
  std::uint8_t at_user = 0;     // U: call state value, as STATUS says it
  std::uint8_t at_network = 0;  // N
  std::string_view timer_name;
  Duration CallTimes::*timer = nullptr;  // none: it lasts as long as it takes
  bool repeats = false;                  // when it first runs off, what was sent last is sent again
};

enum class CallAction : std::uint8_t {
  kNone,
  kConnected,    // the call is there
  kAcknowledge,  // CONNECT ACKNOWLEDGE, and the call is there
  kAnswer,       // RELEASE COMPLETE, and the call is gone
  kGone,         // the call is gone
  kForget,       // its reference is free
};

struct CallRow {
  std::uint16_t states = 0;  // bits: 1 << state
  MessageType message{};
  CallState next{};
  CallAction action{};
};

[[nodiscard]] const CallStateInfo& info(CallState state);
[[nodiscard]] std::uint8_t state_value(CallState state, Side side);
// What a message leads to; nothing: it cannot come in that state (cause 101).
[[nodiscard]] const CallRow* call_row(CallState state, MessageType message);
[[nodiscard]] std::span<const CallRow> call_table();

// States and rows as two tables in Markdown.
[[nodiscard]] std::string call_text();

}  // namespace weft::wan::atm

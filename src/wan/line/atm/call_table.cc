// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/call_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace weft::wan::atm {
namespace {

constexpr std::uint16_t at(CallState state) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(state));
}

constexpr std::array<CallStateInfo, kCallStates> kStates{{
    {"null", 0, 0, "", nullptr, false},
    {"SETUP sent", 1, 6, "T303", &CallTimes::t303, true},
    {"CALL PROCEEDING received", 3, 9, "T310", &CallTimes::t310, false},
    {"SETUP received", 6, 1, "", nullptr, false},
    {"CALL PROCEEDING sent", 9, 3, "", nullptr, false},
    {"CONNECT sent", 8, 10, "T313", &CallTimes::t313, false},
    {"active", 10, 10, "", nullptr, false},
    {"RELEASE sent", 11, 12, "T308", &CallTimes::t308, true},
}};

constexpr std::uint16_t kLive = at(CallState::kSetupSent) | at(CallState::kProceedingHeard) |
                                at(CallState::kSetupHeard) | at(CallState::kProceedingSent) |
                                at(CallState::kConnectSent) | at(CallState::kActive);

constexpr std::array<CallRow, 7> kRows{{
    {at(CallState::kSetupSent), MessageType::kCallProceeding, CallState::kProceedingHeard,
     CallAction::kNone},
    {static_cast<std::uint16_t>(at(CallState::kSetupSent) | at(CallState::kProceedingHeard)),
     MessageType::kConnect, CallState::kActive, CallAction::kAcknowledge},
    {at(CallState::kConnectSent), MessageType::kConnectAck, CallState::kActive,
     CallAction::kConnected},
    {kLive, MessageType::kRelease, CallState::kNull, CallAction::kAnswer},
    {kLive, MessageType::kReleaseComplete, CallState::kNull, CallAction::kGone},
    {at(CallState::kReleaseSent), MessageType::kRelease, CallState::kNull, CallAction::kForget},
    {at(CallState::kReleaseSent), MessageType::kReleaseComplete, CallState::kNull,
     CallAction::kForget},
}};

constexpr std::array<std::string_view, 6> kActions{
    "",
    "the call is there",
    "CONNECT ACKNOWLEDGE; the call is there",
    "RELEASE COMPLETE; the call is gone",
    "the call is gone",
    "",
};

std::string names_of(std::uint16_t states) {
  std::string names;
  for (std::size_t state = 0; state < kCallStates; ++state) {
    if ((states >> state & 1) == 0) continue;
    if (!names.empty()) names += ", ";
    names += kStates[state].name;
  }
  return names;
}

}  // namespace

const CallStateInfo& info(CallState state) {
  return kStates[static_cast<std::size_t>(state)];
}

std::uint8_t state_value(CallState state, Side side) {
  return side == Side::kUser ? info(state).at_user : info(state).at_network;
}

std::span<const CallRow> call_table() {
  return kRows;
}

const CallRow* call_row(CallState state, MessageType message) {
  const auto* const row = std::ranges::find_if(kRows, [&](const CallRow& one) {
    return one.message == message && (one.states & at(state)) != 0;
  });
  return row == kRows.end() ? nullptr : row;
}

std::string call_text() {
  std::string text =
      "| state | at the user | at the network | timer | |\n| --- | --- | --- | --- | --- |\n";
  for (const CallStateInfo& state : kStates) {
    const CallTimes times;
    const std::string timer =
        state.timer == nullptr
            ? std::string()
            : fmt::format(
                  "{}, {} s", state.timer_name,
                  std::chrono::duration_cast<std::chrono::seconds>(times.*state.timer).count());
    text += fmt::format("| {} | U{} | N{} | {} | {} |\n", state.name, state.at_user,
                        state.at_network, timer, state.repeats ? "sent again once" : "");
  }
  text += "\n| in | comes | next | and |\n| --- | --- | --- | --- |\n";
  for (const CallRow& row : kRows) {
    text += fmt::format("| {} | {} | {} | {} |\n", names_of(row.states), name_of(row.message),
                        info(row.next).name, kActions[static_cast<std::size_t>(row.action)]);
  }
  return text;
}

}  // namespace weft::wan::atm

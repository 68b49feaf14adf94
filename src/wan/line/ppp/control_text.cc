// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/control_text.h"

#include <fmt/format.h>

#include <array>

namespace weft::wan {
namespace {

constexpr std::array<std::string_view, kControlStates> kStateNames{
    "Initial",  "Starting", "Closed",   "Stopped",  "Closing",
    "Stopping", "Req-Sent", "Ack-Rcvd", "Ack-Sent", "Opened"};
constexpr std::array<std::string_view, kControlEvents> kEventNames{
    "Up",  "Down", "Open", "Close", "TO+", "TO-",  "RCR+", "RCR-",
    "RCA", "RCN",  "RTR",  "RTA",   "RUC", "RXJ+", "RXJ-", "RXR"};
constexpr std::array<std::string_view, kControlActions> kActionNames{
    "tld", "irc", "zrc", "scr", "str", "sca", "scn", "sta", "scj", "ser", "tlu", "tls", "tlf"};

std::string cell_text(const std::optional<ControlStep>& step) {
  if (!step) return "-";
  std::string text;
  for (std::size_t i = 0; i < kControlActions; ++i) {
    if ((step->actions >> i & 1) == 0) continue;
    if (!text.empty()) text += ",";
    text += kActionNames[i];
  }
  if (!text.empty()) text += "/";
  return text + fmt::format("{}", static_cast<unsigned>(step->next));
}

}  // namespace

std::string_view to_text(ControlState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::string_view to_text(ControlEvent event) {
  return kEventNames[static_cast<std::size_t>(event)];
}

std::string control_table_text() {
  std::string head = "| |";
  std::string line = "| --- |";
  for (std::size_t i = 0; i < kControlStates; ++i) {
    head += fmt::format(" {} {} |", i, kStateNames[i]);
    line += " --- |";
  }
  std::string text = head + "\n" + line + "\n";
  for (std::size_t event = 0; event < kControlEvents; ++event) {
    text += fmt::format("| {} |", kEventNames[event]);
    for (std::size_t state = 0; state < kControlStates; ++state)
      text += " " + cell_text(control_step(ControlState(state), ControlEvent(event))) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace weft::wan

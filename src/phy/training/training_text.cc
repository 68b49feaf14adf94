// SPDX-License-Identifier: Apache-2.0
#include "phy/training/training_text.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <iterator>

namespace weft::phy {
namespace {

struct EventText {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<EventText, kTrainingEvents> kEventTexts{{
    {"disable", "command: LinkPhyState Disabled"},
    {"sleep", "command: LinkPhyState Sleep"},
    {"poll", "command: LinkPhyState Polling"},
    {"speed", "command of the DDR negotiation: another speed than the present one"},
    {"retrain", "command of the link layer: train again what is up"},
    {"time-out", "the state's time is over"},
    {"TS1 heard", "a lane carries TS1: one of those in use, or any as long as there is no width"},
    {"inverted heard", "a lane carries a training sequence with all bits inverted"},
    {"receivers configured",
     "what the lanes carry has not changed for `lane_settle`, and in Config.RcvrCfg some enabled "
     "width has all its lanes, each with its own identifier, in order or in reversed order, the "
     "widest enabled one at once and a narrower one after `narrower_after`; in Recovery.Retrain "
     "the width and order are those of before, and TS1 has been sent for `retrain_least`"},
    {"remote configured",
     "every lane of the width carries TS2 with its own identifier, or idle data, and no other lane "
     "carries anything; this end's own have been sent for `least_sent`"},
    {"remote narrower",
     "for `lane_settle`, exactly the lanes of a narrower enabled width carry TS2, and the others "
     "nothing"},
    {"lane order wrong", "a lane in use carries the training sequence of another lane"},
    {"lanes lost",
     "a lane in use has for `lane_loss` carried nothing that can be understood, or in Config "
     "nothing that is expected there"},
    {"idle heard",
     "every lane of the width carries idle data or packets, and no other lane anything; this end's "
     "idle data has been sent for `least_sent`"},
    {"excess errors", "`error_threshold` symbols were in error within `error_window`"},
}};

constexpr std::array<std::string_view, static_cast<std::size_t>(TrainingGuard::kCount)> kGuardTexts{
    "", "LinkDownDefaultState is Sleep", "wider than 1x, and transmit lanes can be reversed"};

constexpr std::array<std::string_view, kTrainingActions> kActionTexts{
    "forget width, order and polarity; be at the first speed",
    "try the other speed, if it was heard",
    "begin the time of Config.RcvrCfg",
    "invert what those lanes receive",
    "take this width and order",
    "take the narrower width",
    "reverse the transmit lanes",
    "forget width and order",
    "count link_ups",
    "count training_failed",
    "count error_bursts",
    "count link_error_recoveries",
    "count link_downed"};

std::string states_text(TrainingStates states) {
  constexpr unsigned kEvery = (1U << kTrainingStates) - 1;
  if (states == kEvery) return "every state";
  std::string named;
  std::string others;
  unsigned count = 0;
  for (std::size_t i = 0; i < kTrainingStates; ++i) {
    const auto state = static_cast<TrainingState>(i);
    const bool is_in = (states & bit(state)) != 0;
    count += is_in ? 1 : 0;
    std::string& list = is_in ? named : others;
    if (!list.empty()) list += ", ";
    list += to_text(state);
  }
  return count > kTrainingStates / 2 ? "every state but " + others : named;
}

std::string actions_text(std::uint16_t actions) {
  std::string text;
  for (std::size_t i = 0; i < kTrainingActions; ++i) {
    if ((actions >> i & 1) == 0) continue;
    if (!text.empty()) text += "; ";
    text += kActionTexts[i];
  }
  return text;
}

std::string time_text(Duration time) {
  if (time % 1ms == 0ns) return fmt::format("{} ms", time / 1ms);
  if (time % 1us == 0ns) return fmt::format("{} us", time / 1us);
  return fmt::format("{} ns", time.count());
}

std::string_view time_name(Duration TrainingTimes::*time) {
  for (const TrainingTimeInfo& each : kTrainingTimes) {
    if (each.time == time) return each.name;
  }
  return "none";
}

}  // namespace

std::string_view to_text(TrainingState state) {
  return info(state).name;
}

std::string_view to_text(TrainingEvent event) {
  return kEventTexts[static_cast<std::size_t>(event)].name;
}

std::string_view to_text(LaneSend send) {
  constexpr std::array<std::string_view, 5> kTexts{"nothing", "TS1", "TS2", "idle data",
                                                   "packets and idle data"};
  return kTexts[static_cast<std::size_t>(send)];
}

std::string training_states_text() {
  std::string text =
      "| state | sends | PortPhysicalState | time-out | what it does |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (std::size_t i = 0; i < kTrainingStates; ++i) {
    const TrainingStateInfo& state = info(static_cast<TrainingState>(i));
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {} | {} |\n", state.name,
                   to_text(state.sends), static_cast<unsigned>(state.physical),
                   time_name(state.time_out), state.says);
  }
  return text;
}

std::string training_table_text() {
  std::string moves =
      "| in | when | if | next | besides |\n"
      "| --- | --- | --- | --- | --- |\n";
  std::string stays =
      "| in | of no account |\n"
      "| --- | --- |\n";
  for (const TrainingRow& row : training_table()) {
    if (row.next) {
      fmt::format_to(std::back_inserter(moves), "| {} | {} | {} | {} | {} |\n",
                     states_text(row.states), to_text(row.event),
                     kGuardTexts[static_cast<std::size_t>(row.guard)], to_text(*row.next),
                     actions_text(row.actions));
    } else {
      fmt::format_to(std::back_inserter(stays), "| {} | {} |\n", states_text(row.states),
                     to_text(row.event));
    }
  }
  return moves + "\n" + stays;
}

std::string training_events_text() {
  std::string text =
      "| event | when |\n"
      "| --- | --- |\n";
  for (const EventText& event : kEventTexts)
    fmt::format_to(std::back_inserter(text), "| {} | {} |\n", event.name, event.meaning);
  return text;
}

std::string training_times_text() {
  std::string text =
      "| time | default |\n"
      "| --- | --- |\n";
  constexpr TrainingTimes kDefaults;
  for (const TrainingTimeInfo& each : kTrainingTimes)
    fmt::format_to(std::back_inserter(text), "| {} | {} |\n", each.name,
                   time_text(kDefaults.*each.time));
  return text;
}

}  // namespace weft::phy

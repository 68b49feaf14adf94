// SPDX-License-Identifier: Apache-2.0
#include "phy/training/training_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "phy/training/training_text.h"

namespace weft::phy {
namespace {

std::vector<TrainingState> all_states() {
  std::vector<TrainingState> states;
  for (std::size_t i = 0; i < kTrainingStates; ++i)
    states.push_back(static_cast<TrainingState>(i));
  return states;
}

std::vector<const TrainingRow*> rows_of(TrainingState state, TrainingEvent event) {
  std::vector<const TrainingRow*> rows;
  for (const TrainingRow& row : training_table()) {
    if ((row.states & bit(state)) != 0 && row.event == event) rows.push_back(&row);
  }
  return rows;
}

TEST(TrainingTable, SaysForEveryStateWhatBecomesOfEveryEvent) {
  for (const TrainingState state : all_states()) {
    for (std::size_t i = 0; i < kTrainingEvents; ++i) {
      const auto event = static_cast<TrainingEvent>(i);
      const auto rows = rows_of(state, event);
      ASSERT_FALSE(rows.empty()) << to_text(state) << ": " << to_text(event);
      EXPECT_EQ(rows.back()->guard, TrainingGuard::kNone)
          << to_text(state) << ": " << to_text(event) << " is not for all cases";
    }
  }
}

TEST(TrainingTable, HasNoRowThatNeverCounts) {
  for (const TrainingState state : all_states()) {
    for (std::size_t i = 0; i < kTrainingEvents; ++i) {
      const auto event = static_cast<TrainingEvent>(i);
      std::set<TrainingGuard> before;
      for (const TrainingRow* const row : rows_of(state, event)) {
        EXPECT_FALSE(before.contains(TrainingGuard::kNone) || before.contains(row->guard))
            << to_text(state) << ": " << to_text(event);
        before.insert(row->guard);
      }
    }
  }
}

TEST(TrainingTable, LeavesEveryStateInTimeButThoseOfRest) {
  const std::set<TrainingState> rest{TrainingState::kDisabled, TrainingState::kSleepQuiet,
                                     TrainingState::kLinkUp};
  for (const TrainingState state : all_states()) {
    const auto rows = rows_of(state, TrainingEvent::kTimeOut);
    EXPECT_EQ(info(state).time_out == nullptr, rest.contains(state)) << to_text(state);
    for (const TrainingRow* const row : rows)
      EXPECT_EQ(!row->next, rest.contains(state)) << to_text(state);
  }
}

// With a dead cable only time passes, whatever the state: it ends with polling or sleep.
TEST(TrainingTable, LeadsByTimeOutsAloneToPollingOrSleep) {
  for (const bool sleeps : {false, true}) {
    for (TrainingState state : all_states()) {
      if (state == TrainingState::kDisabled || state == TrainingState::kLinkUp) continue;
      std::size_t steps = 0;
      for (;; ++steps) {
        const bool is_there = state == TrainingState::kPollingActive ||
                              state == TrainingState::kPollingQuiet ||
                              state == TrainingState::kSleepQuiet;
        if (is_there) break;
        ASSERT_LT(steps, kTrainingStates);
        for (const TrainingRow* const row : rows_of(state, TrainingEvent::kTimeOut)) {
          if (row->guard == TrainingGuard::kSleepsWhenDown && !sleeps) continue;
          if (row->guard == TrainingGuard::kMayReverse) continue;
          state = *row->next;
          break;
        }
      }
    }
  }
}

TEST(TrainingTable, ReachesEveryStateFromDisabledAndDisabledFromEvery) {
  std::set<TrainingState> reached{TrainingState::kDisabled};
  for (bool more = true; more;) {
    more = false;
    for (const TrainingRow& row : training_table()) {
      const bool from = std::ranges::any_of(
          reached, [&](TrainingState state) { return (row.states & bit(state)) != 0; });
      if (from && row.next) more = reached.insert(*row.next).second || more;
    }
  }
  EXPECT_EQ(reached.size(), kTrainingStates);
  for (const TrainingState state : all_states()) {
    if (state == TrainingState::kDisabled) continue;
    EXPECT_EQ(rows_of(state, TrainingEvent::kDisableCommand).front()->next,
              TrainingState::kDisabled);
  }
}

TEST(TrainingTable, GivesPortInfoTheStatesOfTheStandard) {
  const std::array<unsigned, kTrainingStates> values{3, 1, 1, 2, 2, 4, 4, 4, 4, 4, 5, 6, 6, 6};
  for (std::size_t i = 0; i < kTrainingStates; ++i)
    EXPECT_EQ(static_cast<unsigned>(info(static_cast<TrainingState>(i)).physical), values[i]) << i;
}

TEST(TrainingTable, SendsPacketsInLinkUpAndNowhereElse) {
  for (const TrainingState state : all_states())
    EXPECT_EQ(info(state).sends == LaneSend::kData, state == TrainingState::kLinkUp);
}

TEST(TrainingText, IsWhatThePageOfTheManualHas) {
  std::ifstream file(std::string(WEFT_TEST_DATA) + "/../../docs/link-states.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(page.empty());
  for (const std::string& text : {training_states_text(), training_events_text(),
                                  training_table_text(), training_times_text()}) {
    EXPECT_NE(page.find("\n\n" + text), std::string::npos) << "docs/link-states.md is to have:\n"
                                                           << text;
  }
}

}  // namespace
}  // namespace weft::phy

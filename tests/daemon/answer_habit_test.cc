// SPDX-License-Identifier: Apache-2.0
// For whose answers the lab keeps its processor.
#include "daemon/lab/answer_habit.h"

#include <gtest/gtest.h>

namespace weft::daemon {
namespace {

constexpr Time kStart{1s};

// Gives the program something and looks until it answers, or is not awaited any more; returns
// whether it was awaited at all.
bool give(AnswerHabit& habit, Time& now, Duration answers_after) {
  habit.given();
  const Time answer = now + answers_after;
  bool awaited = false;
  while (habit.is_awaited(now)) {
    awaited = true;
    now += 100ns;
    if (now >= answer) habit.answered();
  }
  now = std::max(now, answer);
  habit.answered();
  return awaited;
}

TEST(AnswerHabit, WhoAnswersSoonIsAwaitedEachTime) {
  AnswerHabit habit;
  Time now = kStart;
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(give(habit, now, 1us)) << i;
}

TEST(AnswerHabit, NobodyIsAwaitedForLong) {
  AnswerHabit habit;
  habit.given();
  EXPECT_TRUE(habit.is_awaited(kStart));
  EXPECT_TRUE(habit.is_awaited(kStart + AnswerHabit::kSoon - 1ns));
  EXPECT_FALSE(habit.is_awaited(kStart + AnswerHabit::kSoon));
  EXPECT_FALSE(habit.is_awaited(kStart + AnswerHabit::kSoon));
}

TEST(AnswerHabit, WhoHasGotNothingOrHasAnsweredIsNotAwaited) {
  AnswerHabit habit;
  EXPECT_FALSE(habit.is_awaited(kStart));
  habit.given();
  habit.answered();
  EXPECT_FALSE(habit.is_awaited(kStart));
}

TEST(AnswerHabit, WhoAnswersLateIsAwaitedLessAndLess) {
  AnswerHabit habit;
  Time now = kStart;
  int awaited = 0;
  for (int i = 0; i < 1000; ++i)
    awaited += give(habit, now, 10us) ? 1 : 0;
  EXPECT_LE(awaited, 25);
  EXPECT_GE(awaited, 10);  // it may have moved to another processor
}

TEST(AnswerHabit, WhoAnswersSoonAtLastIsAwaitedAgain) {
  AnswerHabit habit;
  Time now = kStart;
  for (int i = 0; i < 1000; ++i)
    give(habit, now, 10us);
  for (int i = 0; i < 200; ++i)
    give(habit, now, 1us);
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(give(habit, now, 1us)) << i;
}

}  // namespace
}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#include "host/alarm_pace.h"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

// After so many looks.
Duration after(AlarmPace& pace, int looks, bool polled, Duration least = Duration::zero()) {
  Duration last{};
  for (int i = 0; i < looks; ++i)
    last = pace.next(polled, least);
  return last;
}

TEST(AlarmPace, SlowsDownTwiceEachTime) {
  AlarmPace pace;
  EXPECT_EQ(pace.next(true, {}), 2 * AlarmPace::kFirst);
  EXPECT_EQ(pace.next(false, {}), 4 * AlarmPace::kFirst);
  EXPECT_EQ(pace.next(true, {}), 8 * AlarmPace::kFirst);
}

TEST(AlarmPace, LooksOftenWhileAProgramDoesNotPoll) {
  AlarmPace pace;
  EXPECT_EQ(after(pace, 20, false), AlarmPace::kMost);
}

TEST(AlarmPace, LooksRarelyWhileAllProgramsPoll) {
  AlarmPace pace;
  EXPECT_EQ(after(pace, 20, true), AlarmPace::kMostIfPolled);
}

TEST(AlarmPace, TurnsBackAtOnceWhenAProgramStopsPolling) {
  AlarmPace pace;
  after(pace, 20, true);
  EXPECT_EQ(pace.next(false, {}), AlarmPace::kMost);
}

TEST(AlarmPace, GivesLongLooksTime) {
  AlarmPace pace;
  EXPECT_EQ(after(pace, 20, false, 1ms), 1ms);
  EXPECT_EQ(after(pace, 20, true, 5ms), 5ms);
}

TEST(AlarmPace, BeginsAnewAfterARest) {
  AlarmPace pace;
  after(pace, 20, true);
  pace.rest();
  EXPECT_EQ(pace.next(true, {}), 2 * AlarmPace::kFirst);
}

}  // namespace
}  // namespace weft::host

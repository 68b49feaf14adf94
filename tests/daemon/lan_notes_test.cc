// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_notes.h"

#include <gtest/gtest.h>

namespace weft::daemon {
namespace {

using lan::LanCounter;

TEST(LanNotes, EachKindIsNotedOnceUntilThereWasNoneForLong) {
  lan::LanCounters counters;
  LanNotes notes;
  Time now{100s};
  notes.look(counters, now);
  EXPECT_TRUE(notes.all().empty());
  for (int second = 0; second < 3600; ++second) {
    counters.add(LanCounter::kRxForgedSource, 1000);
    notes.look(counters, now += 1s);
  }
  ASSERT_EQ(notes.all().size(), 1u);
  EXPECT_EQ(notes.all()[0].text.find("rx_forged_source: "), 0u);
  EXPECT_EQ(notes.all()[0].at, Time{101s});
  counters.add(LanCounter::kRxStorm);
  notes.look(counters, now += 1s);
  EXPECT_EQ(notes.all().size(), 2u);
  counters.add(LanCounter::kRxForgedSource);
  notes.look(counters, now += LanNotes::kQuiet - 2s);
  EXPECT_EQ(notes.all().size(), 2u);
  counters.add(LanCounter::kRxForgedSource);
  notes.look(counters, now += LanNotes::kQuiet);
  EXPECT_EQ(notes.all().size(), 3u);
}

TEST(LanNotes, OfAPeerThatBeginsAnewNothingIsNoted) {
  lan::LanCounters counters;
  LanNotes notes;
  Time now{100s};
  const auto look = [&](unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
      counters.add(LanCounter::kRxForgedQueuePair, 10);
      notes.look(counters, now += 1s);
    }
  };
  look(LanNotes::kPatience - 1);
  notes.look(counters, now += 1s);
  look(LanNotes::kPatience - 1);
  EXPECT_TRUE(notes.all().empty());
  look(1);
  EXPECT_EQ(notes.all().size(), 1u);
}

TEST(LanNotes, WhatIsUsualIsNotNotedAndTheOldestGo) {
  lan::LanCounters counters;
  LanNotes notes;
  Time now{100s};
  counters.add(LanCounter::kTxFrames);
  counters.add(LanCounter::kRxStranger);
  notes.look(counters, now);
  EXPECT_TRUE(notes.all().empty());
  for (std::size_t i = 0; i < LanNotes::kMost + 3; ++i) {
    counters.add(LanCounter::kTxStorm);
    notes.look(counters, now += LanNotes::kQuiet);
  }
  EXPECT_EQ(notes.all().size(), LanNotes::kMost);
  EXPECT_EQ(notes.all().back().at, now);
}

}  // namespace
}  // namespace weft::daemon

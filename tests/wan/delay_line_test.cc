// SPDX-License-Identifier: Apache-2.0
#include "wan/delay_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weft::wan {
namespace {

constexpr Time kDelayLineStart{1s};

void hold(DelayLine& line, std::string_view text, Time due, bool late = false) {
  const MutableBytes room = line.room(1000);
  ASSERT_EQ(room.size(), 1000u);
  std::memcpy(room.data(), text.data(), text.size());
  line.take(text.size());
  if (late) {
    line.hold_late(room.first(text.size()), due, 0, 0);
  } else {
    line.hold(room.first(text.size()), due, 0, 0);
  }
}

std::string next(DelayLine& line, Time now) {
  const auto held = line.next(now);
  if (!held) return "-";
  std::string text(reinterpret_cast<const char*>(held->bytes.data()), held->bytes.size());
  line.release(*held);
  return text;
}

TEST(DelayLine, GivesBackWhatIsDueInTheOrderOfTime) {
  DelayLine line(0);
  hold(line, "a", kDelayLineStart + 1ms);
  hold(line, "late", kDelayLineStart + 5ms, true);
  hold(line, "b", kDelayLineStart + 2ms);
  hold(line, "c", kDelayLineStart + 2ms);
  hold(line, "d", kDelayLineStart + 9ms);
  EXPECT_EQ(line.packets(), 5u);
  EXPECT_EQ(line.bytes(), 8u);
  EXPECT_EQ(line.due(), kDelayLineStart + 1ms);
  EXPECT_EQ(next(line, kDelayLineStart), "-");
  EXPECT_EQ(next(line, kDelayLineStart + 3ms), "a");
  EXPECT_EQ(next(line, kDelayLineStart + 3ms), "b");
  EXPECT_EQ(next(line, kDelayLineStart + 3ms), "c");
  EXPECT_EQ(next(line, kDelayLineStart + 3ms), "-");
  EXPECT_EQ(line.due(), kDelayLineStart + 5ms);
  EXPECT_EQ(next(line, kDelayLineStart + 9ms), "late");
  EXPECT_EQ(next(line, kDelayLineStart + 9ms), "d");
  EXPECT_EQ(line.due(), std::nullopt);
  EXPECT_EQ(line.bytes(), 0u);
}

TEST(DelayLine, TakesNoMoreMemoryThanItMayAndUsesItAgain) {
  constexpr std::size_t kLimit = 8 * DelayLine::kBlock;
  DelayLine line(kLimit);
  constexpr std::size_t kPacket = 64 * 1024;
  for (int round = 0; round < 10; ++round) {
    std::size_t held = 0;
    for (MutableBytes room = line.room(kPacket); !room.empty(); room = line.room(kPacket)) {
      std::fill(room.begin(), room.end(), std::byte(round));
      line.take(room.size());
      line.hold(room, kDelayLineStart + round * 1s, 7, 1);
      ASSERT_LE(line.memory(), kLimit);
      ASSERT_LE(++held, kLimit / kPacket);
    }
    EXPECT_GE(held, 6 * DelayLine::kBlock / kPacket);
    while (auto out = line.next(kDelayLineStart + round * 1s)) {
      EXPECT_EQ(out->bytes.size(), kPacket);
      EXPECT_EQ(out->bytes[kPacket - 1], std::byte(round));
      EXPECT_EQ(out->flow, 7u);
      line.release(*out);
    }
  }
}

TEST(DelayLine, BoundsPacketsThatHoldNothing) {
  DelayLine line(2 * DelayLine::kBlock);
  std::size_t held = 0;
  for (MutableBytes room = line.room(1); !room.empty(); room = line.room(1)) {
    line.take(0);
    line.hold(room.first(0), kDelayLineStart, 0, 0);
    ++held;
  }
  EXPECT_LE(held, 2 * DelayLine::kBlock / sizeof(DelayLine::Held) + 1);
}

TEST(DelayLine, HoldsAPartTwice) {
  DelayLine line(0);
  const MutableBytes room = line.room(100);
  line.take(100);
  line.hold(room, kDelayLineStart, 0, 0);
  line.hold(room, kDelayLineStart, 0, 0);
  const auto first = line.next(kDelayLineStart);
  line.release(*first);
  const auto second = line.next(kDelayLineStart);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->bytes.data(), room.data());
  line.release(*second);
}

}  // namespace
}  // namespace weft::wan

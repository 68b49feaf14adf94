// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/deskew.h"

#include <gtest/gtest.h>

#include <vector>

#include "phy/code/ordered_set.h"
#include "phy/lanes/elastic_buffer.h"
#include "phy/lanes/link_transmitter.h"

namespace weft::phy {
namespace {

// Symbols of a lane, one after the other from a given bit on.
void push_all(Deskew& deskew, std::size_t lane, const std::vector<LaneSymbol>& symbols,
              std::uint64_t& bit) {
  for (const LaneSymbol& symbol : symbols)
    deskew.push(lane, symbol, bit += 10);
}

std::vector<LaneSymbol> symbols_of(const std::vector<Character>& characters) {
  std::vector<LaneSymbol> symbols;
  for (const Character character : characters)
    symbols.push_back({character, false});
  return symbols;
}

Character mark(unsigned value) {
  return {static_cast<std::uint8_t>(value), false};
}

std::vector<Column> pop_all(Deskew& deskew) {
  std::vector<Column> columns;
  while (const auto column = deskew.pop())
    columns.push_back(*column);
  return columns;
}

// COM, then SKP so many times, then counting data from `first` on.
std::vector<LaneSymbol> skip_and_data(std::size_t skips, unsigned first, std::size_t count) {
  std::vector<Character> characters{kCom};
  characters.insert(characters.end(), skips, kSkp);
  for (std::size_t i = 0; i < count; ++i)
    characters.push_back(mark(first + unsigned(i)));
  return symbols_of(characters);
}

TEST(Deskew, BringsLanesInStepThatAreApartByAsMuchAsMayBe) {
  for (std::uint64_t skew = 0; skew <= Deskew::kMostSkewBits; ++skew) {
    LaneCounters counters;
    Deskew deskew(4, counters);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      std::uint64_t bit = 100 + (lane == 2 ? skew : 0);
      push_all(deskew, lane, symbols_of({mark(9), mark(9)}), bit);
      push_all(deskew, lane, skip_and_data(3, 0x20, 10), bit);
    }
    const std::vector<Column> columns = pop_all(deskew);
    ASSERT_EQ(columns.size(), 14U) << skew;
    for (std::size_t lane = 0; lane < 4; ++lane) {
      EXPECT_EQ(columns[0][lane].character, kCom);
      EXPECT_EQ(columns[4][lane].character, mark(0x20));
      EXPECT_EQ(columns[13][lane].character, mark(0x29));
    }
  }
}

TEST(Deskew, DoesNotTakeOneSetForTheNext) {
  // One lane hears nothing of the first training sets.
  const auto ts1 = training_set(OrderedSet::kTs1, 0);
  const std::vector<LaneSymbol> set = symbols_of({ts1.begin(), ts1.end()});
  LaneCounters counters;
  Deskew deskew(2, counters);
  std::uint64_t first = 0;
  std::uint64_t second = 2 * 160 + 30;
  for (int i = 0; i < 5; ++i)
    push_all(deskew, 0, set, first);
  push_all(deskew, 0, symbols_of({mark(1), mark(2)}), first);
  for (int i = 0; i < 3; ++i)
    push_all(deskew, 1, set, second);
  push_all(deskew, 1, symbols_of({mark(1), mark(2)}), second);
  const std::vector<Column> columns = pop_all(deskew);
  ASSERT_EQ(columns.size(), 3 * 16 + 2U);
  EXPECT_EQ(columns.back()[0], columns.back()[1]);
  EXPECT_EQ(counters.get(LaneCounter::kMisplacedSets), 0U);
}

TEST(Deskew, WaitsForAllLanes) {
  LaneCounters counters;
  Deskew deskew(2, counters);
  std::uint64_t bit = 0;
  push_all(deskew, 0, skip_and_data(3, 1, 5), bit);
  EXPECT_TRUE(pop_all(deskew).empty());
  EXPECT_FALSE(deskew.in_step());
  bit = 0;
  push_all(deskew, 1, skip_and_data(3, 1, 2), bit);
  EXPECT_EQ(pop_all(deskew).size(), 6U);
  EXPECT_TRUE(deskew.in_step());
}

TEST(Deskew, KeepsStepOverSkipSetsThatRepeatersHaveChanged) {
  for (std::size_t a = 1; a <= 5; ++a) {
    for (std::size_t b = 1; b <= 5; ++b) {
      LaneCounters counters;
      Deskew deskew(2, counters);
      std::uint64_t bits[2] = {0, 0};
      push_all(deskew, 0, skip_and_data(3, 1, 4), bits[0]);
      push_all(deskew, 1, skip_and_data(3, 1, 4), bits[1]);
      push_all(deskew, 0, skip_and_data(a, 1, 4), bits[0]);
      push_all(deskew, 1, skip_and_data(b, 1, 4), bits[1]);
      const std::vector<Column> columns = pop_all(deskew);
      ASSERT_EQ(columns.size(), 8 + 5 + std::max(a, b)) << a << " " << b;
      for (const Column& column : columns)
        EXPECT_EQ(column[0], column[1]);
      EXPECT_EQ(counters.get(LaneCounter::kDeskewLost), 0U);
    }
  }
}

TEST(Deskew, KeepsStepWithAnySymbolOfASkipSetWrong) {
  for (std::size_t wrong = 0; wrong < 4; ++wrong) {
    for (const Character garbage : {mark(0), kSkp, kEgp, kCom}) {
      LaneCounters counters;
      Deskew deskew(3, counters);
      std::uint64_t bits[3] = {0, 0, 0};
      for (std::size_t lane = 0; lane < 3; ++lane) {
        push_all(deskew, lane, skip_and_data(3, 1, 4), bits[lane]);
        std::vector<LaneSymbol> second = skip_and_data(3, 0x30, 4);
        if (lane == 1) second[wrong] = {garbage, true};
        push_all(deskew, lane, second, bits[lane]);
      }
      const std::vector<Column> columns = pop_all(deskew);
      ASSERT_EQ(columns.size(), 16U);
      for (std::size_t i = 12; i < 16; ++i) {
        EXPECT_EQ(columns[i][0], columns[i][1]) << wrong;
        EXPECT_EQ(columns[i][0], columns[i][2]);
      }
      EXPECT_TRUE(columns[8 + wrong][1].error) << "errors are not swallowed";
    }
  }
}

TEST(Deskew, StaysInStepPastOneComThatIsNoneAndGivesUpAtTheSecond) {
  LaneCounters counters;
  Deskew deskew(2, counters);
  std::uint64_t bits[2] = {0, 0};
  const auto both = [&](const std::vector<LaneSymbol>& symbols) {
    push_all(deskew, 0, symbols, bits[0]);
    push_all(deskew, 1, symbols, bits[1]);
  };
  both(skip_and_data(3, 1, 4));
  push_all(deskew, 0, symbols_of({kCom, mark(6)}), bits[0]);
  push_all(deskew, 1, symbols_of({mark(5), mark(6)}), bits[1]);
  EXPECT_EQ(pop_all(deskew).size(), 10U);
  EXPECT_TRUE(deskew.in_step());
  EXPECT_EQ(counters.get(LaneCounter::kMisplacedSets), 1U);
  both(skip_and_data(3, 1, 4));  // a COM of all lanes: the one before is forgotten
  push_all(deskew, 0, symbols_of({kCom}), bits[0]);
  push_all(deskew, 1, symbols_of({mark(5)}), bits[1]);
  (void)pop_all(deskew);
  EXPECT_TRUE(deskew.in_step());
  EXPECT_FALSE(deskew.take_break());
  push_all(deskew, 0, symbols_of({mark(5)}), bits[0]);
  push_all(deskew, 1, symbols_of({kCom}), bits[1]);
  (void)pop_all(deskew);
  EXPECT_FALSE(deskew.in_step());
  EXPECT_EQ(counters.get(LaneCounter::kDeskewLost), 1U);
  EXPECT_TRUE(deskew.take_break());
  EXPECT_FALSE(deskew.take_break());
}

TEST(Deskew, DoesNotKeepMoreOfALaneThanItMayWhenAnotherIsSilent) {
  LaneCounters counters;
  Deskew deskew(2, counters);
  std::uint64_t bits[2] = {0, 0};
  push_all(deskew, 0, skip_and_data(3, 1, 1), bits[0]);
  push_all(deskew, 1, skip_and_data(3, 1, 1), bits[1]);
  EXPECT_EQ(pop_all(deskew).size(), 5U);
  for (std::size_t i = 0; i <= Deskew::kMostWaiting; ++i) {
    EXPECT_EQ(counters.get(LaneCounter::kDeskewLost), 0U);
    deskew.push(0, {mark(1), false}, bits[0] += 10);
  }
  EXPECT_EQ(counters.get(LaneCounter::kDeskewLost), 1U);
  EXPECT_TRUE(deskew.take_break());
}

Column column_of(Character character) {
  Column column{};
  column.fill({character, false});
  return column;
}

TEST(ElasticBuffer, HandsNothingOutBeforeItIsHalfFull) {
  LaneCounters counters;
  ElasticBuffer buffer(4, counters);
  for (std::size_t i = 0; i < ElasticBuffer::kMiddle; ++i) {
    EXPECT_FALSE(buffer.pop());
    buffer.push(column_of(mark(unsigned(i))));
  }
  EXPECT_EQ(buffer.pop()->column[0].character, mark(0));
  EXPECT_EQ(counters.get(LaneCounter::kElasticUnderflows), 0U);
}

// So many columns in and out to begin with, then a SKIP set; how many SKP come out?
std::size_t skips_after(std::size_t ahead, std::size_t behind, std::size_t skips) {
  LaneCounters counters;
  ElasticBuffer buffer(1, counters);
  for (std::size_t i = 0; i < ElasticBuffer::kMiddle; ++i)
    buffer.push(column_of(mark(1)));
  EXPECT_TRUE(buffer.pop());
  buffer.push(column_of(mark(1)));
  for (std::size_t i = 0; i < ahead; ++i)
    buffer.push(column_of(mark(1)));
  for (std::size_t i = 0; i < behind; ++i)
    EXPECT_TRUE(buffer.pop());
  buffer.push(column_of(kCom));
  std::size_t out = 0;
  const auto take = [&] {
    const auto entry = buffer.pop();
    ASSERT_TRUE(entry);
    if (entry->column[0].character == kSkp) ++out;
  };
  take();
  for (std::size_t i = 0; i < skips; ++i) {
    buffer.push(column_of(kSkp));
    take();
  }
  while (buffer.size() != 0)
    take();
  return out;
}

TEST(ElasticBuffer, LeavesASkipSetAsItIsNearTheMiddle) {
  for (const std::size_t skips : {1UL, 3UL, 5UL}) {
    EXPECT_EQ(skips_after(0, 0, skips), skips);
    EXPECT_EQ(skips_after(1, 0, skips), skips);
    EXPECT_EQ(skips_after(0, 1, skips), skips);
  }
}

TEST(ElasticBuffer, GoesBackTowardsTheMiddleWithWhatASkipSetAllows) {
  EXPECT_EQ(skips_after(2, 0, 3), 2U);
  EXPECT_EQ(skips_after(3, 0, 3), 1U);
  EXPECT_EQ(skips_after(6, 0, 3), 1U) << "one SKP stays";
  EXPECT_EQ(skips_after(4, 0, 1), 1U);
  EXPECT_EQ(skips_after(0, 2, 3), 4U);
  EXPECT_EQ(skips_after(0, 3, 3), 5U);
  EXPECT_EQ(skips_after(0, 5, 3), 5U) << "five at most";
  EXPECT_EQ(skips_after(0, 5, 5), 5U);
}

TEST(ElasticBuffer, ChangesNothingThatIsNotASkipSetOfAllLanes) {
  LaneCounters counters;
  ElasticBuffer buffer(2, counters);
  for (std::size_t i = 0; i < 14; ++i) {
    buffer.push(column_of(mark(1)));
    if (i == ElasticBuffer::kMiddle) {
      EXPECT_TRUE(buffer.pop());
    }
  }
  Column half = column_of(kSkp);
  half[1].error = true;
  buffer.push(column_of(kSkp));  // no COM before it
  buffer.push(half);
  EXPECT_EQ(counters.get(LaneCounter::kSkipsRemoved), 0U);
  EXPECT_EQ(buffer.size(), 15U);
}

TEST(ElasticBuffer, MarksWhereColumnsAreMissing) {
  LaneCounters counters;
  ElasticBuffer buffer(1, counters);
  for (unsigned i = 0; i < ElasticBuffer::kCapacity + 3; ++i)
    buffer.push(column_of(mark(i)));
  EXPECT_EQ(counters.get(LaneCounter::kElasticOverflows), 3U);
  for (unsigned i = 0; i < ElasticBuffer::kCapacity; ++i) {
    const auto entry = buffer.pop();
    EXPECT_EQ(entry->column[0].character, mark(i));
    EXPECT_FALSE(entry->after_gap);
  }
  EXPECT_FALSE(buffer.pop());
  EXPECT_EQ(counters.get(LaneCounter::kElasticUnderflows), 1U);
  EXPECT_FALSE(buffer.pop());
  EXPECT_EQ(counters.get(LaneCounter::kElasticUnderflows), 1U) << "it waits, that is no other";
  for (unsigned i = 0; i < ElasticBuffer::kMiddle; ++i)
    buffer.push(column_of(mark(i)));
  EXPECT_TRUE(buffer.pop()->after_gap);
  EXPECT_FALSE(buffer.pop()->after_gap);
}

TEST(SkipSchedule, MakesASetDueEachIntervalAndCatchesUpAfterLongPackets) {
  for (const LinkWidth width : kWidestFirst) {
    LinkTransmitter sender(width);
    std::vector<std::byte> packet(4186);
    for (int i = 0; i < 40; ++i) {
      sender.send_packet(PacketKind::kData, packet);
      sender.send_idle(7);
    }
    sender.send_idle(10'000);
    // Where the sets are, on the last lane.
    Decoder decoder;
    const BitSpan bits = sender.bits(lanes_of(width) - 1);
    std::vector<std::size_t> sets;
    for (std::size_t i = 0; i * 10 < bits.count; ++i) {
      const auto decoded = decoder.decode(static_cast<std::uint16_t>(bits.take(i * 10, 10)));
      ASSERT_FALSE(decoded.error());
      if (decoded.character == kCom) sets.push_back(i);
    }
    const std::size_t longest = (packet.size() + 2) / lanes_of(width) + 1;
    EXPECT_EQ(sets.size(), bits.count / 10 / SkipSchedule::kInterval);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      EXPECT_GE(sets[i], (i + 1) * SkipSchedule::kInterval);
      EXPECT_LE(sets[i], (i + 1) * SkipSchedule::kInterval + longest + kSkipSetSize);
    }
  }
}

}  // namespace
}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
// Packets through a ring in memory, and what a ring believes of its other side: nothing.
#include "carrier/ring_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "two_rings.h"

namespace weft::carrier {
namespace {

using ::testing::HasSubstr;

class RingTest : public ::testing::Test, protected TwoRings {
 protected:
  void send(std::size_t size, std::uint8_t filling) {
    ASSERT_TRUE(left.put(*packets_.make(size, filling)));
  }
  void expect_packet(std::size_t size, std::uint8_t filling) {
    const auto record = right.next();
    ASSERT_TRUE(record);
    EXPECT_TRUE(record->is_packet);
    ASSERT_EQ(record->bytes.size(), size);
    EXPECT_TRUE(std::all_of(record->bytes.begin(), record->bytes.end(),
                            [&](std::byte byte) { return byte == std::byte{filling}; }));
    right.taken();
  }
  // Fills the ring until it says that it is full; how many packets that took.
  unsigned fill(std::size_t size) {
    unsigned sent = 0;
    while (left.has_room()) {
      send(size, static_cast<std::uint8_t>(sent));
      ++sent;
    }
    return sent;
  }
  // A record of any kind and size, written and shown as the left side does.
  void write_record(std::uint32_t kind, std::uint32_t size, std::uint64_t bytes) {
    const RecordHead head{.kind = kind, .size = size};
    std::memcpy(left_memory->bytes.data() + left_memory->written % kRingBytes, &head, sizeof head);
    left_memory->written += bytes;
  }
  void expect_lie(const char* what) {
    EXPECT_FALSE(right.next());
    ASSERT_TRUE(right.lie());
    EXPECT_THAT(std::string(*right.lie()), HasSubstr(what));
    EXPECT_FALSE(right.has_room()) << "nothing is to be had from a liar";
  }

  SomePackets packets_;
};

TEST_F(RingTest, HandsOverPacketsWholeAndInOrderWithFlowControlAmongThem) {
  send(10, 1);
  ASSERT_TRUE(left.put(some_credit(123)));
  send(link::kLongestPacket, 2);
  static_cast<void>(left.publish());
  expect_packet(10, 1);
  const auto credit = right.next();
  ASSERT_TRUE(credit && !credit->is_packet);
  EXPECT_EQ(wire::FlowControl::parse(credit->bytes)->fccl, 123);
  right.taken();
  expect_packet(link::kLongestPacket, 2);
  EXPECT_FALSE(right.next());
  EXPECT_FALSE(right.lie());
}

TEST_F(RingTest, ShowsNothingBeforeItIsPublished) {
  send(64, 1);
  EXPECT_FALSE(right.next());
  static_cast<void>(left.publish());
  expect_packet(64, 1);
}

TEST_F(RingTest, GoesRoundItsMemoryManyTimes) {
  std::size_t size = link::kShortestPacket;
  for (unsigned i = 0; i < 5000; ++i) {
    send(size, static_cast<std::uint8_t>(i));
    static_cast<void>(left.publish());
    expect_packet(size, static_cast<std::uint8_t>(i));
    static_cast<void>(right.publish());
    size = size * 7 % (link::kLongestPacket - link::kShortestPacket) + link::kShortestPacket;
  }
  EXPECT_GT(left_memory->written.load(), 10 * kRingBytes);
}

TEST_F(RingTest, WhenFullTakesFlowControlStillAndGoesOnWhenItIsRead) {
  const unsigned sent = fill(link::kLongestPacket);
  EXPECT_GT(sent, kRingBytes / link::kLongestPacket / 2);
  EXPECT_TRUE(left.put(some_credit(1)));
  static_cast<void>(left.publish());
  for (unsigned i = 0; i < sent; ++i)
    expect_packet(link::kLongestPacket, static_cast<std::uint8_t>(i));
  EXPECT_FALSE(left.has_room()) << "before the reader has shown it";
  static_cast<void>(right.publish());
  EXPECT_TRUE(left.has_room());
}

TEST_F(RingTest, RefusesWhatDoesNotFit) {
  fill(link::kLongestPacket);
  int credits = 0;
  while (left.put(some_credit(1)))
    ASSERT_LT(++credits, 100'000);
  EXPECT_FALSE(left.put(*packets_.make(64, 1)));
  static_cast<void>(left.publish());
  while (right.next())
    right.taken();
  EXPECT_FALSE(right.lie()) << "what was refused has left no trace";
}

TEST_F(RingTest, WakesAReaderThatSleepsAndNobodyElse) {
  send(64, 1);
  EXPECT_FALSE(left.publish()) << "the reader is awake";
  EXPECT_FALSE(right.sleep()) << "something has come";
  expect_packet(64, 1);
  EXPECT_TRUE(right.sleep());
  EXPECT_FALSE(left.publish()) << "nothing is new";
  send(64, 2);
  EXPECT_TRUE(left.publish());
  right.look();
  send(64, 3);
  EXPECT_FALSE(left.publish());
}

TEST_F(RingTest, WakesAWriterThatFoundItFull) {
  fill(link::kLongestPacket);
  static_cast<void>(left.publish());
  ASSERT_TRUE(right.next());
  right.taken();
  EXPECT_TRUE(right.publish());
  while (right.next())
    right.taken();
  static_cast<void>(right.publish());
  EXPECT_TRUE(left.has_room());
  send(64, 1);
  static_cast<void>(left.publish());
  ASSERT_TRUE(right.next());
  right.taken();
  EXPECT_FALSE(right.publish()) << "the writer waits no more";
}

TEST_F(RingTest, EndsWithMoreWrittenThanTheRingHolds) {
  left_memory->written = kRingBytes + 8;
  expect_lie("written");
}

TEST_F(RingTest, EndsWithACountThatGoesBack) {
  send(64, 1);
  send(64, 2);
  static_cast<void>(left.publish());
  expect_packet(64, 1);
  expect_packet(64, 2);
  left_memory->written -= 8;
  expect_lie("written");
}

TEST_F(RingTest, EndsWithACountBetweenRecords) {
  left_memory->written = 12;
  expect_lie("written");
}

TEST_F(RingTest, EndsWithMoreReadThanWasWritten) {
  right_memory->read = 8;
  EXPECT_FALSE(left.has_room());
  ASSERT_TRUE(left.lie());
}

TEST_F(RingTest, EndsWithAReadCountThatGoesBack) {
  send(64, 1);
  static_cast<void>(left.publish());
  expect_packet(64, 1);
  static_cast<void>(right.publish());
  EXPECT_TRUE(left.has_room());
  right_memory->read = 0;
  EXPECT_FALSE(left.has_room());
  ASSERT_TRUE(left.lie());
}

TEST_F(RingTest, EndsWithARecordLongerThanWhatIsWritten) {
  write_record(2, 64, 64);
  expect_lie("longer");
}

TEST_F(RingTest, EndsWithARecordLongerThanTheRing) {
  write_record(1, 0xFFFF'FFFF, 64);
  expect_lie("longer");
}

TEST_F(RingTest, EndsWithARecordThatGoesPastTheEndOfTheRing) {
  write_record(1, kRingBytes - 8 - 64, kRingBytes - 64);
  EXPECT_FALSE(right.next());
  EXPECT_FALSE(right.lie());
  write_record(2, 100, 112);
  expect_lie("longer");
}

TEST_F(RingTest, EndsWithAPacketTooShortOrTooLong) {
  for (const std::uint32_t size : {0U, 9U, 4223U, 5000U}) {
    TwoRings fresh;
    const RecordHead head{.kind = 2, .size = size};
    std::memcpy(fresh.left_memory->bytes.data(), &head, sizeof head);
    fresh.left_memory->written = 8192;
    EXPECT_FALSE(fresh.right.next()) << size;
    EXPECT_TRUE(fresh.right.lie()) << size;
  }
}

TEST_F(RingTest, EndsWithAKindThatThereIsNot) {
  write_record(4, 64, 72);
  expect_lie("kind");
}

TEST_F(RingTest, EndsWithFlowControlOfAnotherSize) {
  write_record(3, 7, 16);
  expect_lie("kind");
}

}  // namespace
}  // namespace weft::carrier

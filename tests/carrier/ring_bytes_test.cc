// SPDX-License-Identifier: Apache-2.0
// Streams of bytes through rings in memory, and what is believed of the other side: nothing.
#include "carrier/ring_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace weft::carrier {
namespace {

using ::testing::HasSubstr;

class RingBytesTest : public ::testing::Test {
 protected:
  // The next bytes of a sequence that repeats itself in no power of two.
  [[nodiscard]] static std::vector<std::byte> sequence(std::size_t from, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i)
      bytes[i] = static_cast<std::byte>((from + i) % 251);
    return bytes;
  }
  // How many of so many the left side could put in.
  std::size_t put(std::size_t count) {
    const std::size_t done = left_.put(sequence(sent_, count));
    sent_ += done;
    return done;
  }
  void expect_next(std::size_t count) {
    std::vector<std::byte> bytes(count);
    ASSERT_EQ(right_.take(bytes), count);
    EXPECT_EQ(bytes, sequence(got_, count));
    got_ += count;
  }
  void expect_lie(const char* what) {
    std::vector<std::byte> bytes(16);
    EXPECT_EQ(right_.take(bytes), 0u);
    ASSERT_TRUE(right_.lie());
    EXPECT_THAT(std::string(*right_.lie()), HasSubstr(what));
    EXPECT_EQ(right_.put(bytes), 0u) << "nothing is to be had from a liar";
    EXPECT_FALSE(right_.await_room(1));
  }

  std::unique_ptr<RingMemory> left_memory_ = std::make_unique<RingMemory>();
  std::unique_ptr<RingMemory> right_memory_ = std::make_unique<RingMemory>();
  RingBytes left_{*left_memory_, *right_memory_};
  RingBytes right_{*right_memory_, *left_memory_};
  std::size_t sent_ = 0;
  std::size_t got_ = 0;
};

TEST_F(RingBytesTest, BringsThemInOrderRoundItsMemoryManyTimes) {
  while (sent_ < 10 * kRingBytes) {
    const std::size_t count = 1 + sent_ % 70'001;
    ASSERT_EQ(put(count), count);
    static_cast<void>(left_.publish());
    expect_next(count / 2);
    expect_next(count - count / 2);
    static_cast<void>(right_.publish());
  }
  EXPECT_FALSE(right_.has_more());
  EXPECT_FALSE(left_.lie() || right_.lie());
}

TEST_F(RingBytesTest, TakesAsMuchAsThereIsRoomForAndMoreWhenThatWasRead) {
  EXPECT_EQ(put(kRingBytes - 10), kRingBytes - 10);
  EXPECT_EQ(put(100), 10u);
  EXPECT_EQ(put(1), 0u);
  static_cast<void>(left_.publish());
  expect_next(25);
  EXPECT_EQ(put(1), 0u) << "before the reader has shown it";
  static_cast<void>(right_.publish());
  EXPECT_EQ(put(100), 25u);
  static_cast<void>(left_.publish());
  expect_next(kRingBytes);
}

TEST_F(RingBytesTest, WakesWhoWaitsForBytesOrForRoomAndNobodyElse) {
  ASSERT_EQ(put(1), 1u);
  EXPECT_FALSE(left_.publish()) << "the reader is awake";
  EXPECT_FALSE(right_.sleep()) << "something has come";
  expect_next(1);
  EXPECT_TRUE(right_.sleep());
  ASSERT_EQ(put(kRingBytes - 1), kRingBytes - 1) << "one has not been shown as read";
  EXPECT_TRUE(left_.publish());
  right_.look();
  EXPECT_FALSE(left_.await_room(2));
  expect_next(1);
  EXPECT_TRUE(right_.publish());
  EXPECT_TRUE(left_.await_room(2));
  expect_next(1);
  EXPECT_FALSE(right_.publish()) << "the writer waits no more";
}

TEST_F(RingBytesTest, BelievesNoCountThatCannotBe) {
  left_memory_->written = kRingBytes + 1;
  expect_lie("written");
}

TEST_F(RingBytesTest, BelievesNoCountThatGoesBack) {
  ASSERT_EQ(put(100), 100u);
  static_cast<void>(left_.publish());
  expect_next(10);
  left_memory_->written = 9;
  while (!right_.has_come().empty())
    right_.taken(1);
  expect_lie("written");
}

TEST_F(RingBytesTest, BelievesNotThatMoreWasReadThanWritten) {
  left_memory_->read = 1;
  EXPECT_EQ(right_.room(), 0u);
  expect_lie("read");
}

}  // namespace
}  // namespace weft::carrier

// SPDX-License-Identifier: Apache-2.0
#include "link/receive_buffer.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::link {
namespace {

struct Freed : ReceiveBuffer::Observer {
  void space_freed(Vl vl) override { lanes.push_back(vl); }
  std::vector<Vl> lanes;
};

TEST(ReceiveBuffer, GivesEachLaneItsOwnSpace) {
  Freed freed;
  const auto buffer = ReceiveBuffer::make(100, 2, freed);
  const BufferHold first = buffer->take(Vl{0}, 60);
  EXPECT_TRUE(first);
  EXPECT_EQ(buffer->free(Vl{0}), 40);
  EXPECT_EQ(buffer->free(Vl{1}), 100);
  EXPECT_FALSE(buffer->take(Vl{0}, 41));
  EXPECT_TRUE(buffer->take(Vl{0}, 40));
  EXPECT_TRUE(buffer->take(Vl{1}, 100));
}

TEST(ReceiveBuffer, CountsPacketsOfManagement) {
  Freed freed;
  const auto buffer = ReceiveBuffer::make(100, 2, freed);
  const BufferHold first = buffer->take(kVl15, 1);
  const BufferHold second = buffer->take(kVl15, 1);
  EXPECT_TRUE(second);
  EXPECT_FALSE(buffer->take(kVl15, 1));
}

TEST(ReceiveBuffer, SaysWhenSpaceIsFree) {
  Freed freed;
  const auto buffer = ReceiveBuffer::make(100, 2, freed);
  { const BufferHold hold = buffer->take(Vl{3}, 60); }
  EXPECT_EQ(freed.lanes, std::vector<Vl>{Vl{3}});
  EXPECT_EQ(buffer->free(Vl{3}), 100);
}

TEST(ReceiveBuffer, IsFreeOnlyWhenTheLastSharerHasLetGo) {
  Freed freed;
  const auto buffer = ReceiveBuffer::make(100, 2, freed);
  BufferHold first = buffer->take(Vl{0}, 10);
  BufferHold second = first.share();
  BufferHold third = second.share();
  BufferHold moved = std::move(second);
  first.release();
  first.release();
  moved = BufferHold{};
  EXPECT_EQ(buffer->free(Vl{0}), 90);
  EXPECT_TRUE(freed.lanes.empty());
  BufferHold fourth = std::move(third);
  third = std::move(fourth);
  EXPECT_EQ(buffer->free(Vl{0}), 90);
  third.release();
  EXPECT_EQ(buffer->free(Vl{0}), 100);
  EXPECT_EQ(freed.lanes.size(), 1);
}

TEST(ReceiveBuffer, TakesIntoAHoldThatLetsGoOfWhatItHad) {
  Freed freed;
  const auto buffer = ReceiveBuffer::make(100, 2, freed);
  BufferHold hold = buffer->take(Vl{1}, 60);
  EXPECT_TRUE(buffer->take(Vl{0}, 70, hold));
  EXPECT_EQ(buffer->free(Vl{1}), 100);
  EXPECT_EQ(buffer->free(Vl{0}), 30);
  EXPECT_FALSE(buffer->take(Vl{0}, 101, hold));
  EXPECT_FALSE(hold);
  EXPECT_EQ(buffer->free(Vl{0}), 100);
}

TEST(ReceiveBuffer, HasNothingToShareOfAnEmptyHold) {
  BufferHold empty;
  EXPECT_FALSE(empty.share());
}

TEST(ReceiveBuffer, MayGoBeforeItsHolds) {
  Freed freed;
  auto buffer = ReceiveBuffer::make(100, 2, freed);
  BufferHold hold = buffer->take(Vl{0}, 10);
  BufferHold other = buffer->take(Vl{1}, 10);
  buffer.reset();
  hold.release();
  other.release();
  EXPECT_TRUE(freed.lanes.empty());
}

}  // namespace
}  // namespace weft::link

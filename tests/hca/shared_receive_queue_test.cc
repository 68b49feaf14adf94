// SPDX-License-Identifier: Apache-2.0
#include "hca/shared_receive_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft::hca {
namespace {

std::errc post(SharedReceiveQueue& queue, std::uint64_t wr_id, std::size_t pieces = 1) {
  const std::vector<Sge> list(pieces, Sge{.address = wr_id, .length = 10, .lkey = LKey{3}});
  return queue.post({.wr_id = wr_id, .pieces = list});
}

TEST(SharedReceiveQueue, GivesRequestsInTheOrderInWhichTheyWerePosted) {
  SharedReceiveQueue queue(4, 2);
  EXPECT_EQ(post(queue, 1, 2), std::errc{});
  EXPECT_EQ(post(queue, 2, 0), std::errc{});
  TakenReceive taken;
  ASSERT_TRUE(queue.take(taken));
  EXPECT_EQ(taken.wr_id, 1u);
  EXPECT_EQ(taken.length, 20u);
  EXPECT_EQ(taken.pieces.size(), 2u);
  ASSERT_TRUE(queue.take(taken));
  EXPECT_EQ(taken.wr_id, 2u);
  EXPECT_EQ(taken.length, 0u);
  EXPECT_TRUE(taken.pieces.empty());
  EXPECT_FALSE(queue.take(taken));
}

TEST(SharedReceiveQueue, RefusesWhatItHasNoRoomFor) {
  SharedReceiveQueue queue(1, 2);
  EXPECT_EQ(post(queue, 1, 3), std::errc::invalid_argument);
  EXPECT_EQ(post(queue, 1), std::errc{});
  EXPECT_EQ(post(queue, 2), std::errc::not_enough_memory);
}

TEST(SharedReceiveQueue, TellsOnceWhenItFallsBelowItsLimit) {
  SharedReceiveQueue queue(8, 1);
  for (unsigned i = 0; i < 5; ++i)
    post(queue, i);
  queue.set_limit(3);
  TakenReceive taken;
  queue.take(taken);
  queue.take(taken);
  EXPECT_FALSE(queue.take_limit_event()) << "three are left";
  queue.take(taken);
  EXPECT_TRUE(queue.take_limit_event());
  EXPECT_FALSE(queue.take_limit_event());
  EXPECT_EQ(queue.limit(), 0u);
  queue.take(taken);
  EXPECT_FALSE(queue.take_limit_event()) << "until it is armed again";
  queue.set_limit(1);
  queue.take(taken);
  EXPECT_TRUE(queue.take_limit_event());
}

TEST(SharedReceiveQueue, KeepsItsRequestsWhenItIsResized) {
  SharedReceiveQueue queue(4, 2);
  TakenReceive taken;
  for (unsigned i = 0; i < 4; ++i)
    post(queue, i, 2);
  queue.take(taken);
  post(queue, 4);  // the ring has gone round
  ASSERT_TRUE(queue.resize(100));
  EXPECT_EQ(queue.depth(), 100u);
  for (unsigned i = 5; i < 101; ++i)
    ASSERT_EQ(post(queue, i), std::errc{});
  EXPECT_EQ(post(queue, 101), std::errc::not_enough_memory);
  for (unsigned i = 1; i < 101; ++i) {
    ASSERT_TRUE(queue.take(taken));
    EXPECT_EQ(taken.wr_id, i);
    EXPECT_EQ(taken.pieces.size(), i < 4 ? 2u : 1u);
  }
}

TEST(SharedReceiveQueue, RefusesToShrinkBelowWhatItHolds) {
  SharedReceiveQueue queue(4, 1);
  for (unsigned i = 0; i < 3; ++i)
    post(queue, i);
  EXPECT_EQ(queue.resize(2).error().code, std::errc::invalid_argument);
  EXPECT_TRUE(queue.resize(3));
  TakenReceive taken;
  while (queue.take(taken)) {
  }
  EXPECT_FALSE(queue.resize(0));
  queue.set_limit(3);
  EXPECT_FALSE(queue.resize(2)) << "the limit could not be reached";
}

}  // namespace
}  // namespace weft::hca

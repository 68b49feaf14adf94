// SPDX-License-Identifier: Apache-2.0
#include "hca/completion_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>

namespace weft::hca {
namespace {

Completion numbered(std::uint64_t wr_id, Qpn qpn = Qpn{1}) {
  return {.wr_id = wr_id, .qpn = qpn};
}

std::vector<std::uint64_t> drain(CompletionQueue& queue) {
  std::vector<std::uint64_t> ids;
  std::array<Completion, 3> batch;
  while (const std::size_t n = queue.poll(batch)) {
    for (std::size_t i = 0; i < n; ++i)
      ids.push_back(batch[i].wr_id);
  }
  return ids;
}

TEST(CompletionQueue, ReturnsCompletionsInOrderWhileItGrows) {
  CompletionQueue queue(1000);
  std::deque<std::uint64_t> expected;
  std::uint64_t next = 0;
  std::array<Completion, 7> batch;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(queue.push(numbered(next)).stored);
      expected.push_back(next++);
    }
    const std::size_t n = queue.poll(std::span(batch).first(static_cast<std::size_t>(round % 8)));
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(batch[i].wr_id, expected.front());
      expected.pop_front();
    }
    EXPECT_EQ(queue.size(), expected.size());
    if (queue.size() > 900) {
      EXPECT_EQ(drain(queue).size(), expected.size());
      expected.clear();
    }
  }
}

TEST(CompletionQueue, IsOverrunForGoodOnceItWasFull) {
  CompletionQueue queue(2);
  EXPECT_TRUE(queue.push(numbered(1)).stored);
  EXPECT_TRUE(queue.push(numbered(2)).stored);
  EXPECT_FALSE(queue.overrun());
  EXPECT_FALSE(queue.push(numbered(3)).stored);
  EXPECT_TRUE(queue.overrun());
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{1, 2}));
  queue.arm(CompletionQueue::Arm::kNext);
  const auto pushed = queue.push(numbered(4));
  EXPECT_FALSE(pushed.stored);
  EXPECT_FALSE(pushed.notify);
}

TEST(CompletionQueue, NotifiesOnceForEachRequest) {
  CompletionQueue queue(10);
  EXPECT_FALSE(queue.push(numbered(1)).notify);
  queue.arm(CompletionQueue::Arm::kNext);
  EXPECT_TRUE(queue.push(numbered(2)).notify);
  EXPECT_FALSE(queue.push(numbered(3)).notify);
}

TEST(CompletionQueue, WakesForSolicitedOnlyUponSolicitedOrError) {
  CompletionQueue queue(10);
  queue.arm(CompletionQueue::Arm::kSolicited);
  EXPECT_FALSE(queue.push(numbered(1)).notify);
  Completion solicited = numbered(2);
  solicited.solicited = true;
  EXPECT_TRUE(queue.push(solicited).notify);
  EXPECT_FALSE(queue.push(solicited).notify);
  queue.arm(CompletionQueue::Arm::kSolicited);
  Completion failed = numbered(3);
  failed.status = CompletionStatus::kFlushed;
  EXPECT_TRUE(queue.push(failed).notify);
}

TEST(CompletionQueue, KeepsTheWiderOfTwoRequests) {
  CompletionQueue queue(10);
  queue.arm(CompletionQueue::Arm::kNext);
  queue.arm(CompletionQueue::Arm::kSolicited);
  EXPECT_TRUE(queue.push(numbered(1)).notify);
  Completion solicited = numbered(2);
  solicited.solicited = true;
  EXPECT_FALSE(queue.push(solicited).notify) << "one notification answers both";
}

TEST(CompletionQueue, ResizesAroundWhatIsOutstanding) {
  CompletionQueue queue(100);
  for (std::uint64_t i = 0; i < 40; ++i)
    queue.push(numbered(i));
  std::array<Completion, 30> batch;
  ASSERT_EQ(queue.poll(batch), 30u);
  for (std::uint64_t i = 40; i < 50; ++i)
    queue.push(numbered(i));
  EXPECT_FALSE(queue.resize(19));
  EXPECT_FALSE(queue.resize(0));
  EXPECT_EQ(queue.capacity(), 100u);
  ASSERT_TRUE(queue.resize(20));
  EXPECT_EQ(queue.capacity(), 20u);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 30; i < 50; ++i)
    expected.push_back(i);
  EXPECT_EQ(drain(queue), expected);
  ASSERT_TRUE(queue.resize(21));
  for (std::uint64_t i = 0; i < 21; ++i)
    EXPECT_TRUE(queue.push(numbered(i)).stored);
  EXPECT_FALSE(queue.push(numbered(21)).stored);
}

TEST(CompletionQueue, ForgetsOneQueuePairAndKeepsTheOrderOfTheOthers) {
  CompletionQueue queue(20);
  std::array<Completion, 12> batch;
  for (std::uint64_t i = 0; i < 12; ++i)
    queue.push(numbered(i));
  queue.poll(batch);
  for (std::uint64_t i = 0; i < 9; ++i)
    queue.push(numbered(i, Qpn{1 + static_cast<std::uint32_t>(i % 3)}));
  queue.forget(Qpn{2});
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{0, 2, 3, 5, 6, 8}));
  queue.forget(Qpn{1});
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace weft::hca

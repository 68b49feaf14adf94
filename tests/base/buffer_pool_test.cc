// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(BufferPool, GivesBuffersOfItsSizeUpToItsLimitAndThenAnError) {
  BufferPool pool(100, 3);
  std::vector<BufferRef> held;
  std::set<std::byte*> places;
  for (int i = 0; i < 3; ++i) {
    auto buffer = pool.acquire();
    ASSERT_TRUE(buffer.has_value());
    ASSERT_EQ(buffer->bytes().size(), 100u);
    std::memset(buffer->bytes().data(), i, 100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->bytes().data()) % 64, 0u);
    places.insert(buffer->bytes().data());
    held.push_back(std::move(*buffer));
  }
  EXPECT_EQ(places.size(), 3u);
  EXPECT_EQ(pool.in_use(), 3u);
  EXPECT_EQ(pool.acquire().error(), std::errc::no_buffer_space);
  held.pop_back();
  EXPECT_EQ(pool.in_use(), 2u);
  const auto again = pool.acquire();
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(places.contains(again->bytes().data()));  // reused, not grown
}

TEST(BufferPool, TakesABlockBackWhenItsLastReferenceGoes) {
  BufferPool pool(64, 1);
  BufferRef first = *pool.acquire();
  EXPECT_TRUE(first.unique());
  BufferRef second = first;
  EXPECT_FALSE(first.unique());
  BufferRef third;
  third = second;
  second = std::move(third);
  first.reset();
  EXPECT_FALSE(first);
  EXPECT_TRUE(first.bytes().empty());
  EXPECT_EQ(pool.in_use(), 1u);
  EXPECT_TRUE(second.unique());
  auto& alias = second;
  second = alias;  // assigning a reference to itself keeps it
  EXPECT_EQ(pool.in_use(), 1u);
  second = BufferRef{};
  EXPECT_EQ(pool.in_use(), 0u);
}

class Lender final : public BufferOwner {
 public:
  void returned(BufferBlock& block) override { back.push_back(&block); }
  std::vector<BufferBlock*> back;
};

class BufferBlocks : public ::testing::TestWithParam<BufferBlock::Threads> {};
INSTANTIATE_TEST_SUITE_P(InAnyThreadAndInTurn, BufferBlocks,
                         ::testing::Values(BufferBlock::Threads::kAny,
                                           BufferBlock::Threads::kInTurn));

TEST_P(BufferBlocks, GoBackToWhoeverLentThemWithTheirLastReference) {
  Lender lender;
  std::array<std::byte, 8> memory{};
  BufferBlock block(memory, GetParam());
  EXPECT_FALSE(block.lent());
  BufferRef first = block.lend(lender);
  EXPECT_EQ(first.bytes().data(), memory.data());
  EXPECT_EQ(first.bytes().size(), memory.size());
  EXPECT_EQ(first.block()->owner(), &lender);
  BufferRef second = first;
  BufferRef third = block.share();
  EXPECT_FALSE(third.unique());
  first.reset();
  third.reset();
  EXPECT_TRUE(second.unique());
  EXPECT_TRUE(block.lent());
  EXPECT_TRUE(lender.back.empty());
  second.reset();
  EXPECT_FALSE(block.lent());
  ASSERT_EQ(lender.back.size(), 1u);
  EXPECT_EQ(lender.back[0], &block);
}

TEST(BufferBlock, MayBeLentAnewToAnotherOwner) {
  Lender first;
  Lender second;
  BufferBlock block;
  block.lend(first).reset();
  block.lend(second).reset();
  EXPECT_EQ(first.back.size(), 1u);
  EXPECT_EQ(second.back.size(), 1u);
  EXPECT_TRUE(block.lend(first).bytes().empty()) << "memory that nobody may write to";
}

// Threads share blocks and drop them in any order. A block handed out while another still holds it
// would show as a changed stamp, a lost one as a pool that never empties.
TEST(BufferPool, NeverHandsABlockToTwoThreads) {
  BufferPool pool(sizeof(std::uint64_t), 16);
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (std::uint64_t who = 0; who < 4; ++who) {
    threads.emplace_back([&, who] {
      std::mt19937_64 random(who);
      std::vector<std::pair<BufferRef, std::uint64_t>> held;
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        if (random() % 2 == 0) {
          if (auto buffer = pool.acquire()) {
            const std::uint64_t stamp = who << 32 | i;
            std::memcpy(buffer->bytes().data(), &stamp, sizeof stamp);
            held.emplace_back(std::move(*buffer), stamp);
            if (random() % 2 == 0) held.push_back(held.back());
          }
        } else if (!held.empty()) {
          const std::size_t index = random() % held.size();
          std::uint64_t stamp = 0;
          std::memcpy(&stamp, held[index].first.bytes().data(), sizeof stamp);
          if (stamp != held[index].second) ++clashes;
          std::swap(held[index], held.back());
          held.pop_back();
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(clashes.load(), 0);
  EXPECT_EQ(pool.in_use(), 0u);
}

// The last holder may be another thread than the first: what the first wrote must be seen, and the
// next owner must not race with the last reader.
TEST(BufferPool, LetsBuffersGoFromThreadToThread) {
  BufferPool pool(64, 8);
  std::mutex mutex;
  std::vector<BufferRef> mailbox;
  constexpr std::uint64_t kRounds = 20'000;
  std::thread reader([&] {
    for (std::uint64_t next = 0; next < kRounds;) {
      std::vector<BufferRef> batch;
      {
        const std::lock_guard lock(mutex);
        batch.swap(mailbox);
      }
      if (batch.empty()) std::this_thread::yield();
      for (const BufferRef& buffer : batch) {
        std::uint64_t value = 0;
        std::memcpy(&value, buffer.bytes().data(), sizeof value);
        EXPECT_EQ(value, next++);
      }
    }
  });
  for (std::uint64_t i = 0; i < kRounds;) {
    auto buffer = pool.acquire();
    if (!buffer) {
      std::this_thread::yield();
      continue;
    }
    std::memcpy(buffer->bytes().data(), &i, sizeof i);
    ++i;
    const std::lock_guard lock(mutex);
    mailbox.push_back(*buffer);  // the writer's own reference goes at the end of the turn
  }
  reader.join();
  EXPECT_EQ(pool.in_use(), 0u);
}

}  // namespace
}  // namespace weft

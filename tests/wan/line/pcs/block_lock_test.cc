// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/block_lock.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "wan/line/pcs/link_fault.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kBad = 0b11;

void see(BlockLock& lock, std::uint8_t header, int times) {
  for (int i = 0; i < times; ++i)
    EXPECT_FALSE(lock.slips(header));
}

TEST(BlockLock, IsThereAfter64GoodHeadersInARow) {
  BlockLock lock;
  see(lock, Block::kData, 63);
  EXPECT_FALSE(lock.locked());
  EXPECT_TRUE(lock.slips(kBad)) << "the first bad one is enough";
  see(lock, Block::kControl, 63);
  EXPECT_FALSE(lock.locked());
  see(lock, Block::kControl, 1);
  EXPECT_TRUE(lock.locked());
}

TEST(BlockLock, IsLostWithThe16thBadHeaderOf64) {
  BlockLock lock;
  see(lock, Block::kData, 64);
  for (int window = 0; window < 3; ++window) {
    see(lock, kBad, 15);
    see(lock, Block::kData, 49);
    EXPECT_TRUE(lock.locked());
  }
  see(lock, kBad, 15);
  EXPECT_TRUE(lock.slips(kBad));
  EXPECT_FALSE(lock.locked());
}

TEST(HighErrorRate, Is16BadHeadersIn125MicrosecondsUntilThereAreFewer) {
  HighErrorRate rate(1000);
  const auto run = [&](int bad) {
    for (int i = 0; i < 1000; ++i)
      rate.see(i < bad ? kBad : Block::kData);
  };
  run(15);
  EXPECT_FALSE(rate.high());
  for (int i = 0; i < 15; ++i)
    rate.see(kBad);
  EXPECT_FALSE(rate.high());
  rate.see(kBad);
  EXPECT_TRUE(rate.high()) << "at once, with the 16th";
  for (int i = 0; i < 984; ++i)
    rate.see(Block::kData);
  EXPECT_TRUE(rate.high());
  run(16);
  EXPECT_TRUE(rate.high());
  run(3);
  EXPECT_FALSE(rate.high());
  run(16);
  rate.restart();
  EXPECT_FALSE(rate.high());
}

// Many good headers at once are what they are one by one.
TEST(BlockLock, AndTheErrorRateSeeGoodHeadersTogether) {
  Random random(31);
  BlockLock lock, lock_of_each;
  HighErrorRate rate(500), rate_of_each(500);
  std::size_t lost = 0, high = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t good = random.below(random.below(20) == 0 ? 700 : 5);
    for (std::size_t i = 0; i < good; ++i) {
      EXPECT_FALSE(lock_of_each.slips(Block::kData));
      rate_of_each.see(Block::kData);
    }
    if (lock.locked()) {
      lock.see_good(good);
    } else {
      see(lock, Block::kData, static_cast<int>(good));
    }
    if (rate.high()) {
      for (std::size_t i = 0; i < good; ++i)
        rate.see(Block::kData);
    } else {
      rate.see_good(good);
    }
    const bool slips = lock_of_each.slips(kBad);
    lost += slips ? 1 : 0;
    ASSERT_EQ(lock.slips(kBad), slips);
    rate.see(kBad);
    rate_of_each.see(kBad);
    high += rate.high() ? 1 : 0;
    ASSERT_EQ(lock.locked(), lock_of_each.locked());
    ASSERT_EQ(rate.high(), rate_of_each.high());
  }
  EXPECT_GT(lost, 100U);
  EXPECT_GT(high, 100U);
}

TEST(HighErrorRate, CountsBlocksOf125Microseconds) {
  EXPECT_EQ(HighErrorRate::kBlocksOfLan, static_cast<std::uint32_t>(125e-6 * 10.3125e9 / 66));
  EXPECT_EQ(HighErrorRate::kBlocksOfWan, static_cast<std::uint32_t>(125e-6 * 9.58464e9 / 66));
}

TEST(LinkFault, IsFourOfTheSameWithin128ColumnsEach) {
  LinkFaultStates states;
  for (int i = 0; i < 3; ++i) {
    states.see(LinkFault::kLocal);
    states.quiet(127);
  }
  EXPECT_EQ(states.fault(), LinkFault::kNone);
  states.see(LinkFault::kLocal);
  EXPECT_EQ(states.fault(), LinkFault::kLocal);
  // Another one takes four of its own, and until then nothing changes.
  for (int i = 0; i < 3; ++i)
    states.see(LinkFault::kRemote);
  EXPECT_EQ(states.fault(), LinkFault::kLocal);
  states.see(LinkFault::kLocal);
  for (int i = 0; i < 4; ++i)
    states.see(LinkFault::kRemote);
  EXPECT_EQ(states.fault(), LinkFault::kRemote);
  states.quiet(127);
  EXPECT_EQ(states.fault(), LinkFault::kRemote);
  states.quiet(1);
  EXPECT_EQ(states.fault(), LinkFault::kNone);
}

TEST(LinkFault, IsForgottenWhen128ColumnsPassBeforeTheFourth) {
  LinkFaultStates states;
  for (int i = 0; i < 10; ++i) {
    for (int once = 0; once < 3; ++once)
      states.see(LinkFault::kRemote);
    states.quiet(128);
  }
  EXPECT_EQ(states.fault(), LinkFault::kNone);
}

}  // namespace
}  // namespace weft::wan

// SPDX-License-Identifier: Apache-2.0
#include "wan/tunnel_credit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/random.h"

namespace weft::wan {
namespace {

using Heard = TunnelSendCredit::Heard;

TEST(BlockSize, CountsWholeBlocksOfAnyPowerOfTwoFrom64Bytes) {
  EXPECT_EQ(BlockSize{}.bytes(), 64);
  EXPECT_EQ(BlockSize{}.blocks(0), 0);
  EXPECT_EQ(BlockSize{}.blocks(1), 1);
  EXPECT_EQ(BlockSize{}.blocks(64), 1);
  EXPECT_EQ(BlockSize{}.blocks(65), 2);
  EXPECT_EQ(BlockSize{3}.bytes(), 512);
  EXPECT_EQ(BlockSize{3}.blocks(513), 2);
  EXPECT_EQ(BlockSize{3}.whole_blocks(1023), 1);
  EXPECT_EQ(BlockSize{BlockSize::kMostScale}.bytes(), std::size_t{4} << 20);
}

TEST(TunnelSendCredit, SpendsAnEmptyFifoBeforeTheFirstAdvertisement) {
  TunnelSendCredit credit(100);
  EXPECT_TRUE(credit.allows(100));
  EXPECT_FALSE(credit.allows(101));
  credit.spend(60);
  EXPECT_FALSE(credit.allows(41));
}

TEST(TunnelSendCredit, TakesCountsFarBeyondTheTwelveBitsOfTheStandard) {
  TunnelSendCredit credit(std::uint64_t{1} << 40);
  for (int round = 0; round < 1000; ++round) {
    ASSERT_TRUE(credit.allows(std::uint64_t{1} << 40));
    credit.spend(std::uint64_t{1} << 40);
    ASSERT_FALSE(credit.allows(1));
    ASSERT_EQ(credit.granted(credit.sent() + (std::uint64_t{1} << 40)), Heard::kMore);
  }
}

TEST(TunnelSendCredit, TakesNoHarmFromLateAndDoubledAdvertisements) {
  TunnelSendCredit credit(100);
  credit.spend(100);
  EXPECT_EQ(credit.granted(180), Heard::kMore);
  EXPECT_EQ(credit.granted(180), Heard::kNothing);
  EXPECT_EQ(credit.granted(140), Heard::kNothing);
  EXPECT_EQ(credit.granted(0), Heard::kNothing);
  EXPECT_EQ(credit.limit(), 180);
}

TEST(TunnelSendCredit, RefusesWhatNoFifoOfThatSizeCanGrant) {
  TunnelSendCredit credit(100);
  credit.spend(10);
  EXPECT_EQ(credit.granted(111), Heard::kForged);
  EXPECT_EQ(credit.granted(std::numeric_limits<std::uint64_t>::max()), Heard::kForged);
  EXPECT_EQ(credit.limit(), 100);
  EXPECT_EQ(credit.granted(110), Heard::kMore);
}

TEST(TunnelReceiveCredit, CoversWhatItHasToldAndNothingBeyond) {
  TunnelReceiveCredit credit(100, 5);
  EXPECT_TRUE(credit.covers(0, 100));
  EXPECT_TRUE(credit.covers(98, 2));
  EXPECT_FALSE(credit.covers(98, 3));
  EXPECT_FALSE(credit.covers(101, 0));
  EXPECT_FALSE(credit.covers(1, std::numeric_limits<std::uint64_t>::max()));
  credit.tell(credit.limit(50));
  EXPECT_TRUE(credit.covers(98, 52));
}

TEST(TunnelReceiveCredit, TellsAThirtySecondOfTheFifoOrWhoeverMayWait) {
  TunnelReceiveCredit credit(3200, 5);
  EXPECT_FALSE(credit.worth_telling(0, 3200)) << "nothing is free";
  const TunnelReceiveCredit large(std::uint64_t{1} << 24, 5);
  EXPECT_FALSE(large.worth_telling((1U << 14) - 1, 1U << 20));
  EXPECT_TRUE(large.worth_telling(1U << 14, 1U << 20)) << "a mebibyte";
  EXPECT_FALSE(credit.worth_telling(99, 200));
  EXPECT_TRUE(credit.worth_telling(100, 200));
  EXPECT_FALSE(credit.worth_telling(1, 3195)) << "it can send its longest packet";
  EXPECT_TRUE(credit.worth_telling(1, 3196));
  credit.tell(credit.limit(100));
  EXPECT_FALSE(credit.worth_telling(100, 3300));
}

// Sender and receiver with a FIFO between them, and a way that loses, doubles and mixes up what the
// receiver says.
TEST(TunnelCredit, NeverOverflowsAndNeverStopsWhateverBecomesOfAdvertisements) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::uint64_t capacity = random.between(20, 400);
    TunnelSendCredit sender(capacity);
    TunnelReceiveCredit receiver(capacity, 5);
    std::vector<std::uint64_t> on_the_way;
    std::uint64_t drained = 0;
    for (int step = 0; step < 5000; ++step) {
      for (auto blocks = random.between(1, 5); sender.allows(blocks) && random.chance(0.7);) {
        ASSERT_TRUE(receiver.covers(sender.sent(), blocks));
        sender.spend(blocks);
      }
      ASSERT_LE(sender.sent() - drained, capacity) << "the FIFO overflows";
      drained += random.below(sender.sent() - drained + 1);
      if (receiver.worth_telling(drained, sender.sent())) {
        receiver.tell(receiver.limit(drained));
        on_the_way.push_back(receiver.told());
      }
      if (!on_the_way.empty() && random.chance(0.5)) {
        const auto which = on_the_way.begin() + static_cast<long>(random.below(on_the_way.size()));
        ASSERT_NE(sender.granted(*which), Heard::kForged);
        if (random.chance(0.8)) on_the_way.erase(which);
      }
    }
    EXPECT_GT(sender.sent(), 5 * capacity);
    // What is said again at last makes up for everything.
    receiver.tell(receiver.limit(drained));
    sender.granted(receiver.told());
    EXPECT_EQ(sender.limit(), drained + capacity);
  }
}

}  // namespace
}  // namespace weft::wan

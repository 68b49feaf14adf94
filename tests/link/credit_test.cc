// SPDX-License-Identifier: Apache-2.0
#include "link/credit.h"

#include <gtest/gtest.h>

namespace weft::link {
namespace {

TEST(SendCredit, IsNoneBeforeThePeerHasSpoken) {
  const SendCredit credit;
  EXPECT_FALSE(credit.allows(0));
  EXPECT_FALSE(credit.allows(1));
}

TEST(SendCredit, AllowsUpToTheLimitAndNoBlockMore) {
  SendCredit credit;
  credit.granted(10);
  EXPECT_TRUE(credit.allows(10));
  EXPECT_FALSE(credit.allows(11));
  credit.sent(7);
  EXPECT_TRUE(credit.allows(3));
  EXPECT_FALSE(credit.allows(4));
  credit.sent(3);
  EXPECT_FALSE(credit.allows(1));
}

// Wherever the two counts stand, the answer is that of numbers without a modulus.
TEST(SendCredit, CountsModulo4096) {
  for (unsigned start = 0; start < 4096; start += 61) {
    for (const unsigned grant : {0U, 1U, 66U, 2047U, 2048U}) {
      SendCredit credit;
      for (unsigned sent = 0; sent < start; sent += 61)
        credit.sent(61);
      credit.granted(CreditFormat{}.count(start + grant));
      for (const unsigned blocks : {1U, 2U, 66U, 67U, 1000U, 2047U}) {
        EXPECT_EQ(credit.allows(blocks), blocks <= grant) << start << ' ' << grant << ' ' << blocks;
      }
    }
  }
}

TEST(SendCredit, CountsModulo2To24WhereThatIsAgreed) {
  constexpr CreditFormat kWide{.wide = true};
  for (const std::uint32_t start : {0U, 4095U, 4096U, 0x7F'FFFFU, 0xFF'F000U, 0xFF'FFFFU}) {
    for (const std::uint32_t grant : {0U, 2049U, 5000U, 0x80'0000U}) {
      SendCredit credit(kWide);
      credit.sent(start);
      credit.granted(kWide.count(start + grant));
      for (const std::uint32_t blocks : {1U, 67U, 2049U, 5000U, 5001U})
        EXPECT_EQ(credit.allows(blocks), blocks <= grant) << start << ' ' << grant << ' ' << blocks;
    }
  }
}

TEST(CreditFormat, CountsWholeBlocks) {
  EXPECT_EQ(CreditFormat{}.blocks(64), 1);
  EXPECT_EQ(CreditFormat{}.blocks(65), 2);
  constexpr CreditFormat kLarge{.scale = 3};
  EXPECT_EQ(kLarge.blocks(512), 1);
  EXPECT_EQ(kLarge.blocks(513), 2);
  EXPECT_EQ(kLarge.space(513), 16) << "of 64 bytes";
  EXPECT_EQ(kLarge.most(), kMostCredit);
  EXPECT_EQ((CreditFormat{.wide = true}.most()), 1U << 23);
}

TEST(ReceiveCredit, GrantsWhatIsFreeAndAtMost2048) {
  ReceiveCredit credit;
  EXPECT_EQ(credit.fccl(100), 100);
  EXPECT_EQ(credit.fccl(2048), 2048);
  EXPECT_EQ(credit.fccl(5000), 2048);
  credit.peer_sent(4000);
  EXPECT_EQ(credit.fccl(100), 4);
}

TEST(ReceiveCredit, StaysTheSameWhileBlocksComeAndTakeUpTheirSpace) {
  ReceiveCredit credit;
  const std::uint32_t before = credit.fccl(100);
  credit.received(30);
  EXPECT_EQ(credit.fccl(70), before);
}

TEST(ReceiveCredit, CountsWhatWasLostOnTheWayAsReceived) {
  ReceiveCredit credit;
  credit.told(credit.fccl(100));
  credit.received(30);
  EXPECT_EQ(credit.left(), 70);
  credit.peer_sent(50);  // 20 of them never came
  EXPECT_EQ(credit.left(), 50);
  EXPECT_EQ(credit.fccl(70), 120);
  EXPECT_EQ(credit.gained(70), 20);
}

TEST(ReceiveCredit, HasNothingLeftWhenThePeerSaysItHasSentMoreThanItMight) {
  ReceiveCredit credit;
  credit.told(credit.fccl(100));
  credit.peer_sent(101);
  EXPECT_EQ(credit.left(), 0);
  EXPECT_EQ(credit.gained(100), 100);
}

// The two halves together never let more through than there is room for.
TEST(Credit, NeverAllowsMoreThanIsFree) {
  SendCredit sender;
  ReceiveCredit receiver;
  std::uint32_t used = 0;
  constexpr std::uint32_t kRoom = 200;
  for (int round = 0; round < 1000; ++round) {
    sender.granted(receiver.fccl(kRoom - used));
    const auto blocks = static_cast<std::uint16_t>(1 + round * 7 % 66);
    while (sender.allows(blocks)) {
      sender.sent(blocks);
      receiver.received(blocks);
      used += blocks;
      ASSERT_LE(used, kRoom);
    }
    EXPECT_GT(used + blocks, kRoom);
    used -= used / 2;
    EXPECT_EQ(sender.fctbs(), receiver.abr());
  }
}

}  // namespace
}  // namespace weft::link

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
      credit.granted(credit_count(start + grant));
      for (const unsigned blocks : {1U, 2U, 66U, 67U, 1000U, 2047U}) {
        EXPECT_EQ(credit.allows(static_cast<std::uint16_t>(blocks)), blocks <= grant)
            << start << ' ' << grant << ' ' << blocks;
      }
    }
  }
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
  const std::uint16_t before = credit.fccl(100);
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

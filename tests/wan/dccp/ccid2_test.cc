// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/ccid2.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::wan::dccp {
namespace {

// A sender of data packets from number 0 on, and what is said of them.
class Sender {
 public:
  explicit Sender(std::size_t packet = 1000, std::size_t most = Ccid2::kMostWindow)
      : ccid(packet, most) {}

  std::size_t fill() {
    std::size_t sent = 0;
    for (; ccid.room() != 0; ++sent)
      ccid.sent(Sequence(next++), true, now);
    return sent;
  }
  // All up to `newest` have come but these.
  Ccid2::Change acknowledge(std::uint64_t newest, const std::set<std::uint64_t>& missing = {},
                            bool marked = false) {
    AckRecord record;
    record.begin(Sequence(0));
    for (std::uint64_t i = 0; i <= newest; ++i) {
      if (!missing.contains(i)) record.receive(Sequence(i), marked && i == newest);
    }
    std::vector<std::byte> cells(500);
    cells.resize(record.write(cells));
    return ccid.acknowledge(Sequence(newest), cells, now);
  }
  // A window, which comes after 10 ms, acknowledged two by two.
  void round() {
    const std::uint64_t first = next;
    fill();
    now += 10ms;
    const std::uint64_t end = next;
    for (std::uint64_t i = first + 1; i < end; i += 2)
      acknowledge(i);
    acknowledge(end - 1);
  }

  Ccid2 ccid;
  std::uint64_t next = 0;
  Time now = Time{} + 1s;
};

TEST(Ccid2, BeginsWithAFewPacketsByTheirSize) {
  EXPECT_EQ(Ccid2(500).window(), 4u);
  EXPECT_EQ(Ccid2(1400).window(), 3u);
  EXPECT_EQ(Ccid2(9000).window(), 2u);
}

TEST(Ccid2, DoublesInSlowStartAtMost) {
  Sender sender;
  for (std::size_t before = sender.ccid.window(); before < 200; before = sender.ccid.window()) {
    sender.round();
    EXPECT_GE(sender.ccid.window(), before * 3 / 2);
    EXPECT_LE(sender.ccid.window(), before * 2);
  }
}

TEST(Ccid2, HalvesItsWindowOnceForLossesOfOneWindow) {
  Sender sender;
  while (sender.ccid.window() < 64)
    sender.round();
  const std::size_t before = sender.ccid.window();
  const std::uint64_t first = sender.next;
  sender.fill();
  sender.now += 10ms;
  // Two that come later do not make it lost, three do.
  EXPECT_EQ(sender.acknowledge(first + 3, {first, first + 1}).lost, 0u);
  EXPECT_EQ(sender.ccid.window(), before + 1);
  const auto change = sender.acknowledge(first + 4, {first, first + 1});
  EXPECT_EQ(change.lost, 2u);
  EXPECT_TRUE(change.halved);
  const std::size_t halved = (before + 1) / 2;
  EXPECT_EQ(sender.ccid.window(), halved);
  const auto more = sender.acknowledge(first + 20, {first, first + 1, first + 9});
  EXPECT_EQ(more.lost, 1u);
  EXPECT_FALSE(more.halved);
  EXPECT_LE(sender.ccid.window(), halved + 1);
  // Of the next window, once more.
  sender.acknowledge(sender.next - 1);
  const std::uint64_t next = sender.next;
  sender.fill();
  EXPECT_TRUE(sender.acknowledge(next + 8, {next + 1}).halved);
}

TEST(Ccid2, GrowsByOnePacketForEachWindowAfterALoss) {
  Sender sender;
  while (sender.ccid.window() < 64)
    sender.round();
  const std::uint64_t first = sender.next;
  sender.fill();
  sender.acknowledge(sender.next - 1, {first});
  std::size_t before = sender.ccid.window();
  for (int i = 0; i < 10; ++i) {
    sender.round();
    EXPECT_GE(sender.ccid.window(), before);
    EXPECT_LE(sender.ccid.window(), before + 1);
    before = sender.ccid.window();
  }
  EXPECT_GE(before, 32u + 8u);
}

TEST(Ccid2, TakesMarksForCongestion) {
  Sender sender;
  while (sender.ccid.window() < 64)
    sender.round();
  const std::size_t before = sender.ccid.window();
  sender.fill();
  const auto change = sender.acknowledge(sender.next - 1, {}, true);
  EXPECT_EQ(change.marked, 1u);
  EXPECT_EQ(change.lost, 0u);
  EXPECT_EQ(sender.ccid.window(), before / 2);
}

TEST(Ccid2, DoesNotGrowWhileItsWindowIsNotUsed) {
  Sender sender;
  while (sender.ccid.window() < 64)
    sender.round();
  const std::size_t before = sender.ccid.window();
  for (int i = 0; i < 100; ++i) {
    sender.ccid.sent(Sequence(sender.next++), true, sender.now);
    sender.acknowledge(sender.next - 1);
  }
  EXPECT_LE(sender.ccid.window(), before + 1);
}

TEST(Ccid2, BeginsAgainWithOnePacketWhenNothingIsAcknowledged) {
  Sender sender;
  while (sender.ccid.window() < 64)
    sender.round();
  EXPECT_FALSE(sender.ccid.deadline());
  sender.fill();
  const auto due = sender.ccid.deadline();
  ASSERT_TRUE(due);
  EXPECT_GE(*due - sender.now, 1s);
  EXPECT_FALSE(sender.ccid.expire(*due - 1ns).halved);
  const auto change = sender.ccid.expire(*due);
  EXPECT_GE(change.lost, 64u);
  EXPECT_EQ(sender.ccid.window(), 1u);
  EXPECT_EQ(sender.ccid.room(), 1u);
  EXPECT_EQ(sender.ccid.ack_ratio(), 1u);
  // Twice as long each time.
  sender.now = *due;
  sender.fill();
  EXPECT_GE(*sender.ccid.deadline() - sender.now, 2s);
  // Half of what it was is reached at a run again.
  for (int i = 0; i < 12; ++i)
    sender.round();
  EXPECT_GE(sender.ccid.window(), 32u);
}

TEST(Ccid2, AsksForFewerAcknowledgementsWhereTheyAreLost) {
  Sender sender(1000, 64);
  while (sender.ccid.window() < 64)
    sender.round();
  EXPECT_EQ(sender.ccid.ack_ratio(), 2);
  sender.ccid.lost_acknowledgements();
  EXPECT_EQ(sender.ccid.ack_ratio(), 4);
  sender.ccid.lost_acknowledgements();  // of the same window
  EXPECT_EQ(sender.ccid.ack_ratio(), 4);
  for (int i = 0; i < 60; ++i)
    sender.round();
  EXPECT_EQ(sender.ccid.ack_ratio(), 2);
}

TEST(Ccid2, HeedsAReceiverThatHasNoRoomOrIsSlow) {
  Sender sender;
  while (sender.ccid.window() < 64)
    sender.round();
  const std::size_t before = sender.ccid.window();
  sender.ccid.reduce();
  EXPECT_EQ(sender.ccid.window(), before - 1);
  sender.ccid.hold(sender.now);
  sender.fill();
  sender.acknowledge(sender.next - 1);
  EXPECT_EQ(sender.ccid.window(), before - 1);
}

TEST(Ccid2, RemembersNoMoreThanItMay) {
  Ccid2 ccid(1000);
  const Time now = Time{} + 1s;
  ccid.sent(Sequence(0), true, now);
  for (std::uint64_t i = 1; i <= Ccid2::kMostKept; ++i)
    ccid.sent(Sequence(i), false, now);
  EXPECT_EQ(ccid.pipe(), 0u);
}

}  // namespace
}  // namespace weft::wan::dccp

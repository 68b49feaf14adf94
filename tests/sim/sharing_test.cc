// SPDX-License-Identifier: Apache-2.0
// Connections that share a narrow link.
#include "incast.h"

namespace weft::sim::test {
namespace {

class Sharing : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Sharing, EightIntoOneLoseLittleAndGetAboutTheSame) {
  Incast incast(8, GetParam(), kNarrow);
  incast.run();
  const NetworkCounts& counts = incast.network().counts();
  EXPECT_GT(counts.dropped, 0u) << "the queue was never full";
  EXPECT_LT(static_cast<double>(counts.dropped + counts.overrun),
            0.001 * static_cast<double>(counts.sent));
  EXPECT_GE(jain(incast.bytes()), 0.9);
  EXPECT_GE(sum(incast.bytes()), 0.9 * capacity());
}

TEST_P(Sharing, GiveWayToMarksBeforeAnythingIsLost) {
  Bottleneck marking = kNarrow;
  marking.mark = 200'000;
  Incast incast(8, GetParam(), marking, true);
  incast.run();
  const NetworkCounts& counts = incast.network().counts();
  EXPECT_GT(counts.marked, 0u);
  EXPECT_EQ(counts.dropped + counts.overrun, 0u);
  EXPECT_GT(incast.at_senders(hca::ConnectedCounter::kRxCnps), 0u);
  EXPECT_GE(jain(incast.bytes()), 0.9);
  EXPECT_GE(sum(incast.bytes()), 0.9 * capacity());
}

// 5 ms of the link may wait, of which 1.2 do before it marks.
constexpr Bottleneck kShallow{
    .rate_bytes_per_s = kNarrow.rate_bytes_per_s, .queue = 250'000, .mark = 60'000};

TEST_P(Sharing, OneAloneKeepsItsRateAndLosesNothingBehindAShortQueueThatMarks) {
  Incast incast(1, GetParam(), kShallow, true);
  incast.run();
  const NetworkCounts& counts = incast.network().counts();
  EXPECT_GT(counts.marked, 0u);
  EXPECT_EQ(counts.dropped + counts.overrun, 0u);
  const std::uint64_t seen = incast.at_receiver(hca::ConnectedCounter::kRxEcnMarked);
  EXPECT_LE(seen, counts.marked);
  EXPECT_GE(seen + 300, counts.marked) << "but for those that wait in the queue at the end";
  EXPECT_GE(sum(incast.bytes()), 0.9 * capacity());
}

TEST_P(Sharing, OneThatIsNotCapableOfMarksLosesToThatQueue) {
  Incast incast(1, GetParam(), kShallow, false);
  incast.run();
  EXPECT_EQ(incast.network().counts().marked, 0u);
  EXPECT_GT(incast.network().counts().dropped, 0u) << "else the test above could not fail";
}

TEST_P(Sharing, MarksOfAcknowledgementsSlowNobodyDown) {
  Incast incast(1, GetParam(), kNarrow, true);
  incast.narrow_way_back({.rate_bytes_per_s = 2'000'000, .queue = 1'000'000, .mark = 1});
  incast.run();
  EXPECT_GT(incast.at_senders(hca::ConnectedCounter::kRxEcnMarked), 1000u);
  EXPECT_EQ(incast.at_senders(hca::ConnectedCounter::kTxCnps), 0u);
  EXPECT_GE(sum(incast.bytes()), 0.9 * capacity());
}

INSTANTIATE_TEST_SUITE_P(Seeds, Sharing, testing::Range<std::uint64_t>(1, 5));

}  // namespace
}  // namespace weft::sim::test

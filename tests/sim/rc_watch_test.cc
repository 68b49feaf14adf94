// SPDX-License-Identifier: Apache-2.0
// Idle connections for hours of virtual time: a peer that has vanished is noticed, and one that is
// there never taken for dead, whatever the network loses.
#include <gtest/gtest.h>

#include "rc_pair.h"
#include "sim/seeds.h"

namespace weft::sim::test {
namespace {

using hca::ConnectedCounter;
using hca::QpState;

constexpr Duration kPatience = 600s;

PairOptions watching(double loss = 0, std::uint64_t seed = 1) {
  PairOptions options;
  options.faults.loss = loss;
  options.keep_alive = kPatience;
  options.seed = seed;
  return options;
}

class RcWatch : public ::testing::Test {
 protected:
  static void talk(RcPair& pair) {
    pair.connect();
    ASSERT_EQ(pair.post(0, 1, hca::SendOpcode::kRdmaWrite, 0, 100), std::errc{});
    pair.run(1s);
    ASSERT_EQ(pair.completions(0).size(), 1u);
    ASSERT_EQ(pair.completions(0)[0].status, hca::CompletionStatus::kSuccess);
  }
};

TEST_F(RcWatch, NoticesAtBothEndsThatAnIdlePeerHasVanished) {
  for (const int lost : {0, 1}) {
    RcPair pair(watching());
    talk(pair);
    const Time before = pair.scheduler().now();
    pair.host(lost).vanish();
    while (pair.queue_pair(1 - lost).state() == QpState::kRts &&
           pair.scheduler().now() < before + 2 * kPatience)
      pair.run(hca::PeerWatch::kMostInterval);
    EXPECT_EQ(pair.queue_pair(1 - lost).state(), QpState::kErr);
    EXPECT_NE(pair.events(1 - lost) & hca::kEventFatal, 0u);
    const Duration taken = pair.scheduler().now() - before;
    EXPECT_GE(taken, kPatience - 2s);
    EXPECT_LE(taken, kPatience + 2 * hca::PeerWatch::kMostInterval);
  }
}

TEST_F(RcWatch, LeavesAnIdlePairAlone) {
  RcPair pair(watching());
  talk(pair);
  pair.run(10h);
  std::uint64_t questions = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pair.queue_pair(i).state(), QpState::kRts);
    EXPECT_EQ(pair.events(i) & hca::kEventFatal, 0u);
    EXPECT_EQ(pair.counter(i, ConnectedCounter::kRxMalformed), 0u);
    EXPECT_EQ(pair.counter(i, ConnectedCounter::kRxBadResponses), 0u);
    questions += pair.counter(i, ConnectedCounter::kTxKeepAlives);
    EXPECT_TRUE(pair.host(i).complaints().empty());
  }
  // One end's question tells the other end, too.
  EXPECT_LE(questions, 10h / hca::PeerWatch::kMostInterval + 2);
  EXPECT_GE(questions, 10h / hca::PeerWatch::kMostInterval / 2);
  // And what comes after it is as before.
  ASSERT_EQ(pair.post(1, 2, hca::SendOpcode::kRdmaWrite, 0, 100), std::errc{});
  pair.run(1s);
  ASSERT_EQ(pair.completions(1).size(), 1u);
  EXPECT_EQ(pair.completions(1)[0].status, hca::CompletionStatus::kSuccess);
}

TEST_F(RcWatch, NeverTakesALivePeerForDeadOverALossyPath) {
  for (const std::uint64_t seed : seeds(20)) {
    SCOPED_TRACE(how_to_replay(seed, "RcWatch.*"));
    RcPair pair(watching(0.2, seed));
    talk(pair);
    pair.run(1h);
    EXPECT_EQ(pair.queue_pair(0).state(), QpState::kRts);
    EXPECT_EQ(pair.queue_pair(1).state(), QpState::kRts);
  }
}

}  // namespace
}  // namespace weft::sim::test

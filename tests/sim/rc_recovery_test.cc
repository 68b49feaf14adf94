// SPDX-License-Identifier: Apache-2.0
// How a connection gets over particular losses: by what was sent later, not by waiting.
#include <gtest/gtest.h>

#include "rc_pair.h"

namespace weft::sim::test {
namespace {

using hca::CompletionStatus;
using hca::ConnectedCounter;
using hca::SendOpcode;

// A stream of small sends, always `depth` of them posted, every 16th signaled, as bandwidth tests
// do. `until` messages in all.
class Stream {
 public:
  Stream(RcPair& pair, std::uint64_t until, std::uint64_t depth, std::size_t size)
      : pair_(pair), until_(until), depth_(depth), size_(size) {
    pair.on_completion = [this](int host, const hca::Completion& c) { take(host, c); };
    for (std::uint64_t i = 0; i < kReceives; ++i)
      post_receive();
    post();
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }

 private:
  static constexpr std::uint64_t kReceives = 512;
  static constexpr std::uint64_t kSignaled = 16;

  void post_receive() { ASSERT_EQ(pair_.post_receive(1, 0, 0, 128), std::errc{}); }
  void post() {
    for (; posted_ < until_ && posted_ < done_ + depth_; ++posted_) {
      const bool signaled = posted_ % kSignaled == kSignaled - 1 || posted_ + 1 == until_;
      ASSERT_EQ(pair_.post(0, posted_, SendOpcode::kSend, 0, size_, signaled), std::errc{});
    }
  }
  void take(int host, const hca::Completion& c) {
    failed_ += c.status != CompletionStatus::kSuccess;
    if (host == 0) {
      done_ = c.wr_id + 1;
      post();
    } else {
      ++received_;
      post_receive();
    }
  }

  RcPair& pair_;
  std::uint64_t until_;
  std::uint64_t depth_;
  std::size_t size_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t failed_ = 0;
};

class RcRecovery : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RcRecovery, NeedsNoTimersAfterMostOfARunWasLost) {
  PairOptions options{.faults = {.delay = 15us}, .memory = 4096, .depth = 600};
  options.setup.ack_timeout = 14;
  RcPair pair(options);
  pair.connect();
  int long_runs = 0;
  std::uint64_t lost = 0;
  pair.network().loses = [&](const sim::Run& run, std::size_t i) {
    if (run.from.gid != pair.host(0).gid() || run.datagrams.size() < 30) return false;
    if (i == 0) ++long_runs;
    const bool loses = i > 0 && (long_runs == 3 || long_runs == 4);
    lost += loses;
    return loses;
  };
  const Stream stream(pair, 20'000, 128, GetParam());
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(stream.received(), 20'000u);
  EXPECT_EQ(stream.failed(), 0u);
  EXPECT_GT(lost, 50u) << "else this tests nothing";
  EXPECT_EQ(pair.counter(0, ConnectedCounter::kTxTimeouts), 0u);
  EXPECT_LE(pair.counter(0, ConnectedCounter::kTxProbes), 3u);
  EXPECT_LE(pair.counter(0, ConnectedCounter::kTxRetransmitted), lost + 80);
  EXPECT_LE(pair.completions(0).back().at, Time{100ms});
}

TEST_P(RcRecovery, NeedsFewTimersWhereAllButTheFirstOfEachRunIsLostNowAndThen) {
  PairOptions options{.faults = {.delay = 15us}, .memory = 4096, .depth = 600};
  options.setup.ack_timeout = 14;
  RcPair pair(options);
  pair.connect();
  int runs = 0;
  pair.network().loses = [&](const sim::Run& run, std::size_t i) {
    if (run.from.gid != pair.host(0).gid() || run.datagrams.size() < 2) return false;
    if (i == 0) ++runs;
    return i > 0 && runs % 20 == 10;
  };
  const Stream stream(pair, 20'000, 128, GetParam());
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(stream.received(), 20'000u);
  EXPECT_GT(runs, 100);
  EXPECT_EQ(pair.counter(0, ConnectedCounter::kTxTimeouts), 0u);
  EXPECT_LE(pair.counter(0, ConnectedCounter::kTxProbes),
            static_cast<std::uint64_t>(runs) / 20 + 1);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RcRecovery, ::testing::Values(1, 64, 100));

}  // namespace
}  // namespace weft::sim::test

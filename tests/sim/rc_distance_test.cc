// SPDX-License-Identifier: Apache-2.0
// What is left of a connection's rate on a long path, to a peer that knows the standard only.
#include <gtest/gtest.h>

#include "rc_pair.h"

namespace weft::sim::test {
namespace {

using hca::ConnectedCounter;

constexpr std::size_t kDistanceMessage = 1 << 20;
constexpr double kRate = 250e6;  // bytes per second
constexpr Duration kOneWay = 50ms;

// A stream of RDMA writes over kOneWay each way.
class LongPath {
 public:
  explicit LongPath(bool lossless) : pair(options(lossless)) {
    pair.connect();
    pair.on_completion = [this](int, const hca::Completion& c) {
      ASSERT_EQ(c.status, hca::CompletionStatus::kSuccess);
      ++messages_;
      post();
    };
    for (int i = 0; i < kDepth; ++i)
      post();
  }
  // Bytes per second between two times, the first not before the last of the call before.
  [[nodiscard]] double rate(Time from, Time until) {
    pair.scheduler().run_until(from);
    const std::uint64_t before = messages_;
    pair.scheduler().run_until(until);
    return static_cast<double>((messages_ - before) * kDistanceMessage) /
           std::chrono::duration<double>(until - from).count();
  }

  RcPair pair;

 private:
  static constexpr int kDepth = 64;  // two and a half times what is under way

  static PairOptions options(bool lossless) {
    PairOptions options{.faults = {.delay = kOneWay, .rate_bytes_per_s = 250'000'000},
                        .extensions = false,
                        .lossless = lossless,
                        .memory = kDistanceMessage,
                        .socket_buffer = 64 << 20,
                        .depth = kDepth};
    options.setup.path_mtu = 4096;
    options.setup.ack_timeout = 18;  // 1.07 s
    return options;
  }
  void post() {
    EXPECT_EQ(pair.post(0, 0, hca::SendOpcode::kRdmaWrite, 0, kDistanceMessage), std::errc{});
  }
  std::uint64_t messages_ = 0;
};

TEST(Distance, OneConnectionFillsALongPathThatIsLosslessFromTheSecondRoundTripOn) {
  LongPath path(true);
  EXPECT_GE(path.rate(Time{4 * kOneWay}, Time{4 * kOneWay + 500ms}), 0.95 * kRate);
  EXPECT_EQ(path.pair.counter(0, ConnectedCounter::kTxRetransmitted), 0u);
  EXPECT_EQ(path.pair.counter(0, ConnectedCounter::kTxTimeouts), 0u);
}

TEST(Distance, OneConnectionHasAMebibyteInFlightWhereWhatIsTooMuchIsDropped) {
  LongPath path(false);
  const double most =
      hca::CongestionWindow::kMost / std::chrono::duration<double>(2 * kOneWay).count();
  EXPECT_LE(path.rate(Time{2s}, Time{4s}), 1.1 * most);
}

// Packets are sent again before their answers can be there. That costs the path, not the time.
TEST(Distance, AMessageTakesARoundTripThoughTheAckTimeoutIsShorterWhereNothingIsDropped) {
  PairOptions options{.faults = {.delay = kOneWay}, .extensions = false, .lossless = true};
  options.setup.path_mtu = 1024;
  options.setup.ack_timeout = 14;  // 67 ms
  RcPair pair(options);
  pair.connect();
  int messages = 0;
  const auto post = [&] {
    EXPECT_EQ(pair.post(0, 0, hca::SendOpcode::kRdmaWrite, 0, 4096), std::errc{});
  };
  pair.on_completion = [&](int, const hca::Completion& c) {
    ASSERT_EQ(c.status, hca::CompletionStatus::kSuccess);
    ++messages;
    post();
  };
  post();
  pair.scheduler().run_until(Time{20 * kOneWay * 2 + kOneWay});
  EXPECT_EQ(messages, 20);
  EXPECT_GT(pair.counter(0, ConnectedCounter::kTxTimeouts), 0u);
}

}  // namespace
}  // namespace weft::sim::test

// SPDX-License-Identifier: Apache-2.0
// What is left of a connection's rate when packets are lost: the table loss x round trip x window,
// between Weft peers, compared with goodput.txt beside this file. When a change moves it, look
// whether for the better; WEFT_UPDATE_GOODPUT=<file> writes the new one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "rc_pair.h"

namespace weft::sim::test {
namespace {

constexpr double kLosses[] = {0, 0.001, 0.01};
constexpr Duration kRoundTrips[] = {100us, 1ms, 10ms};
constexpr std::uint32_t kWindows[] = {256 << 10, 1 << 20};

// Bytes per second of RDMA writes of 64 KiB, one after the other, once under way.
double goodput(double loss, Duration round_trip, std::uint32_t window) {
  constexpr std::size_t kMessage = 65'536;
  PairOptions options{
      .faults = {.loss = loss, .delay = round_trip / 2, .rate_bytes_per_s = 1'250'000'000},
      .memory = kMessage,
      .socket_buffer = 16 << 20,  // the window is the limit, not the socket
      .receive_budget = window,
      .depth = 128};
  options.setup.path_mtu = 4096;
  options.setup.ack_timeout = 14;  // 67 ms
  RcPair pair(options);
  pair.connect();
  const Duration warm_up = std::max<Duration>(50 * round_trip, 20ms);
  const Duration measured = std::max<Duration>(100 * round_trip, 50ms);
  std::uint64_t counted = 0;
  std::uint64_t next = 0;
  const auto post = [&] {
    EXPECT_EQ(pair.post(0, next++, hca::SendOpcode::kRdmaWrite, 0, kMessage), std::errc{});
  };
  pair.on_completion = [&](int, const hca::Completion& c) {
    EXPECT_EQ(c.status, hca::CompletionStatus::kSuccess);
    counted += pair.scheduler().now() >= Time{warm_up};
    if (c.status == hca::CompletionStatus::kSuccess) post();
  };
  for (std::uint32_t i = 0; i < options.depth; ++i)
    post();
  pair.scheduler().run_until(Time{warm_up + measured});
  return static_cast<double>(counted * kMessage) / std::chrono::duration<double>(measured).count();
}

class Table {
 public:
  Table() {
    text_ = "loss %  round trip us  window KiB  lossless MB/s  kept\n";
    for (const Duration round_trip : kRoundTrips) {
      for (const std::uint32_t window : kWindows) {
        const double lossless = goodput(0, round_trip, window);
        for (const double loss : kLosses) {
          const double kept = loss == 0 ? 1 : goodput(loss, round_trip, window) / lossless;
          kept_[{loss, round_trip, window}] = kept;
          text_ += fmt::format("{:6.1f}  {:13}  {:10}  {:13.0f}  {:4.2f}\n", loss * 100,
                               round_trip / 1us, window >> 10, lossless / 1e6, kept);
        }
      }
    }
  }
  [[nodiscard]] double kept(double loss, Duration round_trip, std::uint32_t window) const {
    return kept_.at({loss, round_trip, window});
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::map<std::tuple<double, Duration, std::uint32_t>, double> kept_;
};

TEST(Goodput, KeepsItsRateUnderRandomLoss) {
  const Table table;
  if (const char* const file = std::getenv("WEFT_UPDATE_GOODPUT")) {
    std::ofstream(file) << table.text();
  }
  for (const std::uint32_t window : kWindows) {
    EXPECT_GE(table.kept(0.001, 10ms, window), 0.9) << window;
    EXPECT_GE(table.kept(0.01, 10ms, window), 0.7) << window;
  }
  std::ifstream in(WEFT_GOODPUT_SNAPSHOT);
  const std::string known{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(table.text(), known);
}

// What is written from the fifth of a second after the beginning to the first whole one, in bytes,
// over 10 ms there and back, if the packet with this number is lost, as the only one.
std::uint64_t begins_losing(std::uint64_t number) {
  constexpr std::size_t kMessage = 65'536;
  PairOptions options{.faults = {.delay = 5ms, .rate_bytes_per_s = 1'250'000'000},
                      .memory = kMessage,
                      .socket_buffer = 16 << 20,
                      .receive_budget = 1 << 20};
  options.setup.path_mtu = 4096;
  options.setup.ack_timeout = 14;
  RcPair pair(options);
  std::uint64_t packets = 0;
  pair.network().loses = [&](const Run& run, std::size_t i) {
    return run.datagrams[i].size() > 4096 && ++packets == number;
  };
  pair.connect();
  std::uint64_t counted = 0;
  const auto post = [&] {
    EXPECT_EQ(pair.post(0, 0, hca::SendOpcode::kRdmaWrite, 0, kMessage), std::errc{});
  };
  pair.on_completion = [&](int, const hca::Completion& c) {
    ASSERT_EQ(c.status, hca::CompletionStatus::kSuccess);
    counted += pair.scheduler().now() >= Time{200ms} ? kMessage : 0;
    post();
  };
  for (std::uint32_t i = 0; i < options.depth; ++i)
    post();
  pair.scheduler().run_until(Time{1s});
  EXPECT_EQ(pair.counter(0, hca::ConnectedCounter::kTxRetransmitted), number == 0 ? 0u : 1u);
  return counted;
}

TEST(Goodput, LosesNothingOfItsRateToOnePacketThatIsLostWhileTheWindowGrows) {
  const auto undisturbed = static_cast<double>(begins_losing(0));
  for (const std::uint64_t number : {2, 6, 20, 60, 120})
    EXPECT_GE(static_cast<double>(begins_losing(number)), 0.9 * undisturbed) << number;
}

TEST(Goodput, FillsTheWindowWithoutLoss) {
  // One window a round trip; a tenth may go by while acknowledgements are put off.
  EXPECT_GE(goodput(0, 10ms, 1 << 20), 0.9 * (1 << 20) / 0.010);
  EXPECT_GE(goodput(0, 10ms, 256 << 10), 0.9 * (256 << 10) / 0.010);
}

}  // namespace
}  // namespace weft::sim::test

// SPDX-License-Identifier: Apache-2.0
// Connections that share a narrow link.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/connected_host.h"

namespace weft::sim::test {
namespace {

constexpr std::size_t kMessage = 65'536;
constexpr std::uint32_t kDepth = 16;
constexpr Bottleneck kNarrow{.rate_bytes_per_s = 50'000'000, .queue = 1'000'000};
constexpr Duration kDelay = 50us;  // one way
// Without it a run always meets the queue at the same height, and one flow loses for the other
// (phase effects, Floyd and Jacobson 1992).
constexpr Duration kJitter = 100us;
constexpr Time kWarm{1s};
constexpr Time kEnd{6s};

// Senders that write to one receiver without pause, each over a connection of its own.
class Incast {
 public:
  // `ecn`: packets are capable of it.
  Incast(std::size_t senders, std::uint64_t seed, const Bottleneck& bottleneck, bool ecn = false)
      : ecn_(ecn),
        random_(seed),
        network_(scheduler_, random_.fork(), {.delay = kDelay, .jitter = kJitter}) {
    const Gid there = Gid::from_ipv4(0x0A000001);
    network_.narrow(there, bottleneck);
    hosts_.push_back(make_host(there));
    const auto region = hosts_[0]->add_region(0, kMessage, kAll);
    for (std::uint32_t i = 0; i < senders; ++i) {
      hosts_.push_back(make_host(Gid::from_ipv4(0x0A000100 + i)));
      senders_.push_back({.qpn = Qpn{0xD000}, .target = RKey{region.key}});
      Sender& sender = senders_.back();
      sender.source = hosts_.back()->add_region(0, kMessage, kAll).key;
      const Qpn peer{0xC000 + i};
      add(*hosts_[0], peer);
      add(*hosts_.back(), sender.qpn);
      connect(*hosts_[0], peer, hosts_.back()->gid(), sender.qpn);
      connect(*hosts_.back(), sender.qpn, there, peer);
    }
    for (std::size_t i = 0; i < senders; ++i) {
      hosts_[i + 1]->on_completion = [this, i](const hca::Completion& c) { completed(i, c); };
      const auto late = std::chrono::microseconds(random_.below(5'000));
      scheduler_.after(late, [this, i] {
        for (std::uint32_t n = 0; n < kDepth; ++n)
          post(i);
      });
    }
  }
  void narrow_way_back(const Bottleneck& bottleneck) {
    for (std::size_t i = 1; i < hosts_.size(); ++i)
      network_.narrow(hosts_[i]->gid(), bottleneck);
  }
  void run() { scheduler_.run_until(kEnd); }
  // Of all senders, and of all of the receiver's ends.
  [[nodiscard]] std::uint64_t at_senders(hca::ConnectedCounter which) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < senders_.size(); ++i)
      sum += count(*hosts_[i + 1], senders_[i].qpn, which);
    return sum;
  }
  [[nodiscard]] std::uint64_t at_receiver(hca::ConnectedCounter which) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < senders_.size(); ++i)
      sum += count(*hosts_[0], Qpn{0xC000 + i}, which);
    return sum;
  }
  [[nodiscard]] Network& network() { return network_; }
  // Bytes of each sender between kWarm and kEnd.
  [[nodiscard]] std::vector<double> bytes() const {
    std::vector<double> all;
    for (const Sender& sender : senders_)
      all.push_back(static_cast<double>(sender.counted) * kMessage);
    return all;
  }

 private:
  static constexpr std::uint32_t kAll = hca::kLocalWrite | hca::kRemoteWrite;
  struct Sender {
    Qpn qpn{};
    RKey target{};
    std::uint32_t source = 0;
    std::uint64_t counted = 0;
  };
  std::unique_ptr<ConnectedHost> make_host(const Gid& gid) {
    return std::make_unique<ConnectedHost>(
        scheduler_, network_, random_.fork(),
        ConnectedHostConfig{.gid = gid, .socket_buffer = 4 << 20, .memory = kMessage});
  }
  static std::uint64_t count(ConnectedHost& host, Qpn qpn, hca::ConnectedCounter which) {
    return host.queue_pair(qpn).connection().counters.get(which);
  }
  void add(ConnectedHost& host, Qpn qpn) const {
    hca::ConnectedConfig config{};
    config.qpn = qpn;
    config.max_sends = kDepth;
    config.max_receives = 1;
    config.extensions = true;
    config.ecn = ecn_;
    config.receive_budget = 2 << 20;
    host.add(config);
  }
  static void connect(ConnectedHost& host, Qpn qpn, const Gid& gid, Qpn peer) {
    ConnectionSetup setup;
    setup.ack_timeout = 14;
    const auto done = host.connect(qpn, gid, peer, setup);
    ASSERT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  }
  void post(std::size_t i) {
    const Sender& sender = senders_[i];
    const hca::Sge piece{
        .address = hosts_[i + 1]->address(0), .length = kMessage, .lkey = LKey{sender.source}};
    hca::SendRequest request{};
    request.opcode = hca::SendOpcode::kRdmaWrite;
    request.signaled = true;
    request.pieces = {&piece, 1};
    request.remote_address = hosts_[0]->address(0);
    request.rkey = sender.target;
    EXPECT_EQ(hosts_[i + 1]->post_send(sender.qpn, request), std::errc{});
  }
  void completed(std::size_t i, const hca::Completion& completion) {
    ASSERT_EQ(completion.status, hca::CompletionStatus::kSuccess);
    senders_[i].counted += scheduler_.now() >= kWarm ? 1 : 0;
    post(i);
  }

  bool ecn_;
  Random random_;
  Scheduler scheduler_;
  Network network_;
  std::vector<std::unique_ptr<ConnectedHost>> hosts_;
  std::vector<Sender> senders_;
};

double sum(const std::vector<double>& values) {
  double all = 0;
  for (const double value : values)
    all += value;
  return all;
}

double jain(const std::vector<double>& rates) {
  double squares = 0;
  for (const double rate : rates)
    squares += rate * rate;
  return sum(rates) * sum(rates) / (static_cast<double>(rates.size()) * squares);
}

// Bytes that the link can carry in the time that is measured.
double capacity() {
  return std::chrono::duration<double>(kEnd - kWarm).count() *
         static_cast<double>(kNarrow.rate_bytes_per_s);
}

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

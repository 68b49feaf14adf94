// SPDX-License-Identifier: Apache-2.0
// Unreliable connections: credits keep a receiver from being overrun, whatever becomes of them.
#include <algorithm>
#include <cstring>

#include "hca/credit_pacer.h"
#include "rc_pair.h"
#include "sim/seeds.h"
#include "wire/bth.h"

namespace weft::sim::test {
namespace {

using hca::ConnectedCounter;
using hca::SendOpcode;

struct FlowOptions {
  PairOptions pair{};
  std::uint32_t messages = 500;
  std::uint64_t shortest = 8;  // bytes
  std::uint64_t longest = 20'000;
};

// Messages from host 0 to host 1, sends and writes of any kind as the seed has it. Each is known by
// its content: its number, and bytes that follow from that.
class Flow {
 public:
  static constexpr std::size_t kMost = 20'000;  // bytes of a message
  static constexpr Duration kLongest = 60s;     // nothing takes so long unless it is stuck

  Flow(std::uint64_t seed, const FlowOptions& options)
      : options_(options), random_(seed), content_(seed * 7919), pair_(sized(seed, options)) {
    pair_.network().is_credit = [](Bytes datagram) {
      return wire::Bth::parse(datagram)->opcode == wire::Opcode::weft_uc_credit;
    };
    pair_.connect();
    for (std::uint32_t slot = 0; slot < options.pair.depth; ++slot)
      post_receive(slot);
    pair_.on_completion = [this](int host, const hca::Completion& c) {
      ASSERT_EQ(c.status, hca::CompletionStatus::kSuccess);
      host == 0 ? sent(c) : received(c);
    };
  }

  // False when something was still going on at the end of time.
  bool run() {
    post_more();
    return pair_.run(kLongest);
  }
  // Every message was handed to the wire once, in order, and nothing arrived that nobody sent.
  void check() {
    EXPECT_EQ(posted_, options_.messages);
    EXPECT_EQ(completed_, options_.messages);
    EXPECT_EQ(pair_.queue_pair(0).queued_packets(), 0u) << "stuck";
    EXPECT_EQ(damaged_, 0u);
    EXPECT_TRUE(pair_.host(0).complaints().empty()) << pair_.host(0).complaints().front();
    EXPECT_TRUE(pair_.host(1).complaints().empty()) << pair_.host(1).complaints().front();
    EXPECT_LE(delivered_, told_ + pair_.network().counts().duplicated);
  }
  // Messages that the receiver is told of, and those that it was.
  [[nodiscard]] std::uint32_t told() const { return told_; }
  [[nodiscard]] std::uint32_t delivered() const { return delivered_; }
  [[nodiscard]] RcPair& pair() { return pair_; }
  [[nodiscard]] const NetworkCounts& network() { return pair_.network().counts(); }
  [[nodiscard]] std::uint64_t sender(ConnectedCounter which) { return pair_.counter(0, which); }
  [[nodiscard]] std::uint64_t receiver(ConnectedCounter which) { return pair_.counter(1, which); }

 private:
  static PairOptions sized(std::uint64_t seed, const FlowOptions& options) {
    PairOptions pair = options.pair;
    pair.service = hca::QpType::kUc;
    pair.memory = kMost * (pair.depth + 1);
    pair.seed = seed;
    pair.receive_budget = hca::grant_budget(static_cast<std::uint32_t>(pair.socket_buffer));
    return pair;
  }
  // Writes without immediate go to the last slot, where no receive is.
  [[nodiscard]] std::size_t last_slot() const { return kMost * options_.pair.depth; }

  void write_message(MutableBytes out, std::uint32_t number) const {
    std::memcpy(out.data(), &number, sizeof number);
    Random content(content_ ^ number);
    for (std::size_t at = sizeof number; at < out.size(); at += 8) {
      const std::uint64_t word = content.next();
      std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
    }
  }

  void post_more() {
    constexpr std::array kOpcodes{SendOpcode::kSend, SendOpcode::kSendWithImmediate,
                                  SendOpcode::kRdmaWrite, SendOpcode::kRdmaWriteWithImmediate};
    while (posted_ < options_.messages && posted_ - completed_ < options_.pair.depth) {
      const std::uint32_t number = posted_++;
      const std::size_t from = number % options_.pair.depth * kMost;
      const std::size_t length = random_.between(options_.shortest, options_.longest);
      const MutableBytes message = pair_.host(0).memory().subspan(from, length);
      write_message(message, number);
      const SendOpcode opcode = kOpcodes[random_.below(kOpcodes.size())];
      const std::array pieces{pair_.piece(0, from, length)};
      hca::SendRequest request{};
      request.wr_id = number;
      request.opcode = opcode;
      request.signaled = true;
      request.immediate = static_cast<std::uint32_t>(length);
      request.pieces = pieces;
      request.remote_address = pair_.host(1).address(last_slot());
      request.rkey = RKey{pair_.region(1).key};
      told_ += opcode == SendOpcode::kRdmaWrite ? 0 : 1;
      ASSERT_EQ(pair_.host(0).post_send(RcPair::kQpn[0], request), std::errc{});
    }
  }
  void sent(const hca::Completion& c) {
    EXPECT_EQ(c.wr_id, completed_);
    ++completed_;
    post_more();
  }

  void post_receive(std::uint64_t slot) {
    ASSERT_EQ(pair_.post_receive(1, slot, slot * kMost, kMost), std::errc{});
  }
  void received(const hca::Completion& c) {
    ++delivered_;
    if (c.opcode == hca::CompletionOpcode::kReceive) {
      check_message(pair_.host(1).memory().subspan(c.wr_id * kMost, c.byte_length));
    } else if (c.immediate != c.byte_length) {
      ++damaged_;
    }
    post_receive(c.wr_id);
  }
  void check_message(Bytes message) {
    std::uint32_t number = 0;
    std::memcpy(&number, message.data(), sizeof number);
    std::vector<std::byte> expected(message.size());
    write_message(expected, number);
    if (!std::equal(message.begin(), message.end(), expected.begin())) ++damaged_;
  }

  FlowOptions options_;
  Random random_;
  std::uint64_t content_;
  RcPair pair_;
  std::uint32_t posted_ = 0;
  std::uint32_t completed_ = 0;
  std::uint32_t told_ = 0;
  std::uint32_t delivered_ = 0;
  std::uint32_t damaged_ = 0;
};

std::string uc_replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

// A network that loses nothing, and a receiver that is slower than the sender.
FlowOptions slow_receiver(Random& random) {
  const bool small = random.chance(0.3);
  FlowOptions options{
      .pair = {.faults = {.delay = Duration(random.between(1'000, 100'000)),
                          .jitter = Duration(random.below(20'000)),
                          .rate_bytes_per_s = random.between(1'000'000'000, 5'000'000'000)},
               .depth = static_cast<std::uint32_t>(random.between(64, 256))},
      .shortest = small ? 500u : 8u,
      .longest = small ? 1000u : std::uint64_t{Flow::kMost}};
  options.pair.socket_buffer = random.between(160'000, 425'984);
  options.pair.setup.path_mtu = random.chance(0.5) ? 1024 : 4096;
  options.pair.read_time = Duration(random.between(10'000, small ? 50'000 : 200'000));
  options.pair.poll_time = Duration(random.between(1'000, 200'000));
  return options;
}

TEST(UcCredits, LoseNothingOnANetworkThatLosesNothing) {
  for (const std::uint64_t seed : seeds(60)) {
    SCOPED_TRACE(uc_replay(seed));
    Random random(seed);
    Flow flow(seed, slow_receiver(random));
    ASSERT_TRUE(flow.run());
    flow.check();
    EXPECT_EQ(flow.delivered(), flow.told());
    EXPECT_EQ(flow.network().overrun, 0u);
    EXPECT_EQ(flow.receiver(ConnectedCounter::kRxLost), 0u);
    EXPECT_EQ(flow.receiver(ConnectedCounter::kRxNoReceive), 0u);
    EXPECT_EQ(flow.receiver(ConnectedCounter::kRxMessagesAbandoned), 0u);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UcCredits, AreWhatKeepsTheReceiverFromBeingOverrun) {
  std::uint64_t overrun = 0;
  std::uint64_t lost = 0;
  for (const std::uint64_t seed : seeds(10)) {
    Random random(seed);
    FlowOptions options = slow_receiver(random);
    options.pair.extensions = false;
    Flow flow(seed, options);
    ASSERT_TRUE(flow.run());
    flow.check();
    EXPECT_EQ(flow.receiver(ConnectedCounter::kTxCredits), 0u) << "a standard peer gets none";
    EXPECT_EQ(flow.sender(ConnectedCounter::kTxWindowStalls), 0u);
    overrun += flow.network().overrun;
    lost += flow.told() - flow.delivered();
  }
  EXPECT_GT(overrun, 100u) << "else the test above could not fail";
  EXPECT_GT(lost, 100u);
}

TEST(UcCredits, DeliverIntactOrNotAtAllOnAnyNetworkAndNeverStick) {
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE(uc_replay(seed));
    Random random(seed);
    const auto up_to = [&](double most) {
      return random.chance(0.3) ? 0.0 : most * static_cast<double>(random.below(1001)) / 1000.0;
    };
    FlowOptions options = slow_receiver(random);
    options.messages = static_cast<std::uint32_t>(random.between(1, 200));
    options.pair.depth = static_cast<std::uint32_t>(random.between(1, 200));
    options.pair.socket_buffer = random.between(20'000, 1'000'000);
    Faults& faults = options.pair.faults;
    faults.loss = up_to(0.3);
    faults.duplicate = up_to(0.2);
    faults.reorder = up_to(0.2);
    faults.corrupt = up_to(0.05);
    faults.credit_loss = up_to(0.5);
    faults.reorder_delay = Duration(random.between(1'000, 3'000'000));
    Flow flow(seed, options);
    ASSERT_TRUE(flow.run()) << "still busy after a minute";
    flow.check();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UcCredits, DoNotStallWhenHalfOfThemAreLost) {
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE(uc_replay(seed));
    Random random(seed);
    FlowOptions options = slow_receiver(random);
    options.pair.faults.credit_loss = 0.5;
    Flow flow(seed, options);
    ASSERT_TRUE(flow.run());
    flow.check();
    EXPECT_LT(flow.pair().scheduler().now(), Time{5s});
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UcCredits, GoOnBlindlyToAPeerThatGivesNone) {
  FlowOptions options{.messages = 2000, .longest = 64};
  options.pair.faults.credit_loss = 1;
  Flow flow(1, options);
  ASSERT_TRUE(flow.run());
  flow.check();
  EXPECT_EQ(flow.sender(ConnectedCounter::kTxWindowStalls), hca::CreditPacer::kWaitsUntilBlind)
      << "it waits that often, then no more";
}

TEST(UcCredits, CountWhatTheNetworkLost) {
  FlowOptions options{.messages = 2000, .longest = 64};
  options.pair.faults.loss = 0.05;
  Flow flow(3, options);
  ASSERT_TRUE(flow.run());
  flow.check();
  // A packet for each message, but for what was lost after the last that arrived.
  const std::uint64_t arrived = flow.receiver(ConnectedCounter::kRxPackets);
  EXPECT_NEAR(static_cast<double>(flow.receiver(ConnectedCounter::kRxLost)),
              static_cast<double>(2000 - arrived), 3);
}

TEST(UcCredits, KeepAFastWireBusyWithALargeWindow) {
  FlowOptions options{.messages = 4000, .shortest = Flow::kMost};
  options.pair.faults = {.delay = 20us, .rate_bytes_per_s = 5'000'000'000};
  options.pair.setup.path_mtu = 4096;
  options.pair.depth = 512;
  options.pair.socket_buffer = 2'097'152;
  Flow flow(1, options);
  ASSERT_TRUE(flow.run());
  flow.check();
  EXPECT_EQ(flow.delivered(), flow.told());
  // 80 MB at 5 GB/s are 16 ms.
  EXPECT_LT(flow.pair().scheduler().now(), Time{20ms});
  EXPECT_LT(flow.sender(ConnectedCounter::kRxCredits), 500u);
}

}  // namespace
}  // namespace weft::sim::test

// SPDX-License-Identifier: Apache-2.0
// Connections that take turns at sending. On a port of the test's own, which nobody answers.
#include "host/send_turns.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "host/context.h"
#include "test_port.h"

namespace weft::host::test {
namespace {

constexpr std::uint32_t kTurnsMtu = 4096;
constexpr std::uint32_t kMessage = 24 * 1024;  // less than a connection's first window
constexpr std::size_t kMany = 2 * SendTurns::kFew;

// One message of each queue pair, and how many have left.
class TurnsEnd final : public TestEnd {
 public:
  TurnsEnd(std::atomic<std::uint64_t>& bytes, Qpn qpn)
      : TestEnd(qpn, std::make_shared<SilentInlet>()), bytes_(bytes) {}
  hca::SendResult send(const hca::Burst& burst) override {
    for (const hca::OutPacket& packet : burst.packets())
      bytes_ += packet.payload_length;
    return {};
  }

 private:
  std::atomic<std::uint64_t>& bytes_;
};

class TurnsPort final : public TestPort {
 public:
  explicit TurnsPort(std::atomic<std::uint64_t>& bytes) : bytes_(bytes) {}
  Expected<std::unique_ptr<port::Endpoint>> open_endpoint(port::Service) override {
    return std::make_unique<TurnsEnd>(bytes_, Qpn{next_qpn_++});
  }

 private:
  std::atomic<std::uint64_t>& bytes_;
  std::uint32_t next_qpn_ = 0x100;
};

class SendTurnsTest : public testing::Test {
 protected:
  static constexpr Time kNow{1h};
  using Answer = SendTurns::Answer;

  void SetUp() override {
    context_ = Context::open_on(std::make_unique<TurnsPort>(bytes_), {}, {}).value();
    pd_ = context_->allocate_pd().value();
    queue_ = context_->create_completion_queue(16, nullptr, nullptr).value();
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    region_ =
        context_->register_memory(pd_, memory_.data(), memory_.size(), address, hca::kLocalWrite)
            .value();
  }
  void TearDown() override {
    for (SendTurns::Member& member : members_)
      turns_.leave(member);
    for (const auto& queue_pair : queue_pairs_)
      queue_pair->destroy();
    queue_pairs_.clear();
    EXPECT_TRUE(context_->deregister_memory(region_));
    EXPECT_TRUE(queue_->destroy());
    queue_.reset();
    EXPECT_TRUE(context_->release_pd(pd_));
    context_->close();
  }

  QueuePair& create() {
    QueuePairConfig config;
    config.type = hca::QpType::kRc;
    config.pd = pd_;
    config.send_queue = config.receive_queue = queue_;
    config.max_sends = 4;
    return *queue_pairs_.emplace_back(context_->create_queue_pair(config).value());
  }
  static void connect(QueuePair& queue_pair) {
    const hca::QpAttributes attributes = to_peer(kTurnsMtu);
    make_ready_to_receive(queue_pair, hca::QpType::kRc, attributes);
    make_ready_to_send(queue_pair, hca::QpType::kRc, attributes);
  }
  void post(QueuePair& queue_pair) const {
    const hca::Sge piece{reinterpret_cast<std::uintptr_t>(memory_.data()), kMessage,
                         LKey{region_.key}};
    hca::SendRequest request;
    request.pieces = {&piece, 1};
    ASSERT_EQ(queue_pair.post_send(request, false), std::errc{});
  }

  // Nothing but its turn keeps it from being sent.
  static void await_sent(const QueuePair& queue_pair) {
    while (queue_pair.report().queued_sends > 0)
      std::this_thread::yield();
  }

  // One more that takes part, with a queue pair of its own.
  SendTurns::Member& join() {
    SendTurns::Member& member = members_.emplace_back(create());
    turns_.join(member);
    return member;
  }
  // So many that somebody may have to wait.
  void join_many() {
    while (!turns_.needed())
      join();
  }
  // One that uses up all that may wait for answers.
  SendTurns::Member& take_all() {
    SendTurns::Member& member = join();
    EXPECT_EQ(turns_.ask(member, kNow), Answer::kMay);
    turns_.sends(member, SendTurns::kAtOnce);
    return member;
  }
  // The number of the member whose turn has come; none: -1.
  int next(Time now) {
    const auto queue_pair = turns_.next(now);
    for (std::size_t i = 0; queue_pair && i < members_.size(); ++i) {
      if (queue_pairs_[i] == queue_pair) return static_cast<int>(i);
    }
    return -1;
  }
  int last() { return static_cast<int>(members_.size()) - 1; }

  std::atomic<std::uint64_t> bytes_{0};
  std::array<std::byte, kMessage> memory_{};
  hca::MemoryRegion region_{};
  std::shared_ptr<Context> context_;
  hca::PdHandle pd_{};
  std::shared_ptr<CompletionQueue> queue_;
  std::vector<std::shared_ptr<QueuePair>> queue_pairs_;
  SendTurns turns_;
  std::deque<SendTurns::Member> members_;
};

TEST_F(SendTurnsTest, AreNotWaitedForByFew) {
  for (std::size_t i = 0; i < SendTurns::kFew; ++i) {
    SendTurns::Member& member = join();
    EXPECT_EQ(turns_.ask(member, kNow), Answer::kMay);
    turns_.sends(member, SendTurns::kAtOnce);
    EXPECT_EQ(turns_.ask(member, kNow), Answer::kMay);
  }
  EXPECT_FALSE(turns_.somebody_waits());
}

TEST_F(SendTurnsTest, ComeInTheOrderInWhichTheyWereAskedForWhenAnAnswerMakesRoom) {
  join_many();
  SendTurns::Member& first = take_all();
  SendTurns::Member& second = join();
  const int two = last();
  EXPECT_EQ(turns_.ask(second, kNow), Answer::kFirstToWait);
  SendTurns::Member& third = join();
  const int three = last();
  EXPECT_EQ(turns_.ask(third, kNow), Answer::kWaits);
  EXPECT_EQ(turns_.ask(second, kNow), Answer::kWaits);
  turns_.passed(first);
  EXPECT_EQ(next(kNow), -1);
  turns_.done(first);
  EXPECT_EQ(next(kNow), two);
  turns_.sends(second, SendTurns::kAtOnce - 1);
  EXPECT_EQ(next(kNow), three) << "there was room for a byte";
  EXPECT_FALSE(turns_.somebody_waits());
}

TEST_F(SendTurnsTest, GoOnWhileNobodyWaits) {
  join_many();
  SendTurns::Member& member = join();
  for (unsigned pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(turns_.ask(member, kNow), Answer::kMay);
    turns_.sends(member, SendTurns::kAtOnce);
    turns_.passed(member);
  }
}

TEST_F(SendTurnsTest, AreTakenAgainBehindThoseWhoWait) {
  join_many();
  SendTurns::Member& first = take_all();
  const int one = last();
  SendTurns::Member& second = join();
  const int two = last();
  EXPECT_EQ(turns_.ask(second, kNow), Answer::kFirstToWait);
  turns_.passed(first);
  EXPECT_EQ(turns_.ask(first, kNow), Answer::kSpent) << "what it has sent is not answered";
  turns_.done(first);
  EXPECT_EQ(turns_.ask(first, kNow), Answer::kWaits);
  EXPECT_EQ(next(kNow), two);
  EXPECT_EQ(next(kNow), one);
}

TEST_F(SendTurnsTest, CountNoMoreWhenTheyLastTooLong) {
  join_many();
  take_all();
  SendTurns::Member& second = join();
  const int two = last();
  EXPECT_EQ(turns_.ask(second, kNow), Answer::kFirstToWait);
  EXPECT_EQ(next(kNow + SendTurns::kLongest), -1);
  EXPECT_EQ(next(kNow + SendTurns::kLongest + 1ns), two);
}

TEST_F(SendTurnsTest, AreLeftBehindByThoseWhoGo) {
  join_many();
  SendTurns::Member& first = take_all();
  SendTurns::Member& second = join();
  EXPECT_EQ(turns_.ask(second, kNow), Answer::kFirstToWait);
  SendTurns::Member& third = join();
  const int three = last();
  EXPECT_EQ(turns_.ask(third, kNow), Answer::kWaits);
  turns_.leave(second);
  turns_.leave(second);
  EXPECT_EQ(next(kNow), -1);
  turns_.leave(first);
  EXPECT_EQ(next(kNow), three);
}

TEST_F(SendTurnsTest, ComeForEverybodyThoughNobodyAnswers) {
  for (std::size_t i = 0; i < kMany; ++i)
    connect(create());
  for (const auto& queue_pair : queue_pairs_)
    post(*queue_pair);
  for (const auto& queue_pair : queue_pairs_)
    await_sent(*queue_pair);
  while (bytes_ < std::uint64_t{kMany} * kMessage)  // taken from the queue, and on its way
    std::this_thread::yield();
}

TEST_F(SendTurnsTest, ComeForThoseWhoWaitWhenTheOthersAreDestroyed) {
  for (std::size_t i = 0; i < kMany; ++i)
    connect(create());
  for (const auto& queue_pair : queue_pairs_)
    post(*queue_pair);
  for (std::size_t i = 0; i + 1 < kMany; ++i)
    queue_pairs_[i]->destroy();
  queue_pairs_.erase(queue_pairs_.begin(), queue_pairs_.end() - 1);
  await_sent(*queue_pairs_.front());
}

}  // namespace
}  // namespace weft::host::test

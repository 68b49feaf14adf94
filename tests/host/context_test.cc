// SPDX-License-Identifier: Apache-2.0
// Queue pairs as a program uses them: threads, events, polling, over real sockets on loopback.
#include "host/context.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace weft::host {
namespace {

constexpr QKey kKey{0x1234};
constexpr std::uint32_t kMessage = 256;

// One side: completion queue, queue pair and a registered buffer of `kSlots` slots.
struct Side {
  static constexpr std::uint32_t kSlots = 64;
  static constexpr std::uint32_t kSlot = hca::kGrhArea + kMessage;

  explicit Side(const std::shared_ptr<Context>& owner,
                std::shared_ptr<CompletionChannel> channel = nullptr,
                std::shared_ptr<SharedReceiveQueue> shared = nullptr)
      : context(owner), memory(kSlots * kSlot) {
    pd = context->allocate_pd().value();
    region = context
                 ->register_memory(pd, memory.data(), memory.size(),
                                   std::bit_cast<std::uint64_t>(memory.data()), hca::kLocalWrite)
                 .value();
    queue = context->create_completion_queue(256, std::move(channel), nullptr).value();
    QueuePairConfig config;
    config.pd = pd;
    config.send_queue = config.receive_queue = queue;
    config.max_sends = config.max_receives = kSlots;
    config.max_send_pieces = config.max_receive_pieces = 2;
    config.srq = std::move(shared);
    qp = context->create_queue_pair(config).value();
    hca::QpAttributes attributes;
    attributes.state = hca::QpState::kInit;
    attributes.port = 1;
    attributes.qkey = kKey;
    EXPECT_TRUE(qp->modify(
        attributes, hca::kAttrState | hca::kAttrPKeyIndex | hca::kAttrPort | hca::kAttrQKey));
    attributes.state = hca::QpState::kRtr;
    EXPECT_TRUE(qp->modify(attributes, hca::kAttrState));
    attributes.state = hca::QpState::kRts;
    EXPECT_TRUE(qp->modify(attributes, hca::kAttrState | hca::kAttrSqPsn));
  }
  ~Side() {
    if (qp) qp->destroy();
    EXPECT_TRUE(queue->destroy());
    EXPECT_TRUE(context->deregister_memory(region));
    EXPECT_TRUE(context->release_pd(pd));
  }

  std::byte* slot(std::uint32_t i) { return memory.data() + std::size_t{i} * kSlot; }

  std::errc receive(std::uint32_t i) {
    const hca::Sge piece{std::bit_cast<std::uint64_t>(slot(i)), kSlot, LKey{region.key}};
    return qp->post_receive({i, {&piece, 1}});
  }
  std::errc send(std::uint32_t i, const Side& to, hca::Path path, bool more = false) {
    const hca::Sge piece{std::bit_cast<std::uint64_t>(slot(i)), kMessage, LKey{region.key}};
    hca::SendRequest request;
    request.wr_id = i;
    request.signaled = true;
    request.path = &path;
    request.remote_qpn = to.qp->qpn();
    request.remote_qkey = kKey;
    request.pieces = {&piece, 1};
    return qp->post_send(request, more);
  }
  hca::Completion poll_one() {
    hca::Completion completion;
    while (queue->poll({&completion, 1}) == 0) {
    }
    return completion;
  }

  std::shared_ptr<Context> context;
  std::vector<std::byte> memory;
  hca::PdHandle pd;
  hca::MemoryRegion region;
  std::shared_ptr<CompletionQueue> queue;
  std::shared_ptr<QueuePair> qp;
};

class ContextTest : public testing::Test {
 protected:
  static std::uint64_t counter(const QueuePair& queue_pair, std::string_view name) {
    for (const CounterValue& value : queue_pair.report().counters) {
      if (value.name == name) return value.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  void SetUp() override {
    Config config;
    config.interface = "lo";
    const auto devices = list_devices(config);
    ASSERT_TRUE(devices) << devices.error().message;
    context_ = Context::open(devices->back(), config).value();
    path_.dgid = Gid::from_ipv4(0x7F000001);
    ASSERT_TRUE(context_->complete_path(path_));
  }
  void TearDown() override { context_->close(); }

  std::shared_ptr<Context> context_;
  hca::Path path_;
};

TEST_F(ContextTest, DeliversAMessageBetweenTwoQueuePairs) {
  Side a(context_);
  Side b(context_);
  std::memset(a.slot(0), 0x42, kMessage);
  ASSERT_EQ(b.receive(3), std::errc{});
  ASSERT_EQ(a.send(0, b, path_), std::errc{});
  EXPECT_EQ(a.poll_one().opcode, hca::CompletionOpcode::kSend);
  const auto received = b.poll_one();
  EXPECT_EQ(received.status, hca::CompletionStatus::kSuccess);
  EXPECT_EQ(received.wr_id, 3u);
  EXPECT_EQ(received.byte_length, hca::kGrhArea + kMessage);
  EXPECT_EQ(received.source_qpn, a.qp->qpn());
  EXPECT_EQ(b.slot(3)[hca::kGrhArea + kMessage - 1], std::byte{0x42});
}

// Else the peer would wait out its patience, and find out for itself.
TEST_F(ContextTest, APostToASharedQueueIsToldToThePeersThatWaitForIt) {
  SharedReceiveQueueConfig shared;
  Side a(context_);
  shared.pd = a.pd;
  shared.max_receives = 8;
  const auto queue = context_->create_shared_receive_queue(shared).value();
  {
    Side b(context_, nullptr, queue);
    ASSERT_EQ(a.send(0, b, path_), std::errc{});
    a.poll_one();
    const auto credits = [&] { return counter(*b.qp, "tx_credits"); };
    while (credits() == 0) {
      hca::Completion none;
      EXPECT_EQ(b.queue->poll({&none, 1}), 0U) << "there was nothing to receive into";
    }
    EXPECT_EQ(counter(*b.qp, "rx_no_receive"), 1U);
    const hca::Sge piece{std::bit_cast<std::uint64_t>(b.slot(0)), Side::kSlot, LKey{b.region.key}};
    ASSERT_EQ(queue->post({1, {&piece, 1}}), std::errc{});
    while (credits() == 1)
      std::this_thread::yield();
  }
  EXPECT_TRUE(queue->destroy());
}

TEST_F(ContextTest, SendsTheTailOfAStreamThoughNobodyPolls) {
  Side a(context_);
  auto channel = CompletionChannel::create().value();
  Side b(context_, channel);
  for (std::uint32_t i = 0; i < 3; ++i)
    ASSERT_EQ(b.receive(i), std::errc{});
  // The first goes at once; the others wait for a poll of a's queue, which never comes.
  for (std::uint32_t i = 0; i < 3; ++i)
    ASSERT_EQ(a.send(i, b, path_), std::errc{});
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(b.poll_one().wr_id, i);
}

TEST_F(ContextTest, WakesAProgramThatWaitsForACompletionEvent) {
  auto channel = CompletionChannel::create().value();
  Side a(context_);
  Side b(context_, channel);
  for (std::uint32_t i = 0; i < Side::kSlots; ++i)
    ASSERT_EQ(b.receive(i), std::errc{});
  for (std::uint32_t round = 0; round < 20; ++round) {
    b.queue->arm(hca::CompletionQueue::Arm::kNext);
    pollfd ready{channel->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&ready, 1, 0), 0) << "no event before a completion";
    ASSERT_EQ(a.send(round, b, path_), std::errc{});
    ASSERT_EQ(poll(&ready, 1, 5000), 1);
    const auto event = channel->next_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(*event, b.queue.get());
    b.queue->acknowledge_events(1);
    EXPECT_EQ(b.poll_one().wr_id, round);
  }
}

TEST_F(ContextTest, ReportsAnOverrunCompletionQueueAsAnAsynchronousEventOnce) {
  Side a(context_);
  Side b(context_);
  b.queue->arm(hca::CompletionQueue::Arm::kNext);
  for (int i = 0; i < 300; ++i) {
    b.queue->complete({.wr_id = 1, .opcode = hca::CompletionOpcode::kReceive});
  }
  EXPECT_TRUE(b.queue->overrun());
  const auto event = context_->async_events().next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, AsyncEventType::kCqError);
  EXPECT_EQ(event->queue, b.queue.get());
  b.queue->acknowledge_async_event();
  pollfd ready{context_->async_events().fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 0);
}

TEST_F(ContextTest, RefusesToReleaseWhatIsInUse) {
  Side side(context_);
  EXPECT_EQ(context_->release_pd(side.pd).error().code, std::errc::device_or_resource_busy);
  EXPECT_EQ(side.queue->destroy().error().code, std::errc::device_or_resource_busy);
}

TEST_F(ContextTest, ServesMoreQueuePairsThanItAsksOneByOne) {
  Side a(context_);
  std::vector<std::unique_ptr<Side>> many;
  auto shared_queue = context_->create_completion_queue(256, nullptr, nullptr).value();
  for (int i = 0; i < 20; ++i)
    many.push_back(std::make_unique<Side>(context_));
  for (auto& side : many) {
    ASSERT_EQ(side->receive(0), std::errc{});
    ASSERT_EQ(a.send(0, *side, path_), std::errc{});
    EXPECT_EQ(a.poll_one().opcode, hca::CompletionOpcode::kSend);
    EXPECT_EQ(side->poll_one().byte_length, hca::kGrhArea + kMessage);
  }
  EXPECT_TRUE(shared_queue->destroy());
}

TEST_F(ContextTest, LetsThreadsPostPollAndDestroyAtTheSameTime) {
  Side b(context_);
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> received{0};
  std::thread poller([&] {
    hca::Completion completion;
    while (!stop) {
      if (b.queue->poll({&completion, 1}) == 1) {
        ++received;
        EXPECT_EQ(b.receive(static_cast<std::uint32_t>(completion.wr_id)), std::errc{});
      }
    }
  });
  for (std::uint32_t i = 0; i < Side::kSlots; ++i)
    ASSERT_EQ(b.receive(i), std::errc{});
  std::vector<std::thread> senders;
  for (int t = 0; t < 3; ++t) {
    senders.emplace_back([&] {
      for (int life = 0; life < 5; ++life) {
        Side a(context_);
        for (std::uint32_t i = 0; i < 50; ++i) {
          ASSERT_EQ(a.send(i, b, path_), std::errc{});
          EXPECT_EQ(a.poll_one().wr_id, i);
        }
      }
    });
  }
  for (auto& sender : senders)
    sender.join();
  stop = true;
  poller.join();
  EXPECT_GT(received, 0u);
}

}  // namespace
}  // namespace weft::host

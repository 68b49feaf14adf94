// SPDX-License-Identifier: Apache-2.0
// A connection whose program posts in one thread and polls in others: every message arrives once
// and in order, and every completion is found by one thread. ThreadSanitizer looks on.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

#include "host/context.h"
#include "test_port.h"

namespace weft::host::test {
namespace {

constexpr std::uint32_t kDepth = 64;
constexpr std::uint32_t kMessages = 2000;
constexpr std::uint32_t kSignalEvery = 16;

// One end, with a completion queue for sends and one for receives.
struct ThreadsEnd {
  explicit ThreadsEnd(const std::shared_ptr<Context>& owner) : context(owner) {
    pd = context->allocate_pd().value();
    region = context
                 ->register_memory(pd, memory.data(), sizeof memory,
                                   std::bit_cast<std::uint64_t>(memory.data()), hca::kLocalWrite)
                 .value();
    sends = context->create_completion_queue(2 * kDepth, nullptr, nullptr).value();
    receives = context->create_completion_queue(2 * kDepth, nullptr, nullptr).value();
    QueuePairConfig config;
    config.type = hca::QpType::kRc;
    config.pd = pd;
    config.send_queue = sends;
    config.receive_queue = receives;
    config.max_sends = config.max_receives = kDepth;
    config.max_inline = sizeof(std::uint32_t);
    qp = context->create_queue_pair(config).value();
  }
  ~ThreadsEnd() {
    qp->destroy();
    EXPECT_TRUE(sends->destroy());
    EXPECT_TRUE(receives->destroy());
    EXPECT_TRUE(context->deregister_memory(region));
    EXPECT_TRUE(context->release_pd(pd));
  }

  void connect(const ThreadsEnd& peer, const hca::Path& path) {
    hca::QpAttributes a;
    a.port = 1;
    a.path = path;
    a.path_mtu = 1024;
    a.peer = peer.qp->qpn();
    a.ack_timeout = 14;
    a.retry_count = a.rnr_retry = 7;
    a.max_reads_in = a.max_reads_out = 1;
    make_ready_to_receive(*qp, hca::QpType::kRc, a);
    for (std::uint32_t i = 0; i < kDepth; ++i)
      receive(i);
    make_ready_to_send(*qp, hca::QpType::kRc, a);
  }

  void receive(std::uint64_t slot) {
    const hca::Sge piece{std::bit_cast<std::uint64_t>(&memory[slot]), sizeof memory[slot],
                         LKey{region.key}};
    ASSERT_EQ(qp->post_receive({slot, {&piece, 1}}), std::errc{});
  }
  // Waits for room in the queue, which others make.
  void send(std::uint32_t number) {
    const hca::Sge piece{std::bit_cast<std::uint64_t>(&number), sizeof number, LKey{}};
    hca::SendRequest request;
    request.wr_id = number;
    request.signaled = (number + 1) % kSignalEvery == 0;
    request.inline_data = true;
    request.pieces = {&piece, 1};
    std::errc error{};
    while ((error = qp->post_send(request, false)) == std::errc::not_enough_memory)
      std::this_thread::yield();
    ASSERT_EQ(error, std::errc{});
  }

  std::shared_ptr<Context> context;
  std::array<std::uint32_t, kDepth> memory{};
  hca::PdHandle pd;
  hca::MemoryRegion region;
  std::shared_ptr<CompletionQueue> sends, receives;
  std::shared_ptr<QueuePair> qp;
};

class ConnectedThreads : public testing::Test {
 protected:
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

TEST_F(ConnectedThreads, PostAndPollAtTheSameTime) {
  ThreadsEnd a(context_);
  ThreadsEnd b(context_);
  a.connect(b, path_);
  b.connect(a, path_);
  std::atomic<std::uint32_t> reported{0};
  std::atomic<std::uint32_t> arrived{0};
  // Two find the reports of sends; now and then one of them asks for an event, as one does who is
  // about to sleep.
  const auto poll_sends = [&] {
    std::array<hca::Completion, 4> found;
    for (std::uint32_t polls = 0; reported < kMessages / kSignalEvery; ++polls) {
      const std::size_t count = a.sends->poll(found);
      for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(found[i].status, hca::CompletionStatus::kSuccess);
      reported += static_cast<std::uint32_t>(count);
      if (polls % 64 == 0) a.sends->arm(hca::CompletionQueue::Arm::kNext);
    }
  };
  // What acknowledges may come by the other queue.
  const auto poll_in_vain = [&] {
    hca::Completion found;
    while (reported < kMessages / kSignalEvery)
      EXPECT_EQ(a.receives->poll({&found, 1}), 0u);
  };
  const auto poll_receives = [&] {
    hca::Completion found;
    while (arrived < kMessages) {
      if (b.receives->poll({&found, 1}) == 0) continue;
      EXPECT_EQ(b.memory[found.wr_id], arrived.load());
      b.receive(found.wr_id);
      ++arrived;
    }
  };
  std::array threads{std::thread(poll_sends), std::thread(poll_sends), std::thread(poll_in_vain),
                     std::thread(poll_receives)};
  for (std::uint32_t i = 0; i < kMessages; ++i)
    a.send(i);
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(reported, kMessages / kSignalEvery);
  EXPECT_EQ(arrived, kMessages);
}

}  // namespace
}  // namespace weft::host::test

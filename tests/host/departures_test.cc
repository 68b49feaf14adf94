// SPDX-License-Identifier: Apache-2.0
// Bursts of several queue pairs in one call to the wire. On a port of the test's own, whose calls
// are kept.
#include "host/departures.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "host/context.h"
#include "io/clock.h"
#include "io/unique_fd.h"

namespace weft::host {
namespace {

const Gid kOwnGid = Gid::from_ipv4(0x0A000001);
const Gid kPeerGid = Gid::from_ipv4(0x0A000002);
const Gid kOtherGid = Gid::from_ipv4(0x0A000003);
constexpr Psn kPsn{0x1000};
constexpr std::uint32_t kMtu = 2048;
constexpr std::uint32_t kMostInline = 512;

class Socket final : public port::Inlet {
 public:
  std::size_t receive(port::DatagramSink&, std::size_t) override { return 0; }
  [[nodiscard]] std::vector<int> descriptors() const override { return {event_.get()}; }
  [[nodiscard]] std::uint32_t capacity() const override { return 1u << 20; }

 private:
  io::UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

// What the wire was handed in one call: of each burst, how long its packets are.
using Call = std::vector<std::vector<std::size_t>>;

struct Wire {
  // The context's thread sends, too, what has waited too long.
  void note(Call call) {
    const std::lock_guard guard(mutex);
    calls_made.push_back(std::move(call));
  }
  std::vector<Call> take_calls() {
    const std::lock_guard guard(mutex);
    return std::exchange(calls_made, {});
  }

  std::shared_ptr<port::Inlet> socket = std::make_shared<Socket>();
  std::mutex mutex;
  std::vector<Call> calls_made;
  std::optional<hca::SendResult> together = hca::SendResult{};
  std::uint32_t next_qpn = 0x100;
};

class End final : public port::Endpoint {
 public:
  End(Wire& wire, Qpn qpn) : wire_(wire), qpn_(qpn), inlet_(wire.socket) {}
  [[nodiscard]] Qpn qpn() const override { return qpn_; }
  [[nodiscard]] const std::shared_ptr<port::Inlet>& inlet() const override { return inlet_; }
  [[nodiscard]] bool same_way(const hca::Burst& first, const hca::Burst& next) const override {
    return first.path == next.path;
  }
  hca::SendResult send(const hca::Burst& burst) override {
    const hca::Burst* const one = &burst;
    note({&one, 1});
    return {};
  }
  std::optional<hca::SendResult> send_together(std::span<const hca::Burst* const> bursts) override {
    note(bursts);
    return wire_.together;
  }
  Expected<void> attach(const Gid&) override { return {}; }
  Expected<void> detach(const Gid&) override { return {}; }

 private:
  void note(std::span<const hca::Burst* const> bursts) {
    Call call;
    for (const hca::Burst* burst : bursts) {
      call.emplace_back();
      for (const hca::OutPacket& packet : burst->packets())
        call.back().push_back(packet.payload_length);
    }
    wire_.note(std::move(call));
  }

  Wire& wire_;
  const Qpn qpn_;
  std::shared_ptr<port::Inlet> inlet_;
};

class WirePort final : public port::Port {
 public:
  explicit WirePort(Wire& wire) : wire_(wire) {}
  [[nodiscard]] port::PortAttributes attributes(std::uint8_t) override {
    port::PortAttributes attributes;
    attributes.gids = {{kOwnGid, 1}};
    attributes.pkeys = {kDefaultPKey};
    return attributes;
  }
  [[nodiscard]] hca::UdFraming framing() const override { return hca::UdFraming::kBth; }
  [[nodiscard]] Gid group_address(const Gid& group) const override { return group; }
  Expected<std::unique_ptr<port::Endpoint>> open_endpoint(port::Service) override {
    return std::make_unique<End>(wire_, Qpn{wire_.next_qpn++});
  }
  Expected<std::unique_ptr<port::Endpoint>> open_management() override {
    return fail(std::errc::operation_not_supported, "none");
  }
  [[nodiscard]] bool weft_peers_only() const override { return true; }
  [[nodiscard]] std::vector<CounterValue> counters() const override { return {}; }

 private:
  Wire& wire_;
};

class DeparturesTest : public testing::Test {
 protected:
  void SetUp() override {
    context_ = Context::open_on(std::make_unique<WirePort>(wire_), {}, {}).value();
    pd_ = context_->allocate_pd().value();
    queue_ = context_->create_completion_queue(1024, nullptr, nullptr).value();
  }
  void TearDown() override {
    for (const auto& queue_pair : queue_pairs_)
      queue_pair->destroy();
    queue_pairs_.clear();
    EXPECT_TRUE(queue_->destroy());
    queue_.reset();
    EXPECT_TRUE(context_->release_pd(pd_));
    context_->close();
  }

  QueuePair& connect(const Gid& peer = kPeerGid) {
    QueuePairConfig config;
    config.type = hca::QpType::kUc;  // needs no answers
    config.pd = pd_;
    config.send_queue = config.receive_queue = queue_;
    config.max_sends = 64;
    config.max_inline = kMostInline;
    QueuePair& queue_pair = *queue_pairs_.emplace_back(context_->create_queue_pair(config).value());
    hca::QpAttributes attributes;
    attributes.state = hca::QpState::kInit;
    attributes.port = 1;
    EXPECT_TRUE(queue_pair.modify(
        attributes, hca::kAttrState | hca::kAttrPKeyIndex | hca::kAttrPort | hca::kAttrAccess));
    attributes.state = hca::QpState::kRtr;
    attributes.path = {.sgid = kOwnGid, .dgid = peer};
    attributes.path_mtu = kMtu;
    attributes.peer = Qpn{0x99};
    attributes.rq_psn = kPsn;
    EXPECT_TRUE(queue_pair.modify(attributes, hca::kAttrState | hca::kAttrPath | hca::kAttrPathMtu |
                                                  hca::kAttrPeer | hca::kAttrRqPsn));
    attributes.state = hca::QpState::kRts;
    attributes.sq_psn = kPsn;
    EXPECT_TRUE(queue_pair.modify(attributes, hca::kAttrState | hca::kAttrSqPsn));
    return queue_pair;
  }
  // Posts a message that does not go yet.
  void post(QueuePair& queue_pair, std::uint32_t length) {
    const hca::Sge piece{reinterpret_cast<std::uintptr_t>(message_.data()), length, LKey{}};
    hca::SendRequest request;
    request.wr_id = length;
    request.signaled = true;
    request.inline_data = true;
    request.pieces = {&piece, 1};
    ASSERT_EQ(queue_pair.post_send(request, true), std::errc{});
  }
  // The same to each, which may go.
  void post_to_all() {
    const hca::Sge piece{reinterpret_cast<std::uintptr_t>(message_.data()), 100, LKey{}};
    hca::SendRequest request;
    request.signaled = request.inline_data = true;
    request.pieces = {&piece, 1};
    for (const auto& queue_pair : queue_pairs_)
      EXPECT_EQ(queue_pair->post_send(request, false), std::errc{});
  }
  std::size_t completions() { return queue_->size(); }

  Wire wire_;
  std::array<std::byte, kMostInline> message_{};
  std::shared_ptr<Context> context_;
  hca::PdHandle pd_{};
  std::shared_ptr<CompletionQueue> queue_;
  std::vector<std::shared_ptr<QueuePair>> queue_pairs_;
};

TEST_F(DeparturesTest, LeaveTogetherThoughTheyAreOfSeveralQueuePairs) {
  Departures departures(io::now());
  for (unsigned i = 0; i < 3; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 500);
    if (i == 1) post(queue_pair, 500);
    EXPECT_TRUE(departures.flush(queue_pair));
  }
  EXPECT_TRUE(wire_.take_calls().empty());
  departures.go();
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}, {500, 500}, {500}}}));
  EXPECT_EQ(completions(), 4u);
}

TEST_F(DeparturesTest, LeaveBeforeWhatGoesElsewhere) {
  QueuePair& here = connect();
  QueuePair& there = connect(kOtherGid);
  post(here, 500);
  post(there, 500);
  {
    Departures departures(io::now());
    departures.flush(here);
    departures.flush(there);
    EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}}}));
  }
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}}}));
  EXPECT_EQ(completions(), 2u);
}

TEST_F(DeparturesTest, EndWithAShorterPacketAndNeverHoldALongerOne) {
  Departures departures(io::now());
  for (const std::uint32_t length : {500u, 400u, 400u, 500u}) {
    QueuePair& queue_pair = connect();
    post(queue_pair, length);
    departures.flush(queue_pair);
  }
  departures.go();
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}, {400}}, {{400}}, {{500}}}));
}

TEST_F(DeparturesTest, HoldNoMorePacketsThanOneCallMay) {
  Departures departures(io::now());
  for (unsigned i = 0; i < hca::Burst::kMaxPackets + 2; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 100);
    departures.flush(queue_pair);
  }
  departures.go();
  const std::vector<Call> calls = wire_.take_calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].size(), hca::Burst::kMaxPackets);
  EXPECT_EQ(calls[1].size(), 2u);
}

TEST_F(DeparturesTest, HoldNoMoreBytesThanOneCallMay) {
  std::vector<std::byte> memory(10 * kMtu);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const auto region =
      context_->register_memory(pd_, memory.data(), memory.size(), address, hca::kLocalWrite)
          .value();
  {
    Departures departures(io::now());
    for (unsigned i = 0; i < 4; ++i) {
      QueuePair& queue_pair = connect();
      const hca::Sge piece{address, 10 * kMtu, LKey{region.key}};
      hca::SendRequest request;
      request.pieces = {&piece, 1};
      ASSERT_EQ(queue_pair.post_send(request, true), std::errc{});
      departures.flush(queue_pair);
    }
  }
  const std::vector<std::size_t> each(10, kMtu);
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{each, each, each}, {each}}));
  EXPECT_TRUE(context_->deregister_memory(region));
}

TEST_F(DeparturesTest, GoOneByOneWhenTheWireObjectsToThemTogether) {
  wire_.together.reset();
  Departures departures(io::now());
  for (unsigned i = 0; i < 2; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 500);
    departures.flush(queue_pair);
  }
  departures.go();
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}, {500}}, {{500}}, {{500}}}));
  EXPECT_EQ(completions(), 2u);
}

TEST_F(DeparturesTest, WaitAndGoAgainWhenTheWireIsFull) {
  wire_.together = hca::SendResult{hca::SendOutcome::kWouldBlock};
  Departures departures(io::now());
  for (unsigned i = 0; i < 2; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 500);
    departures.flush(queue_pair);
  }
  departures.go();
  EXPECT_EQ(completions(), 0u);
  for (const auto& queue_pair : queue_pairs_)
    EXPECT_TRUE(queue_pair->has_deferred_sends());
  wire_.together = hca::SendResult{};
  hca::Completion completion;
  while (completions() < 2)
    queue_->poll({&completion, 0});
  for (const auto& queue_pair : queue_pairs_)
    EXPECT_FALSE(queue_pair->has_deferred_sends());
}

// What several queue pairs were posted since the last poll goes at the next one, in one call; and
// so does the first post to each, once the program has been seen to post many between two polls.
TEST_F(DeparturesTest, AreMadeOfWhatAProgramPostsToManyQueuePairsBetweenPolls) {
  for (unsigned i = 0; i < 20; ++i)
    connect();
  std::vector<hca::Completion> done(64);
  const auto round = [&] {
    post_to_all();
    for (std::size_t count = 0; count < queue_pairs_.size();)
      count += queue_->poll(done);
  };
  // The thread that sees to what waits too long may be the first to send, now and then.
  std::size_t most = 0;
  for (unsigned rounds = 0; most < 20 && rounds < 1000; ++rounds) {
    round();
    for (const Call& call : wire_.take_calls())
      most = std::max(most, call.size());
  }
  EXPECT_EQ(most, 20u);
}

// The same by the thread, of a program that does not poll.
TEST_F(DeparturesTest, AreMadeOfWhatWaitsThoughNobodyPolls) {
  for (unsigned i = 0; i < 20; ++i)
    connect();
  std::vector<hca::Completion> done(64);
  std::size_t most = 0;
  for (unsigned rounds = 0; most < 2 && rounds < 1000; ++rounds) {
    post_to_all();
    for (std::size_t sent = 0; sent < queue_pairs_.size();) {
      for (const Call& call : wire_.take_calls()) {
        sent += call.size();
        most = std::max(most, call.size());
      }
      std::this_thread::yield();
    }
    for (std::size_t count = 0; count < queue_pairs_.size();)
      count += queue_->poll(done);
  }
  EXPECT_GE(most, 2u);
}

}  // namespace
}  // namespace weft::host

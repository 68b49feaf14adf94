// SPDX-License-Identifier: Apache-2.0
// A context on a port of the test's own, whose calls are kept.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/context.h"
#include "test_port.h"
#include "wire/bth.h"

namespace weft::host::test {

inline const Gid kOtherGid = Gid::from_ipv4(0x0A000003);
inline constexpr std::uint32_t kMtu = 2048;
inline constexpr std::uint32_t kMostInline = 512;

// Where nothing arrives, unless the test says so.
class Socket final : public SilentInlet {
 public:
  // What it is, is nothing to a queue pair.
  std::size_t receive(port::DatagramSink& sink, std::size_t) override {
    ++reads;
    if (waiting == 0) return 0;
    sink.deliver({});
    if (--waiting == 0 && with_last) with_last();
    return 1;
  }

  std::atomic<unsigned> reads = 0;
  std::atomic<unsigned> waiting = 0;  // datagrams, of which a call takes one
  std::function<void()> with_last;    // called when the last of them is taken
};

// What the wire was handed in one call: of each burst, how long its packets are.
using Call = std::vector<std::vector<std::size_t>>;

struct SharedWire {
  // The context's thread sends, too, what has waited too long.
  void note(Call call) {
    const std::lock_guard guard(mutex);
    calls_made.push_back(std::move(call));
  }
  std::vector<Call> take_calls() {
    const std::lock_guard guard(mutex);
    return std::exchange(calls_made, {});
  }

  std::shared_ptr<Socket> socket = std::make_shared<Socket>();
  std::mutex mutex;
  std::vector<Call> calls_made;
  std::atomic<unsigned> asks = 0;  // packets that ask for an acknowledgement
  std::optional<hca::SendResult> together = hca::SendResult{};
  std::uint32_t next_qpn = 0x100;
};

class End final : public TestEnd {
 public:
  End(SharedWire& wire, Qpn qpn) : TestEnd(qpn, wire.socket), wire_(wire) {}
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

 private:
  void note(std::span<const hca::Burst* const> bursts) {
    Call call;
    for (const hca::Burst* burst : bursts) {
      call.emplace_back();
      for (const hca::OutPacket& packet : burst->packets()) {
        call.back().push_back(packet.payload_length);
        if (wire::Bth::parse(packet.header)->ack_request) ++wire_.asks;
      }
    }
    wire_.note(std::move(call));
  }

  SharedWire& wire_;
};

class WirePort final : public TestPort {
 public:
  explicit WirePort(SharedWire& wire) : wire_(wire) {}
  Expected<std::unique_ptr<port::Endpoint>> open_endpoint(port::Service) override {
    return std::make_unique<End>(wire_, Qpn{wire_.next_qpn++});
  }
  [[nodiscard]] bool weft_peers_only() const override { return true; }

 private:
  SharedWire& wire_;
};

class OnWire : public testing::Test {
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
    if (receives_) {
      EXPECT_TRUE(receives_->destroy());
      receives_.reset();
    }
    EXPECT_TRUE(context_->release_pd(pd_));
    context_->close();
  }

  // UC needs no answers.
  QueuePair& connect(const Gid& peer = kPeerGid, hca::QpType type = hca::QpType::kUc) {
    QueuePairConfig config;
    config.type = type;
    config.pd = pd_;
    config.send_queue = queue_;
    config.receive_queue = receives_ ? receives_ : queue_;
    config.max_sends = 64;
    config.max_inline = kMostInline;
    QueuePair& queue_pair = *queue_pairs_.emplace_back(context_->create_queue_pair(config).value());
    const hca::QpAttributes attributes = to_peer(kMtu, peer);
    make_ready_to_receive(queue_pair, type, attributes);
    make_ready_to_send(queue_pair, type, attributes);
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
  // One after the other, messages that nobody wants to hear of.
  void post_run(QueuePair& queue_pair, unsigned count) {
    const hca::Sge piece{reinterpret_cast<std::uintptr_t>(message_.data()), 100, LKey{}};
    hca::SendRequest request;
    request.inline_data = true;
    request.pieces = {&piece, 1};
    for (unsigned i = 0; i < count; ++i)
      ASSERT_EQ(queue_pair.post_send(request, false), std::errc{});
  }
  // One to each, which may go.
  void post_to_all() {
    const hca::Sge piece{reinterpret_cast<std::uintptr_t>(message_.data()), 100, LKey{}};
    hca::SendRequest request;
    request.signaled = request.inline_data = true;
    request.pieces = {&piece, 1};
    for (const auto& queue_pair : queue_pairs_)
      EXPECT_EQ(queue_pair->post_send(request, false), std::errc{});
  }
  std::size_t completions() { return queue_->size(); }

  SharedWire wire_;
  std::array<std::byte, kMostInline> message_{};
  std::shared_ptr<Context> context_;
  hca::PdHandle pd_{};
  std::shared_ptr<CompletionQueue> queue_;
  std::shared_ptr<CompletionQueue> receives_;  // if a test makes one; else queue_
  std::vector<std::shared_ptr<QueuePair>> queue_pairs_;
};

}  // namespace weft::host::test

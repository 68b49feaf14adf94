// SPDX-License-Identifier: Apache-2.0
// A program may leave as soon as it has seen a message arrive: the peer is told all the same. On a
// port of the test's own, where a read lasts as long as the test wants.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "host/context.h"
#include "host/process.h"
#include "test_port.h"
#include "wire/aeth.h"
#include "wire/bth.h"
#include "wire/xrceth.h"

namespace weft::host::test {
namespace {

constexpr Qpn kOwnQpn{0x77};

// A message is handed in by receive(), which returns when the test opens the gate.
class OwedWire final : public SilentInlet {
 public:
  std::size_t receive(port::DatagramSink& sink, std::size_t) override {
    std::uint64_t events = 0;
    [[maybe_unused]] const auto drained = read(event(), &events, sizeof events);
    if (!waiting_.exchange(false)) return 0;
    // Behind the BTH the zeros are no XRC number, or an acknowledgement without credits.
    std::array<std::byte, wire::Bth::kSize + wire::Xrceth::kSize> packet{};
    message.write(packet);
    hca::InDatagram datagram;
    datagram.transport = Bytes(packet).first(length);
    datagram.source = kPeerGid;
    datagram.destination = kOwnGid;
    // And again, as often as the lock of the queue pair is kept: it is free during the wait.
    for (unsigned i = 0; i < 8; ++i)
      sink.deliver(datagram);
    handed_in.store(true);
    while (!gate.load())
      std::this_thread::yield();
    return 1;
  }

  void arrive() { waiting_.store(true); }
  // For the thread of the context: nobody polls.
  void arrive_unasked() {
    arrive();
    const std::uint64_t one = 1;
    EXPECT_EQ(write(event(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  // A message without data.
  wire::Bth message{.opcode = wire::Opcode::rc_send_only,
                    .migrated = true,
                    .pkey = kDefaultPKey,
                    .dest_qp = kOwnQpn,
                    .ack_request = true,
                    .psn = kPsn};
  std::size_t length = wire::Bth::kSize;
  std::atomic<bool> handed_in{false};
  std::atomic<bool> gate{true};
  std::atomic<unsigned> messages{0};
  std::atomic<unsigned> acknowledgements{0};
  std::atomic<std::uint32_t> acknowledged{0};  // the last number
  std::atomic<unsigned> refusals{0};           // so many sends find the wire full

 private:
  std::atomic<bool> waiting_{false};
};

class WireEnd final : public TestEnd {
 public:
  explicit WireEnd(std::shared_ptr<OwedWire> wire)
      : TestEnd(kOwnQpn, wire), wire_(std::move(wire)) {}
  hca::SendResult send(const hca::Burst& burst) override {
    if (wire_->refusals > 0) {
      --wire_->refusals;
      return {hca::SendOutcome::kWouldBlock};
    }
    for (const hca::OutPacket& packet : burst.packets()) {
      const auto bth = wire::Bth::parse(packet.header);
      if (!bth) continue;
      if (bth->opcode == wire::Opcode::rc_send_only) ++wire_->messages;
      const bool acknowledges = bth->opcode == wire::Opcode::rc_acknowledge ||
                                bth->opcode == wire::Opcode::xrc_acknowledge;
      if (!acknowledges) continue;
      wire_->acknowledged = bth->psn.value();
      ++wire_->acknowledgements;
    }
    return {};
  }

 private:
  std::shared_ptr<OwedWire> wire_;
};

class OwedPort final : public TestPort {
 public:
  explicit OwedPort(std::shared_ptr<OwedWire> wire) : wire_(std::move(wire)) {}
  Expected<std::unique_ptr<port::Endpoint>> open_endpoint(port::Service) override {
    return std::make_unique<WireEnd>(wire_);
  }

 private:
  std::shared_ptr<OwedWire> wire_;
};

class Owed : public testing::Test {
 protected:
  void SetUp() override {
    open();
    queue_ = context_->create_completion_queue(16, nullptr, nullptr).value();
    QueuePairConfig config;
    config.type = hca::QpType::kRc;
    config.pd = pd_;
    config.send_queue = config.receive_queue = queue_;
    config.max_sends = config.max_receives = 4;
    qp_ = context_->create_queue_pair(config).value();
    make_ready_to_receive(*qp_, config.type, to_peer(1024));
    ASSERT_EQ(qp_->post_receive({1, {}}), std::errc{});
  }
  void TearDown() override {
    if (qp_) qp_->destroy();
    qp_.reset();
    EXPECT_TRUE(queue_->destroy());
    queue_.reset();
    close();
  }

  void open() {
    context_ = Context::open_on(std::make_unique<OwedPort>(wire_), {}, {}).value();
    pd_ = context_->allocate_pd().value();
  }
  void close() {
    EXPECT_TRUE(context_->release_pd(pd_));
    context_->close();
  }

  bool poll() {
    hca::Completion completion;
    return queue_->poll({&completion, 1}) == 1;
  }

  // Another thread of the program reads the message, and is still at it when this one has seen the
  // completion and leaves. The pause can only hide a defect: nothing is wrong however short it is.
  void leave_while_another_thread_reads(const std::function<void()>& leave) {
    wire_->gate = false;
    wire_->arrive();
    std::thread reader([this] {
      while (!wire_->handed_in)
        poll();
    });
    while (!wire_->handed_in || queue_->size() == 0)
      std::this_thread::yield();
    std::thread leaver(leave);
    std::this_thread::sleep_for(5ms);
    wire_->gate = true;
    leaver.join();
    EXPECT_EQ(wire_->acknowledgements, 1u);
    reader.join();
  }
  // One message after the other, each of which is there at the first look.
  void read_messages(std::uint32_t count, const std::function<void(std::uint32_t)>& after_each) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i > 0) {
        ASSERT_EQ(qp_->post_receive({1, {}}), std::errc{});
      }
      wire_->message.psn = kPsn + i;
      wire_->arrive();
      while (!poll()) {
      }
      after_each(i);
    }
  }
  void set_state(hca::QpState state) {
    hca::QpAttributes attributes;
    attributes.state = state;
    EXPECT_TRUE(qp_->modify(attributes, hca::kAttrState));
  }

  std::shared_ptr<OwedWire> wire_ = std::make_shared<OwedWire>();
  std::shared_ptr<Context> context_;
  hca::PdHandle pd_{};
  std::shared_ptr<CompletionQueue> queue_;
  std::shared_ptr<QueuePair> qp_;
};

TEST_F(Owed, IsSentBeforeAQueuePairIsDestroyed) {
  leave_while_another_thread_reads([this] { qp_->destroy(); });
  qp_.reset();
}

TEST_F(Owed, IsSentBeforeAQueuePairIsMovedToError) {
  leave_while_another_thread_reads([this] { set_state(hca::QpState::kErr); });
}

TEST_F(Owed, IsSentBeforeAQueuePairIsReset) {
  leave_while_another_thread_reads([this] { set_state(hca::QpState::kReset); });
}

TEST_F(Owed, IsSentBeforeAContextIsClosed) {
  leave_while_another_thread_reads([this] { context_->close(); });
}

TEST_F(Owed, IsSentBeforeAProcessEnds) {
  leave_while_another_thread_reads([] { send_owed_by_process(); });
}

TEST_F(Owed, IsSentAtOnceThoughItWaitsForCompany) {
  wire_->arrive();
  while (!poll()) {
  }
  set_state(hca::QpState::kErr);
  EXPECT_EQ(wire_->acknowledgements, 1u);
}

TEST_F(Owed, WhatHasArrivedCountsThoughNobodyHasReadIt) {
  wire_->arrive();
  set_state(hca::QpState::kErr);
  EXPECT_EQ(wire_->acknowledgements, 1u);
  hca::Completion completion;
  ASSERT_EQ(queue_->poll({&completion, 1}), 1u);
  EXPECT_EQ(completion.status, hca::CompletionStatus::kSuccess);
}

TEST_F(Owed, WhatHasArrivedIsAcknowledgedThoughNobodyHasReadIt) {
  wire_->arrive();
  qp_->destroy();
  qp_.reset();
  EXPECT_EQ(wire_->acknowledgements, 1u);
}

// Where message follows message, what is left to do after a look is put off to the next one.
TEST_F(Owed, IsSentThoughTheProgramDoesNotLookAgain) {
  read_messages(200, [this](std::uint32_t i) {
    while (wire_->acknowledged != (kPsn + i).value())
      std::this_thread::yield();
  });
}

TEST_F(Owed, IsSentBeforeAProcessEndsThatMightHaveLookedAgain) {
  for (unsigned round = 0; round < 20; ++round) {
    read_messages(40, [](std::uint32_t) {});
    send_owed_by_process();
    EXPECT_EQ(wire_->acknowledged, (kPsn + 39).value());
    TearDown();
    SetUp();
  }
}

TEST_F(Owed, IsOfferedAgainToAFullWire) {
  wire_->refusals = 3;
  wire_->arrive();
  while (!poll()) {
  }
  qp_->destroy();
  qp_.reset();
  EXPECT_EQ(wire_->acknowledgements, 1u);
}

// The acknowledgement comes at once, but nobody has a processor to read it.
TEST_F(Owed, IsNotAskedForAgainWhereItHasArrived) {
  hca::QpAttributes attributes = to_peer(1024);
  attributes.ack_timeout = 12;  // 17 ms
  attributes.retry_count = 7;
  make_ready_to_send(*qp_, hca::QpType::kRc, attributes);
  wire_->message.opcode = wire::Opcode::rc_acknowledge;
  wire_->length = wire::Bth::kSize + wire::Aeth::kSize;
  wire_->arrive();
  hca::SendRequest message;
  message.signaled = true;
  ASSERT_EQ(qp_->post_send(message, false), std::errc{});
  while (queue_->size() == 0 && wire_->messages < 2)
    std::this_thread::yield();
  EXPECT_EQ(queue_->size(), 1u);
  EXPECT_EQ(wire_->messages, 1u);
}

// An XRC target has no completion queue that a program could poll.
class OwedByTarget : public Owed {
 protected:
  void SetUp() override {
    open();
    domain_ = context_->allocate_xrc_domain().value();
    QueuePairConfig config;
    config.type = hca::QpType::kXrcTarget;
    config.pd = pd_;
    config.xrc_domain = domain_;
    qp_ = context_->create_queue_pair(config).value();
    make_ready_to_receive(*qp_, config.type, to_peer(1024));
  }
  void TearDown() override {
    qp_->destroy();
    qp_.reset();
    EXPECT_TRUE(context_->release_xrc_domain(domain_));
    close();
  }

  std::uint32_t domain_ = 0;
};

TEST_F(OwedByTarget, IsOfferedAgainToAFullWire) {
  wire_->message.opcode = wire::Opcode::xrc_send_only;
  wire_->message.psn = kPsn + 1;  // one is missing: a NAK is due
  wire_->length = wire::Bth::kSize + wire::Xrceth::kSize;
  wire_->refusals = 3;
  wire_->arrive_unasked();
  while (wire_->acknowledgements == 0)
    std::this_thread::yield();
  EXPECT_EQ(wire_->refusals, 0u);
}

}  // namespace
}  // namespace weft::host::test

// SPDX-License-Identifier: Apache-2.0
// What a context makes of what happens to its port, and of addresses, on a port of the test's own
// that is one of a fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>

#include "host/context.h"
#include "io/unique_fd.h"
#include "test_port.h"

namespace weft::host {
namespace {

using testing::HasSubstr;
using enum AsyncEventType;

const Gid kOwnGid(std::array<std::uint8_t, 16>{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0,
                                               1});
const Gid kPeerGid(std::array<std::uint8_t, 16>{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0,
                                                2});
const Gid kGroup(std::array<std::uint8_t, 16>{0xFF, 0x12, 0x60, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0,
                                              0, 0, 0, 5});
const Gid kSecondGid(std::array<std::uint8_t, 16>{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0,
                                                  9});
constexpr PKey kPartition{0x8001};

// What the test changes while the context's thread looks.
struct Fabric {
  Fabric() {
    attributes.state = port::LinkState::kActive;
    attributes.link_layer = port::LinkLayer::kInfiniband;
    attributes.lid = Lid{4};
    attributes.lmc = 1;
    attributes.gids = {{kOwnGid, 0}, {}};
    attributes.pkeys.assign(hca::PKeyTable::kMost, PKey{});
    attributes.pkeys[0] = kDefaultPKey;
    second = attributes;
    second.lid = Lid{6};
    second.lmc = 0;
    second.max_mtu = second.max_message = 2048;
    second.gids = {{kSecondGid, 0}};
    second.pkeys[0] = kPartition;
  }
  void happens(std::uint32_t what, const port::PortAttributes& now) {
    const std::lock_guard guard(mutex);
    news[1] |= what;
    attributes = now;
    eventfd_write(event.get(), 1);
  }
  void happens_to_second(std::uint32_t what, const port::PortAttributes& now) {
    const std::lock_guard guard(mutex);
    news[2] |= what;
    second = now;
    eventfd_write(event.get(), 1);
  }
  std::mutex mutex;
  std::array<std::uint32_t, 3> news{};
  port::PortAttributes attributes;
  port::PortAttributes second;
  std::vector<std::uint8_t> moves;  // of queue pairs, to which port
  io::UniqueFd event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

class SilentEnd final : public test::TestEnd {
 public:
  explicit SilentEnd(std::shared_ptr<Fabric> fabric)
      : TestEnd(Qpn{0x77}, std::make_shared<test::SilentInlet>()), fabric_(std::move(fabric)) {}
  Expected<void> move_to(std::uint8_t port) override {
    const std::lock_guard guard(fabric_->mutex);
    fabric_->moves.push_back(port);
    return {};
  }
  hca::SendResult send(const hca::Burst&) override { return {}; }

 private:
  std::shared_ptr<Fabric> fabric_;
};

class FabricPort final : public test::TestPort {
 public:
  explicit FabricPort(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}
  [[nodiscard]] std::uint8_t ports() const override { return 2; }
  [[nodiscard]] port::PortAttributes attributes(std::uint8_t port) override {
    const std::lock_guard guard(fabric_->mutex);
    return port == 1 ? fabric_->attributes : fabric_->second;
  }
  Expected<std::unique_ptr<port::Endpoint>> open_endpoint(port::Service) override {
    return std::make_unique<SilentEnd>(fabric_);
  }
  [[nodiscard]] int news_descriptor() const override { return fabric_->event.get(); }
  void hear_news() override {
    const std::lock_guard guard(fabric_->mutex);
    eventfd_t count = 0;
    eventfd_read(fabric_->event.get(), &count);
    heard_ = std::exchange(fabric_->news, {});
  }
  std::uint32_t take_news(std::uint8_t port) override { return std::exchange(heard_.at(port), 0); }

 private:
  std::shared_ptr<Fabric> fabric_;
  std::array<std::uint32_t, 3> heard_{};
};

class PortNewsTest : public testing::Test {
 protected:
  PortNewsTest()
      : context_(Context::open_on(std::make_unique<FabricPort>(fabric_), {}, {}).value()) {}
  ~PortNewsTest() override { context_->close(); }

  // Waits for it; the test's own time limit ends a wait for nothing.
  AsyncEventType next_event() { return context_->async_events().next_event().value().type; }
  [[nodiscard]] bool has_event() const {
    pollfd ready{context_->async_events().fd(), POLLIN, 0};
    return ::poll(&ready, 1, 0) == 1;
  }
  // Once an event is there that happens last, all that came before is known.
  void settle() {
    fabric_->happens(port::kNewsReregister, fabric_->attributes);
    while (next_event() != kClientReregister) {
    }
  }
  std::string refusal(hca::Path path) {
    const auto completed = context_->complete_path(path);
    return completed ? "(fine)" : completed.error().message;
  }

  std::shared_ptr<Fabric> fabric_ = std::make_shared<Fabric>();
  std::shared_ptr<Context> context_;
};

TEST_F(PortNewsTest, EachBecomesAnEvent) {
  constexpr std::pair<std::uint32_t, AsyncEventType> kAll[]{
      {port::kNewsActive, kPortActive},
      {port::kNewsError, kPortError},
      {port::kNewsLid, kLidChange},
      {port::kNewsPKey, kPKeyChange},
      {port::kNewsGid, kGidChange},
      {port::kNewsSm, kSmChange},
      {port::kNewsReregister, kClientReregister},
      {port::kNewsDeviceFatal, kDeviceFatal},
  };
  for (const auto& [news, type] : kAll) {
    fabric_->happens(news, fabric_->attributes);
    EXPECT_EQ(next_event(), type);
    EXPECT_FALSE(has_event());
  }
}

TEST_F(PortNewsTest, LastEventSaysHowThePortIs) {
  fabric_->happens(port::kNewsActive | port::kNewsError, fabric_->attributes);
  EXPECT_EQ(next_event(), kPortError);
  EXPECT_EQ(next_event(), kPortActive);
  port::PortAttributes down = fabric_->attributes;
  down.state = port::LinkState::kDown;
  fabric_->happens(port::kNewsActive | port::kNewsError, down);
  EXPECT_EQ(next_event(), kPortActive);
  EXPECT_EQ(next_event(), kPortError);
}

TEST_F(PortNewsTest, PartitionsOfQueuePairsAreThoseOfThePort) {
  EXPECT_EQ(context_->pkeys(1).size(), hca::PKeyTable::kMost);
  EXPECT_EQ(context_->pkeys(1).at(0), kDefaultPKey);
  port::PortAttributes now = fabric_->attributes;
  now.pkeys[0] = PKey{0x7FFF};
  now.pkeys[3] = kPartition;
  fabric_->happens(port::kNewsPKey, now);
  settle();
  EXPECT_EQ(context_->pkeys(1).at(0), PKey{0x7FFF});
  EXPECT_EQ(context_->pkeys(1).at(3), kPartition);
}

TEST_F(PortNewsTest, EventsAndPartitionsAreOfThePortWhereTheyHappen) {
  context_->async_events().post({.type = kPortError, .port = 1});
  port::PortAttributes now = fabric_->second;
  now.pkeys[1] = PKey{0x8002};
  fabric_->happens_to_second(port::kNewsPKey | port::kNewsError, now);
  EXPECT_EQ(context_->async_events().next_event().value().port, 1) << "both are kept";
  for (const AsyncEventType type : {kPortError, kPKeyChange}) {
    const AsyncEvent event = context_->async_events().next_event().value();
    EXPECT_EQ(event.type, type);
    EXPECT_EQ(event.port, 2);
  }
  EXPECT_EQ(context_->pkeys(2).at(1), PKey{0x8002});
  EXPECT_EQ(context_->pkeys(1).at(1), PKey{});
}

TEST_F(PortNewsTest, AddressesAreThoseOfTheirPort) {
  hca::Path path{.dgid = kPeerGid, .dlid = Lid{9}, .source_path_bits = 1, .port = 2};
  ASSERT_TRUE(context_->complete_path(path));
  EXPECT_EQ(path.sgid, kSecondGid);
  EXPECT_EQ(path.source_path_bits, 0) << "the port has one LID";
  EXPECT_THAT(refusal({.dlid = Lid{9}, .port = 3, .global = false}), HasSubstr("has ports 1 to 2"));
  EXPECT_THAT(refusal({.dlid = Lid{9}, .port = 0, .global = false}), HasSubstr("port_num 0"));
}

// A queue pair with its domain and its queue.
class OneQueuePair : public PortNewsTest {
 protected:
  OneQueuePair() {
    QueuePairConfig config;
    config.type = hca::QpType::kUd;
    config.pd = pd;
    config.send_queue = config.receive_queue = queue;
    config.max_sends = config.max_receives = 4;
    qp = context_->create_queue_pair(config).value();
  }
  ~OneQueuePair() override {
    qp->destroy();
    qp.reset();
    EXPECT_TRUE(queue->destroy());
    queue.reset();
    EXPECT_TRUE(context_->release_pd(pd));
  }
  Expected<void> to_init(std::uint8_t port, std::uint16_t pkey_index = 0) {
    hca::QpAttributes attributes;
    attributes.state = hca::QpState::kInit;
    attributes.port = port;
    attributes.pkey_index = pkey_index;
    return qp->modify(attributes,
                      hca::kAttrState | hca::kAttrPKeyIndex | hca::kAttrPort | hca::kAttrQKey);
  }
  std::string why_not(std::uint8_t port) {
    const auto moved = to_init(port);
    return moved ? "(fine)" : moved.error().message;
  }

  const hca::PdHandle pd = context_->allocate_pd().value();
  std::shared_ptr<CompletionQueue> queue =
      context_->create_completion_queue(16, nullptr, nullptr).value();
  std::shared_ptr<QueuePair> qp;
};

TEST_F(OneQueuePair, IsOnThePortThatItIsTold) {
  EXPECT_EQ(qp->port(), 1);
  ASSERT_TRUE(to_init(2));
  EXPECT_EQ(qp->port(), 2);
  EXPECT_EQ(qp->query().port, 2);
  ASSERT_TRUE(to_init(2));
  ASSERT_TRUE(to_init(1));
  EXPECT_EQ(fabric_->moves, (std::vector<std::uint8_t>{2, 1}));
  EXPECT_THAT(why_not(3), HasSubstr("port 3"));
  EXPECT_THAT(why_not(0), HasSubstr("has ports 1 to 2"));
  EXPECT_EQ(qp->port(), 1);
}

TEST_F(OneQueuePair, SendsByThePortThatItIsOnOnly) {
  ASSERT_TRUE(to_init(2));
  ASSERT_TRUE(qp->modify({.state = hca::QpState::kRtr}, hca::kAttrState));
  ASSERT_TRUE(qp->modify({.state = hca::QpState::kRts}, hca::kAttrState | hca::kAttrSqPsn));
  hca::Path path{.dlid = Lid{9}, .port = 1, .global = false};
  hca::SendRequest request{};
  request.path = &path;
  EXPECT_EQ(qp->post_send(request, false), std::errc::invalid_argument);
  path.port = 2;
  EXPECT_EQ(qp->post_send(request, false), std::errc{});
  hca::QpAttributes attributes;
  attributes.port = 1;
  EXPECT_FALSE(qp->modify(attributes, hca::kAttrPort)) << "it stays there";
  EXPECT_EQ(qp->port(), 2);
}

TEST_F(OneQueuePair, IsFlushedWhenTheDeviceIsGone) {
  ASSERT_TRUE(to_init(1));
  ASSERT_EQ(qp->post_receive({.wr_id = 5}), std::errc{});

  fabric_->happens(port::kNewsDeviceFatal, fabric_->attributes);
  EXPECT_EQ(next_event(), kDeviceFatal);
  hca::Completion completion;
  while (queue->poll({&completion, 1}) == 0) {
  }
  EXPECT_EQ(completion.wr_id, 5u);
  EXPECT_EQ(completion.status, hca::CompletionStatus::kFlushed);
  EXPECT_EQ(qp->query().state, hca::QpState::kErr);
}

TEST_F(PortNewsTest, WhatNobodyReadsIsKeptOnceOfAKind) {
  for (int i = 0; i < 1000; ++i) {
    context_->async_events().post({.type = kPortError});
    context_->async_events().post({.type = kPortActive});
  }
  EXPECT_EQ(next_event(), kPortError);
  EXPECT_EQ(next_event(), kPortActive);
  EXPECT_FALSE(has_event());
}

TEST_F(PortNewsTest, AddressesOnAFabricAreLids) {
  hca::Path path{.dlid = Lid{9}, .source_path_bits = 0x7F, .global = false};
  ASSERT_TRUE(context_->complete_path(path));
  EXPECT_EQ(path.source_path_bits, 1u) << "as many as the LMC leaves";
  path = {.dgid = kPeerGid, .sgid_index = 0, .dlid = Lid{9}};
  ASSERT_TRUE(context_->complete_path(path));
  EXPECT_EQ(path.sgid, kOwnGid);
  path = {.dgid = kGroup, .dlid = Lid{0xC001}};
  EXPECT_TRUE(context_->complete_path(path));
}

TEST_F(PortNewsTest, AddressesThatLeadNowhereOnAFabricAreRefused) {
  EXPECT_THAT(refusal({.global = false}), HasSubstr("dlid is 0"));
  EXPECT_THAT(refusal({.dgid = kPeerGid}), HasSubstr("dlid is 0"));
  EXPECT_THAT(refusal({.dlid = Lid{0xFFFF}, .global = false}), HasSubstr("permissive"));
  EXPECT_THAT(refusal({.dlid = Lid{0xC001}, .global = false}), HasSubstr("has a dgid too"));
  EXPECT_THAT(refusal({.dgid = kPeerGid, .dlid = Lid{0xC001}}), HasSubstr("is of a group"));
  EXPECT_THAT(refusal({.dlid = Lid{9}}), HasSubstr("dgid is zero"));
  EXPECT_THAT(refusal({.dgid = kPeerGid, .sgid_index = 1, .dlid = Lid{9}}), HasSubstr("no GID"));
  EXPECT_THAT(refusal({.dgid = kPeerGid, .sgid_index = 2, .dlid = Lid{9}}),
              HasSubstr("GIDs 0 to 1"));
}

}  // namespace
}  // namespace weft::host

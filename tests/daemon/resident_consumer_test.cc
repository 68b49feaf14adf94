// SPDX-License-Identifier: Apache-2.0
// Queue pairs of the daemon's own on the nodes of a lab, whose messages lie in one memory.
#include "daemon/lan/resident_consumer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "../fabric/running_lab.h"
#include "hca/connected_queue_pair.h"
#include "hca/memory_table.h"
#include "hca/shared_receive_queue.h"
#include "hca/ud_queue_pair.h"
#include "io/system_entropy.h"

namespace weft::daemon {
namespace {

using fabric::RunningLab;

constexpr std::size_t kPlace = 66'000;
constexpr QKey kKey{0x1234};
constexpr Psn kPsn{0x1000};
const Gid kConsumerGroup(std::array<std::uint8_t, 16>{0xFF, 0x12, 0x60, 0x1B, 0xFF, 0xFF, 0, 0, 0,
                                                      0, 0, 0, 0, 0, 0, 5});

// What completes, in order.
class Completions final : public hca::CompletionSink {
 public:
  void complete(const hca::Completion& completion) override { all.push_back(completion); }
  std::deque<hca::Completion> all;
};

// A node with one datagram queue pair and at most one connection.
class Station final : private ResidentConsumer::Owner {
 public:
  Station(RunningLab& lab, const char* name, FrameMemory& memory, hca::MemoryTable& table,
          const hca::MemoryRegion& region)
      : lab_(lab), memory_(memory), table_(table), region_(region) {
    consumer =
        ResidentConsumer::open(*lab.fabric.find_adapter(name), 1, lab.fabric.pool(), memory, *this)
            .value();
  }
  ~Station() override {
    for (hca::QueuePair* each : {static_cast<hca::QueuePair*>(datagrams.get()),
                                 static_cast<hca::QueuePair*>(connection.get())}) {
      if (each != nullptr) consumer->remove(*each);
    }
  }
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  void open_datagrams() {
    using namespace hca;
    UdConfig config;
    config.qpn = consumer->allocate().value();
    config.max_sends = config.max_receives = 16;
    config.max_send_pieces = 3;
    config.credits = false;
    config.pkeys = &consumer->pkeys();
    datagrams = std::make_unique<UdQueuePair>(config, table_, sent, received);
    QpAttributes attributes{.state = QpState::kInit, .port = 1, .qkey = kKey, .sq_psn = kPsn};
    EXPECT_TRUE(datagrams->modify(attributes, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrQKey));
    attributes.state = QpState::kRtr;
    EXPECT_TRUE(datagrams->modify(attributes, kAttrState));
    attributes.state = QpState::kRts;
    EXPECT_TRUE(datagrams->modify(attributes, kAttrState | kAttrSqPsn));
    consumer->add(*datagrams);
  }
  void open_connection(hca::QpType type) {
    using namespace hca;
    ConnectedConfig config;
    config.qpn = consumer->allocate().value();
    config.type = type;
    config.max_sends = 16;
    config.max_send_pieces = 3;
    config.lossless = true;
    config.pkeys = &consumer->pkeys();
    connection =
        std::make_unique<ConnectedQueuePair>(config, table_, sent, received, &shared_receives);
    consumer->add(*connection);
  }
  void connect(const Station& peer) {
    using namespace hca;
    QpAttributes a{.state = QpState::kInit, .port = 1};
    EXPECT_TRUE(connection->modify(a, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrAccess));
    a.sq_psn = a.rq_psn = kPsn;
    a.peer = peer.connection->qpn();
    a.path = path_to(peer);
    a.path_mtu = 4096;
    a.max_reads_in = a.max_reads_out = 1;
    a.rnr_timer = 12;
    a.ack_timeout = 14;
    a.retry_count = a.rnr_retry = 7;
    const bool reliable = is_reliable(connection->type());
    a.state = QpState::kRtr;
    EXPECT_TRUE(connection->modify(a, kAttrState | kAttrPath | kAttrPathMtu | kAttrPeer |
                                          kAttrRqPsn |
                                          (reliable ? kAttrMaxReadsIn | kAttrRnrTimer : 0u)));
    a.state = QpState::kRts;
    EXPECT_TRUE(connection->modify(
        a, kAttrState | kAttrSqPsn |
               (reliable ? kAttrAckTimeout | kAttrRetryCount | kAttrRnrRetry | kAttrMaxReadsOut
                         : 0u)));
  }
  [[nodiscard]] static hca::Path path_to(const Station& peer) {
    hca::Path path;
    path.dlid = peer.consumer->facts().attributes.lid;
    path.global = false;
    return path;
  }

  // Of a place: its number is the request's.
  void post_receive(std::uint64_t id, bool to_connection) {
    BufferRef& place = places[id] = memory_.take();
    const hca::Sge piece = piece_of(place.bytes());
    if (to_connection) {
      EXPECT_EQ(shared_receives.post({id, {&piece, 1}}), std::errc{});
    } else {
      EXPECT_EQ(datagrams->post_receive({id, {&piece, 1}}), std::errc{});
    }
  }
  [[nodiscard]] hca::Sge piece_of(Bytes bytes) const {
    return {reinterpret_cast<std::uintptr_t>(bytes.data()),
            static_cast<std::uint32_t>(bytes.size()), LKey{region_.key}};
  }
  void send(std::span<const hca::Sge> pieces, const Station& peer) {
    hca::SendRequest request;
    request.signaled = true;
    request.pieces = pieces;
    const hca::Path path = path_to(peer);
    request.path = &path;
    request.remote_qpn = peer.datagrams->qpn();
    request.remote_qkey = kKey;
    EXPECT_EQ(datagrams->post_send(request), std::errc{});
    consumer->posted(*datagrams);
  }
  void send(std::span<const hca::Sge> pieces) {
    hca::SendRequest request;
    request.signaled = true;
    request.pieces = pieces;
    EXPECT_EQ(connection->post_send(request), std::errc{});
    consumer->posted(*connection);
  }
  // True: there was something to do.
  bool work() {
    if (!std::exchange(touched_, false)) return false;
    consumer->run(lab_.now);
    return true;
  }
  [[nodiscard]] std::uint64_t count(std::string_view name) const {
    const auto all = consumer->counters();
    return std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; })
        ->value;
  }

  std::unique_ptr<ResidentConsumer> consumer;
  std::unique_ptr<hca::UdQueuePair> datagrams;
  std::unique_ptr<hca::ConnectedQueuePair> connection;
  hca::SharedReceiveQueue shared_receives{32, 1};
  Completions sent, received;
  std::map<std::uint64_t, BufferRef> places;
  unsigned changes = 0;

 private:
  void touched() override { touched_ = true; }
  void port_changed(bool) override { ++changes; }

  RunningLab& lab_;
  FrameMemory& memory_;
  hca::MemoryTable& table_;
  const hca::MemoryRegion region_;
  bool touched_ = false;
};

class ResidentConsumerTest : public testing::Test {
 protected:
  ResidentConsumerTest() {
    lab_.bring_up();
    for (const char* name : {"a", "b", "d"})
      stations_.emplace_back(lab_, name, memory_, table_, region_);
  }
  Station& a() { return stations_[0]; }
  Station& b() { return stations_[1]; }
  Station& d() { return stations_[2]; }

  void settle() {
    for (bool busy = true; busy;) {
      lab_.settle();
      busy = false;
      for (Station& each : stations_)
        busy = each.work() || busy;
    }
  }
  // A place of the memory with so many bytes that depend on where they are.
  MutableBytes message(std::size_t size, BufferRef& place) {
    place = memory_.take();
    const MutableBytes out = place.bytes().first(size);
    for (std::size_t i = 0; i < size; ++i)
      out[i] = static_cast<std::byte>(i * 7 + i / 251);
    return out;
  }
  void connect(hca::QpType type) {
    a().open_connection(type);
    d().open_connection(type);
    a().connect(d());
    d().connect(a());
  }

  FrameMemory memory_{64, kPlace};
  RunningLab lab_{fabric::lab_of(fabric::kFourNodes)};
  io::SystemEntropy entropy_;
  hca::MemoryTable table_{entropy_};
  hca::MemoryRegion region_ =
      table_
          .add({.base = memory_.all().data(),
                .iova = reinterpret_cast<std::uintptr_t>(memory_.all().data()),
                .length = memory_.all().size(),
                .access = hca::kLocalWrite})
          .value();
  std::deque<Station> stations_;
};

TEST_F(ResidentConsumerTest, DatagramsArriveAndAreNotCopiedOnTheirWay) {
  a().open_datagrams();
  d().open_datagrams();
  d().post_receive(1, false);
  BufferRef place;
  const MutableBytes text = message(2000, place);
  const std::array pieces{a().piece_of(text.first(24)), a().piece_of(text.subspan(24))};
  a().send(pieces, d());
  settle();
  ASSERT_EQ(d().received.all.size(), 1u);
  const hca::Completion& done = d().received.all[0];
  EXPECT_EQ(done.status, hca::CompletionStatus::kSuccess);
  EXPECT_EQ(done.source_qpn, a().datagrams->qpn());
  EXPECT_EQ(done.slid, a().consumer->facts().attributes.lid);
  ASSERT_EQ(done.byte_length, hca::kGrhArea + text.size());
  const Bytes came = Bytes(d().places[1].bytes()).subspan(hca::kGrhArea, text.size());
  EXPECT_TRUE(std::equal(came.begin(), came.end(), text.begin()));
  EXPECT_EQ(a().count("tx_copied"), 0u);
  EXPECT_EQ(a().sent.all.size(), 1u);
}

TEST_F(ResidentConsumerTest, WhatLiesElsewhereIsCopied) {
  a().open_datagrams();
  d().open_datagrams();
  d().post_receive(1, false);
  std::vector<std::byte> text(2000, std::byte{0x5A});
  const auto elsewhere = table_
                             .add({.base = text.data(),
                                   .iova = reinterpret_cast<std::uintptr_t>(text.data()),
                                   .length = text.size()})
                             .value();
  hca::Sge piece = a().piece_of(text);
  piece.lkey = LKey{elsewhere.key};
  a().send(std::span(&piece, 1), d());
  settle();
  ASSERT_EQ(d().received.all.size(), 1u);
  const Bytes came = Bytes(d().places[1].bytes()).subspan(hca::kGrhArea, text.size());
  EXPECT_TRUE(std::equal(came.begin(), came.end(), text.begin()));
  EXPECT_EQ(a().count("tx_copied"), 1u);
}

TEST_F(ResidentConsumerTest, LongMessagesCrossByUnreliableConnections) {
  connect(hca::QpType::kUc);
  constexpr std::size_t kSize = 65'559;
  for (std::uint64_t round = 0; round < 40; ++round) {
    d().post_receive(round, true);
    BufferRef place;
    const MutableBytes text = message(kSize - round, place);
    const hca::Sge piece = a().piece_of(text);
    a().send(std::span(&piece, 1));
    settle();
    ASSERT_EQ(d().received.all.size(), 1u) << round;
    EXPECT_EQ(d().received.all[0].byte_length, text.size());
    const Bytes came = Bytes(d().places[round].bytes()).first(text.size());
    EXPECT_TRUE(std::equal(came.begin(), came.end(), text.begin()));
    d().received.all.clear();
    d().places.clear();
  }
  EXPECT_EQ(a().count("tx_copied"), 0u);
  EXPECT_EQ(memory_.free_places(), 64u);
}

// More than a link's buffers take at a time: what does not go waits, in order, and nothing is lost.
TEST_F(ResidentConsumerTest, WaitForRoomOnTheLink) {
  connect(hca::QpType::kUc);
  std::vector<BufferRef> places(12);
  for (std::uint64_t i = 0; i < places.size(); ++i)
    d().post_receive(i, true);
  for (BufferRef& place : places) {
    const hca::Sge piece = a().piece_of(message(65'000, place));
    a().send(std::span(&piece, 1));
  }
  settle();
  ASSERT_EQ(d().received.all.size(), places.size());
  for (std::uint64_t i = 0; i < places.size(); ++i)
    EXPECT_EQ(d().received.all[i].wr_id, i);
}

// Who has its turn behind one that has more than the port takes has it later.
TEST_F(ResidentConsumerTest, NobodyWaitsForEverBehindALongSender) {
  connect(hca::QpType::kUc);
  a().open_datagrams();
  d().open_datagrams();
  for (std::uint64_t round = 0; round < 4; ++round) {
    std::vector<BufferRef> places(6);
    for (std::uint64_t i = 0; i < places.size(); ++i)
      d().post_receive(i, true);
    d().post_receive(100, false);
    for (BufferRef& place : places) {
      const hca::Sge piece = a().piece_of(message(65'000, place));
      a().send(std::span(&piece, 1));
    }
    BufferRef place;
    const hca::Sge piece = a().piece_of(message(1000, place));
    a().send(std::span(&piece, 1), d());
    settle();
    EXPECT_EQ(d().received.all.size(), places.size() + 1) << round;
    d().received.all.clear();
    d().places.clear();
  }
}

TEST_F(ResidentConsumerTest, ReliableConnectionsAreAnswered) {
  connect(hca::QpType::kRc);
  d().post_receive(7, true);
  BufferRef place;
  const hca::Sge piece = a().piece_of(message(65'000, place));
  a().send(std::span(&piece, 1));
  settle();
  ASSERT_EQ(d().received.all.size(), 1u);
  ASSERT_EQ(a().sent.all.size(), 1u);
  EXPECT_EQ(a().sent.all[0].status, hca::CompletionStatus::kSuccess);
}

// The peer has gone: what nobody answers is sent again when it is time, and given up in the end.
TEST_F(ResidentConsumerTest, DeadlinesAreMet) {
  connect(hca::QpType::kRc);
  BufferRef place;
  const hca::Sge piece = a().piece_of(message(100, place));
  d().consumer->remove(*d().connection);
  d().connection.reset();
  a().send(std::span(&piece, 1));
  settle();
  for (int times = 0; times < 100 && a().sent.all.empty(); ++times) {
    ASSERT_TRUE(a().consumer->deadline());
    lab_.now = std::max(lab_.now, *a().consumer->deadline());
    a().consumer->run(lab_.now);
    settle();
  }
  ASSERT_EQ(a().sent.all.size(), 1u);
  EXPECT_EQ(a().sent.all[0].status, hca::CompletionStatus::kTransportRetryExceeded);
  EXPECT_EQ(d().count("rx_packets"), 0u);
}

TEST_F(ResidentConsumerTest, SendNothingWhileThePortIsDown) {
  a().open_datagrams();
  d().open_datagrams();
  d().post_receive(1, false);
  const unsigned before = a().changes;
  lab_.fabric.link(0).set_plugged(false, lab_.now);
  settle();
  EXPECT_GT(a().changes, before);
  EXPECT_FALSE(a().consumer->facts().is_active());
  BufferRef place;
  const hca::Sge piece = a().piece_of(message(100, place));
  a().send(std::span(&piece, 1), d());
  settle();
  EXPECT_TRUE(d().received.all.empty());
  EXPECT_EQ(a().count("tx_unaddressed"), 1u);
  EXPECT_EQ(a().sent.all.size(), 1u);
}

// As of packets on links, when an interface goes.
TEST(FrameMemory, OutlivesWhatRefersToItsPlaces) {
  auto memory = std::make_unique<FrameMemory>(2, 100);
  BufferRef place = memory->take();
  BufferRef other = memory->take();
  memory.reset();
  std::ranges::fill(place.bytes(), std::byte{7});
  place.reset();
  std::ranges::fill(other.bytes(), std::byte{8});
  EXPECT_EQ(other.bytes().front(), std::byte{8});
}

TEST(FrameMemory, PlacesAreLentUntilNobodyHasThem) {
  FrameMemory memory(2, 100);
  BufferRef first = memory.take();
  BufferRef second = memory.take();
  EXPECT_EQ(first.bytes().size(), 128u);
  EXPECT_FALSE(memory.take());
  BufferRef again = memory.share(Bytes(first.bytes()).subspan(127));
  ASSERT_TRUE(again);
  EXPECT_EQ(again.bytes().data(), first.bytes().data());
  first.reset();
  EXPECT_FALSE(memory.take());
  again.reset();
  EXPECT_EQ(memory.free_places(), 1u);
  EXPECT_FALSE(memory.share(Bytes(memory.all()).first(1)));
  std::byte elsewhere{};
  EXPECT_FALSE(memory.share(Bytes(&elsewhere, 1)));
  second.reset();
}

}  // namespace
}  // namespace weft::daemon

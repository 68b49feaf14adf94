// SPDX-License-Identifier: Apache-2.0
// Datagram queue pairs that take their receive requests from one queue (IBA 10.2.9).
#include "hca/shared_receive_queue.h"
#include "ud_fixture.h"

namespace weft::hca::test {
namespace {

constexpr Qpn kOtherQpn{0x01C003};

// What a queue pair tells its owner beside: that it waits for a post.
class WatchedQueue final : public ReceiveSource {
 public:
  Take take_for(std::uint64_t length, TakenReceive& out) override {
    return queue.take_for(length, out);
  }
  [[nodiscard]] std::size_t size() const override { return queue.size(); }
  [[nodiscard]] bool shared() const override { return true; }
  void await_post() override { awaited = true; }

  SharedReceiveQueue queue{64, 4};
  bool awaited = false;
};

class UdSharedReceive : public UdTest {
 protected:
  UdSharedReceive() {
    qp.emplace(config(), table, send_cq, receive_cq, &shared);
    UdConfig second = config();
    second.qpn = kOtherQpn;
    other.emplace(second, table, send_cq, receive_cq, &shared);
    to_rts();
    bring_up_other();
  }
  void bring_up_other() {
    QpAttributes attributes{.state = QpState::kInit, .port = 1, .qkey = kQKey};
    ASSERT_TRUE(other->modify(attributes, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrQKey));
    attributes.state = QpState::kRtr;
    ASSERT_TRUE(other->modify(attributes, kAttrState));
  }
  void post(std::uint64_t wr_id, std::size_t offset, std::size_t length) {
    const std::array pieces{sge(offset, length)};
    ASSERT_EQ(shared.queue.post({.wr_id = wr_id, .pieces = pieces}), std::errc{});
  }
  void arrive_at_other(std::string_view payload) {
    const auto transport = encode({.payload = payload, .destination = kOtherQpn});
    other->receive({.transport = transport,
                    .network_header = &grh,
                    .source = kPeerGid,
                    .destination = kOwnGid,
                    .source_qpn = kPeerQpn},
                   now);
  }

  WatchedQueue shared;
  std::optional<UdQueuePair> other;
};

TEST_F(UdSharedReceive, TakesRequestsInTheOrderInWhichDatagramsArrive) {
  for (std::uint64_t i = 0; i < 3; ++i)
    post(i, i * 100, 100);
  arrive(Packet{.payload = "first"});
  arrive_at_other("second");
  arrive(Packet{.payload = "third"});
  ASSERT_EQ(receive_cq.all.size(), 3u);
  const Qpn takers[]{kOwnQpn, kOtherQpn, kOwnQpn};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(receive_cq.all[i].wr_id, i);
    EXPECT_EQ(receive_cq.all[i].qpn, takers[i]);
    EXPECT_EQ(receive_cq.all[i].status, CompletionStatus::kSuccess);
    EXPECT_TRUE(receive_cq.all[i].with_grh);
  }
  EXPECT_EQ(receive_cq.all[1].byte_length, kGrhArea + 6);
  EXPECT_EQ(text(100 + kGrhArea, 6), "second");
  arrive(Packet{});
  EXPECT_EQ(count(UdCounter::kRxNoReceive), 1u);
}

TEST_F(UdSharedReceive, TellsWhenFewAreLeft) {
  for (std::uint64_t i = 0; i < 3; ++i)
    post(i, 0, 100);
  shared.queue.set_limit(2);
  arrive(Packet{});
  EXPECT_FALSE(shared.queue.take_limit_event());
  arrive_at_other("x");
  EXPECT_TRUE(shared.queue.take_limit_event());
}

TEST_F(UdSharedReceive, LeavesTheRequestThatIsTooShortToOthers) {
  post(1, 0, kGrhArea + 5);
  arrive(Packet{.payload = "longer"});
  EXPECT_EQ(count(UdCounter::kRxTooLong), 1u);
  EXPECT_TRUE(receive_cq.all.empty());
  arrive_at_other("short");
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].wr_id, 1u);
}

TEST_F(UdSharedReceive, HasNoQueueOfItsOwnToPostTo) {
  EXPECT_EQ(receive(1, 0, 100), std::errc::invalid_argument);
}

TEST_F(UdSharedReceive, ErrorOfOneLeavesTheRequestsToTheOthersAndSaysThatItTakesNoMore) {
  post(1, 0, 100);
  ASSERT_TRUE(move(QpState::kErr));
  EXPECT_EQ(qp->take_events(), kEventLastWqe);
  EXPECT_EQ(qp->take_events(), 0u);
  EXPECT_TRUE(receive_cq.all.empty()) << "what is shared is not flushed";
  arrive(Packet{});
  EXPECT_EQ(count(UdCounter::kRxWrongState), 1u);
  arrive_at_other("x");
  EXPECT_EQ(receive_cq.all.size(), 1u);
}

TEST_F(UdSharedReceive, MemoryThatMayNotBeWrittenFailsTheRequestAndTheQueuePairThatTookIt) {
  Sge wrong = sge(0, 100);
  wrong.lkey = LKey{wrong.lkey.value() ^ 0x100};
  ASSERT_EQ(shared.queue.post({.wr_id = 1, .pieces = {&wrong, 1}}), std::errc{});
  post(2, 0, 100);
  arrive(Packet{});
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(qp->take_events(), kEventLastWqe);
  arrive_at_other("x");
  ASSERT_EQ(receive_cq.all.size(), 2u);
  EXPECT_EQ(receive_cq.all[1].wr_id, 2u);
}

TEST_F(UdSharedReceive, ResetLeavesTheRequestsAndSaysNothing) {
  post(1, 0, 100);
  ASSERT_TRUE(move(QpState::kReset));
  EXPECT_EQ(shared.size(), 1u);
  EXPECT_EQ(qp->take_events(), 0u);
}

TEST_F(UdSharedReceive, GivesCreditUnaskedWhenOthersHavePostedAtLast) {
  arrive(Packet{.ack_request = true});
  transmit();
  ASSERT_EQ(sink.bursts.size(), 1u);
  EXPECT_EQ(Credit::parse(Bytes(sink.datagrams()[0]).subspan(20))->receives, 0u);
  EXPECT_TRUE(shared.awaited);
  EXPECT_FALSE(qp->has_work());
  post(1, 0, 100);
  qp->receives_posted();
  EXPECT_TRUE(qp->has_work());
  transmit();
  ASSERT_EQ(sink.bursts.size(), 2u);
  EXPECT_EQ(Credit::parse(Bytes(sink.datagrams()[1]).subspan(20))->receives, 1u);
}

}  // namespace
}  // namespace weft::hca::test

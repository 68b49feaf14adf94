// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "ud_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;

class UdSend : public UdTest {};

TEST_F(UdSend, FramesAMessageWithBthAndDeth) {
  to_rts(Psn{0xABCDEF});
  store(0, "hello");
  ASSERT_EQ(send(42, 0, 5), std::errc{});
  EXPECT_TRUE(qp->has_work());
  ASSERT_TRUE(transmit());
  ASSERT_EQ(sink.bursts.size(), 1u);
  EXPECT_EQ(sink.bursts[0].destination, kPeerQpn);
  EXPECT_EQ(sink.bursts[0].path, path);
  const auto& datagram = sink.bursts[0].datagrams.at(0);
  ASSERT_EQ(datagram.size(), 28u) << "BTH, DETH, five bytes and three of padding";
  const auto bth = wire::Bth::parse(datagram);
  ASSERT_TRUE(bth);
  EXPECT_EQ(bth->opcode, wire::Opcode::ud_send_only);
  EXPECT_TRUE(bth->migrated);
  EXPECT_EQ(bth->pad_count, 3);
  EXPECT_EQ(bth->transport_version, 0);
  EXPECT_EQ(bth->pkey, kDefaultPKey);
  EXPECT_EQ(bth->dest_qp, kPeerQpn);
  EXPECT_TRUE(bth->ack_request) << "the first packet of a flow asks for a credit";
  EXPECT_EQ(bth->psn, Psn{0xABCDEF});
  const auto deth = wire::Deth::parse(Bytes(datagram).subspan(12));
  EXPECT_EQ(deth->qkey, kQKey);
  EXPECT_EQ(deth->src_qp, kOwnQpn);
  ASSERT_EQ(send_cq.all.size(), 1u);
  EXPECT_EQ(send_cq.all[0].wr_id, 42u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(send_cq.all[0].at, now);
  EXPECT_EQ(count(UdCounter::kTxPackets), 1u);
  EXPECT_EQ(count(UdCounter::kTxBytes), 5u);
  EXPECT_FALSE(qp->has_work());
}

TEST_F(UdSend, CarriesTheImmediateInMemoryOrder) {
  to_rts();
  SendRequest wr = request(1, {});
  wr.opcode = SendOpcode::kSendWithImmediate;
  wr.solicited = true;
  const std::array<std::uint8_t, 4> raw{1, 2, 3, 4};
  std::memcpy(&wr.immediate, raw.data(), 4);
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  transmit();
  const auto datagram = sink.datagrams().at(0);
  ASSERT_EQ(datagram.size(), 24u);
  EXPECT_EQ(std::memcmp(datagram.data() + 20, raw.data(), 4), 0);
  EXPECT_EQ(wire::Bth::parse(datagram)->opcode, wire::Opcode::ud_send_only_imm);
  EXPECT_TRUE(wire::Bth::parse(datagram)->solicited);
}

TEST_F(UdSend, PutsItsOwnQKeyInPlaceOfAPrivilegedOne) {
  to_rts();
  SendRequest wr = request(1, {});
  wr.remote_qkey = QKey{0x80000000};
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  transmit();
  EXPECT_EQ(wire::Deth::parse(Bytes(sink.datagrams().at(0)).subspan(12))->qkey, kQKey);
}

TEST_F(UdSend, GathersItsPiecesInOrderAndIgnoresTheKeyOfAnEmptyOne) {
  to_rts();
  store(0, "abc");
  store(100, "defgh");
  const std::array pieces{sge(0, 3), Sge{.lkey = LKey{1}}, sge(100, 5)};
  ASSERT_EQ(qp->post_send(request(1, pieces)), std::errc{});
  transmit();
  const auto datagram = sink.datagrams().at(0);
  EXPECT_EQ(std::vector(datagram.begin() + 20, datagram.end()), bytes_of("abcdefgh"));
}

TEST_F(UdSend, CopiesInlineDataWhenItIsPosted) {
  to_rts();
  std::string data = "inline data!";
  const std::array pieces{
      Sge{.address = std::bit_cast<std::uintptr_t>(data.data()), .length = 6},
      Sge{.address = std::bit_cast<std::uintptr_t>(data.data()) + 6, .length = 6}};
  SendRequest wr = request(1, pieces);
  wr.inline_data = true;
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(qp->post_send(wr), std::errc{}) << "growing keeps what was copied before";
  data.assign(data.size(), 'x');
  now += 1s;
  while (qp->has_work()) {
    transmit();
    now = qp->deadline().value_or(now);
  }
  const auto datagrams = sink.datagrams();
  ASSERT_EQ(datagrams.size(), 100u);
  for (const auto& datagram : datagrams)
    EXPECT_EQ(std::vector(datagram.begin() + 20, datagram.end()), bytes_of("inline data!"));
}

TEST_F(UdSend, ChecksStateThenPiecesThenInlineThenPathThenRoom) {
  const std::array<Sge, 5> many{};
  SendRequest wr = request(1, many);
  EXPECT_EQ(qp->post_send(wr), std::errc::invalid_argument);
  to_rts();
  EXPECT_EQ(qp->post_send(wr), std::errc::invalid_argument) << "too many pieces";
  const std::array pieces{sge(0, 129)};
  wr = request(1, pieces);
  wr.inline_data = true;
  EXPECT_EQ(qp->post_send(wr), std::errc::invalid_argument) << "inline too long";
  wr.inline_data = false;
  wr.path = nullptr;
  EXPECT_EQ(qp->post_send(wr), std::errc::invalid_argument) << "no path";
  for (std::uint32_t i = 0; i < config().max_sends; ++i)
    ASSERT_EQ(send(i, 0, 1), std::errc{});
  EXPECT_EQ(send(0, 0, 1), std::errc::not_enough_memory);
  EXPECT_EQ(qp->post_send(wr), std::errc::invalid_argument) << "checked before the queue's room";
  EXPECT_EQ(qp->queued_packets(), 256u);
  EXPECT_EQ(qp->queued_bytes(), 256u);
}

TEST_F(UdSend, RefusesAnImmediateOnABareWire) {
  UdConfig bare = config();
  bare.framing = UdFraming::kBare;
  start(bare);
  to_rts();
  SendRequest wr = request(1, {});
  wr.opcode = SendOpcode::kSendWithImmediate;
  EXPECT_EQ(qp->post_send(wr), std::errc::invalid_argument);
  store(0, "plain");
  ASSERT_EQ(send(1, 0, 5), std::errc{});
  transmit();
  EXPECT_EQ(sink.datagrams().at(0), bytes_of("plain"));
}

TEST_F(UdSend, AcceptsSendsOnlyFromRtsOn) {
  EXPECT_EQ(send(1, 0, 1), std::errc::invalid_argument);
  to_init();
  EXPECT_EQ(send(1, 0, 1), std::errc::invalid_argument);
  ASSERT_TRUE(move(QpState::kRtr));
  EXPECT_EQ(send(1, 0, 1), std::errc::invalid_argument);
  ASSERT_TRUE(qp->modify({.state = QpState::kRts}, kAttrState | kAttrSqPsn));
  EXPECT_EQ(send(1, 0, 1), std::errc{});
  EXPECT_TRUE(send_cq.all.empty());
}

TEST_F(UdSend, CompletesUnsignalledWorkOnlyInError) {
  to_rts();
  SendRequest wr = request(5, {});
  wr.signaled = false;
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  transmit();
  EXPECT_TRUE(send_cq.all.empty());
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  ASSERT_TRUE(move(QpState::kErr));
  ASSERT_EQ(send_cq.all.size(), 1u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kFlushed);

  UdConfig all = config();
  all.signal_all = true;
  start(all);
  to_rts();
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  transmit();
  EXPECT_EQ(send_cq.all.size(), 2u);
}

TEST_F(UdSend, PutsAMessageAboveTheMtuAndWhatFollowsInError) {
  to_rts();
  ASSERT_EQ(send(1, 0, 4096), std::errc{});
  ASSERT_EQ(send(2, 0, 4097), std::errc{});
  ASSERT_EQ(send(3, 0, 1), std::errc{});
  transmit();
  ASSERT_EQ(send_cq.all.size(), 3u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(send_cq.all[1].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(send_cq.all[2].status, CompletionStatus::kFlushed);
  EXPECT_EQ(qp->state(), QpState::kSqe);
  ASSERT_EQ(send(4, 0, 1), std::errc{}) << "accepted in SQE";
  EXPECT_EQ(send_cq.all.at(3).status, CompletionStatus::kFlushed);
  ASSERT_TRUE(move(QpState::kRts)) << "and on again";
  ASSERT_EQ(send(5, 0, 1), std::errc{});
  transmit();
  EXPECT_EQ(send_cq.all.at(4).status, CompletionStatus::kSuccess);
}

TEST_F(UdSend, FindsABadKeyWhenItsTurnComes) {
  to_rts();
  ASSERT_EQ(send(1, 0, 8), std::errc{});
  const std::array pieces{sge(0, 4), Sge{.address = region.iova, .length = 4, .lkey = LKey{99}}};
  ASSERT_EQ(qp->post_send(request(2, pieces)), std::errc{});
  transmit();
  ASSERT_EQ(send_cq.all.size(), 2u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(send_cq.all[1].status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(qp->state(), QpState::kSqe);
  EXPECT_EQ(sink.datagrams().size(), 1u);
  EXPECT_EQ(receive(1, 0, 100), std::errc{}) << "receiving goes on in SQE";
  arrive(Packet{});
  EXPECT_EQ(receive_cq.all.size(), 1u);
}

TEST_F(UdSend, PutsEqualMessagesToOnePeerIntoOneRun) {
  to_rts();
  for (std::uint64_t i = 0; i < 10; ++i)
    ASSERT_EQ(send(i, i * 64, 64), std::errc{});
  ASSERT_EQ(send(10, 0, 60), std::errc{}) << "the last may be shorter";
  ASSERT_EQ(send(11, 0, 64), std::errc{});
  transmit();
  ASSERT_EQ(sink.bursts.size(), 2u);
  EXPECT_EQ(sink.bursts[0].datagrams.size(), 11u);
  EXPECT_EQ(sink.bursts[1].datagrams.size(), 1u);
  for (std::uint32_t i = 0; i < 12; ++i)
    EXPECT_EQ(wire::Bth::parse(sink.datagrams()[i])->psn, Psn{i});
}

TEST_F(UdSend, BreaksARunWhereDestinationHeaderOrPaddingChanges) {
  to_rts();
  const std::array pieces{sge(0, 64)};
  Path other = path;
  other.traffic_class = 1;
  SendRequest wr = request(1, pieces);
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  wr.remote_qpn = Qpn{5};
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  wr.path = &other;
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  wr.opcode = SendOpcode::kSendWithImmediate;
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  const std::array shorter{sge(0, 61)};
  wr.pieces = shorter;
  ASSERT_EQ(qp->post_send(wr), std::errc{});
  transmit();
  EXPECT_EQ(sink.bursts.size(), 5u);
}

TEST_F(UdSend, NumbersWhatTheWireDidNotTakeAgain) {
  to_rts();
  for (std::uint64_t i = 0; i < 3; ++i)
    ASSERT_EQ(send(i, 0, 64), std::errc{});
  sink.answers = {{.outcome = SendOutcome::kWouldBlock}};
  EXPECT_FALSE(transmit());
  EXPECT_TRUE(send_cq.all.empty());
  EXPECT_TRUE(qp->has_work());
  ASSERT_TRUE(table.remove(region.key)) << "no pin is left";
  region = *table.add(describe(memory, kLocalWrite));
  ASSERT_TRUE(move(QpState::kErr));
  EXPECT_EQ(send_cq.all.size(), 3u);
}

TEST_F(UdSend, GoesOnWithTheSameNumbersAfterTheWireWasBusy) {
  to_rts();
  for (std::uint64_t i = 0; i < 3; ++i)
    ASSERT_EQ(send(i, 0, 64), std::errc{});
  sink.answers = {{.outcome = SendOutcome::kWouldBlock}};
  EXPECT_FALSE(transmit());
  EXPECT_TRUE(transmit());
  const auto datagrams = sink.datagrams();
  ASSERT_EQ(datagrams.size(), 3u);
  EXPECT_EQ(wire::Bth::parse(datagrams[0])->psn, Psn{0});
  EXPECT_TRUE(wire::Bth::parse(datagrams[0])->ack_request);
  EXPECT_EQ(wire::Bth::parse(datagrams[2])->psn, Psn{2});
}

TEST_F(UdSend, CompletesWhatNobodyCanReachAsSent) {
  to_rts();
  ASSERT_EQ(send(1, 0, 64), std::errc{});
  ASSERT_EQ(send(2, 0, 64), std::errc{});
  sink.answers = {{.outcome = SendOutcome::kRefused, .reason = CompletionStatus::kSuccess}};
  EXPECT_TRUE(transmit());
  EXPECT_EQ(send_cq.all.size(), 2u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(count(UdCounter::kTxRefused), 2u);
  EXPECT_EQ(count(UdCounter::kTxPackets), 0u);
  EXPECT_EQ(qp->state(), QpState::kRts);
}

TEST_F(UdSend, FindsTheOneOfARunThatTheWireRefuses) {
  to_rts();
  for (std::uint64_t i = 0; i < 4; ++i)
    ASSERT_EQ(send(i, 0, 64), std::errc{});
  const SendResult refused{.outcome = SendOutcome::kRefused,
                           .reason = CompletionStatus::kLocalProtectionError};
  sink.answers = {refused, {}, refused};  // the run, its first alone, its second alone
  EXPECT_TRUE(transmit());
  ASSERT_EQ(send_cq.all.size(), 4u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(send_cq.all[1].status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(send_cq.all[2].status, CompletionStatus::kFlushed);
  EXPECT_EQ(send_cq.all[3].status, CompletionStatus::kFlushed);
  EXPECT_EQ(qp->state(), QpState::kSqe);
  EXPECT_EQ(count(UdCounter::kTxRefused), 1u);
}

TEST_F(UdSend, StopsInSqdAndTellsWhenItIsAtRest) {
  to_rts();
  ASSERT_EQ(send(1, 0, 64), std::errc{});
  ASSERT_TRUE(qp->next_burst(scratch, now));
  EXPECT_FALSE(qp->next_burst(scratch, now)) << "one at a time";
  ASSERT_TRUE(
      qp->modify({.state = QpState::kSqd, .sqd_notify = true}, kAttrState | kAttrSqdNotify));
  EXPECT_EQ(qp->take_events(), 0U) << "a burst is still out";
  qp->sent(scratch, {}, now);
  EXPECT_EQ(qp->take_events(), kEventSqDrained);
  EXPECT_EQ(qp->take_events(), 0U);
  ASSERT_EQ(send(2, 0, 64), std::errc{}) << "queued";
  EXPECT_TRUE(transmit());
  EXPECT_TRUE(sink.bursts.empty());
  ASSERT_TRUE(move(QpState::kRts));
  transmit();
  EXPECT_EQ(sink.datagrams().size(), 1u);
}

// Between next_burst() and sent().
class UdBurstOut : public UdTest {
 protected:
  void SetUp() override {
    to_rts();
    std::string data = "inline";
    const std::array pieces{
        Sge{.address = std::bit_cast<std::uintptr_t>(data.data()), .length = 6}};
    SendRequest wr = request(1, pieces);
    wr.inline_data = true;
    ASSERT_EQ(qp->post_send(wr), std::errc{});
    ASSERT_EQ(send(2, 0, 64), std::errc{});
    ASSERT_TRUE(qp->next_burst(burst, now));
    ASSERT_EQ(burst.size(), 1u);
  }
  Burst burst;
};

TEST_F(UdBurstOut, IsCompletedBeforeTheRestIsFlushed) {
  ASSERT_TRUE(move(QpState::kErr));
  EXPECT_TRUE(send_cq.all.empty());
  ASSERT_EQ(send(3, 0, 1), std::errc{});
  qp->sent(burst, {}, now);
  ASSERT_EQ(send_cq.all.size(), 3u);
  EXPECT_EQ(send_cq.all[0].wr_id, 1u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(send_cq.all[1].wr_id, 2u);
  EXPECT_EQ(send_cq.all[2].status, CompletionStatus::kFlushed);
}

TEST_F(UdBurstOut, IsForgottenByAReset) {
  ASSERT_TRUE(move(QpState::kReset));
  const Bytes piece = burst.pieces(burst.packets()[0])[0];
  EXPECT_EQ(std::vector(piece.begin(), piece.end()), bytes_of("inline")) << "still readable";
  to_rts(Psn{77});
  ASSERT_EQ(send(9, 0, 1), std::errc{});
  EXPECT_FALSE(qp->next_burst(scratch, now));
  qp->sent(burst, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_TRUE(send_cq.all.empty());
  transmit();
  ASSERT_EQ(send_cq.all.size(), 1u);
  EXPECT_EQ(send_cq.all[0].wr_id, 9u);
  EXPECT_EQ(wire::Bth::parse(sink.datagrams().at(0))->psn, Psn{77});
  EXPECT_EQ(qp->queued_bytes(), 0u);
}

TEST_F(UdSend, CountsMulticastWithoutAskingForCredit) {
  to_rts(Psn{9});
  const std::array pieces{sge(0, 64)};
  SendRequest wr = request(1, pieces);
  wr.remote_qpn = kMulticastQpn;
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(qp->post_send(wr), std::errc{});
  transmit();
  const auto datagrams = sink.datagrams();
  ASSERT_EQ(datagrams.size(), 100u) << "no credit holds it back";
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(wire::Bth::parse(datagrams[i])->psn, Psn{9 + i});
    EXPECT_FALSE(wire::Bth::parse(datagrams[i])->ack_request);
  }
}

TEST_F(UdSend, WaitsForCreditAndGoesOnWhenItComes) {
  to_rts();
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_EQ(send(i, 0, 64), std::errc{});
  transmit();
  EXPECT_EQ(sink.datagrams().size(), CreditPacer::kInitialReceives);
  EXPECT_EQ(qp->deadline(), now + CreditPacer::kPatience);
  EXPECT_EQ(count(UdCounter::kTxCreditStalls), 1u);
  arrive_credit({.seen = Psn{31}, .receives = 10, .bytes = 1'000'000}, QKey{1});
  EXPECT_EQ(count(UdCounter::kRxBadQKey), 1u) << "a stranger's credit";
  arrive_credit({.seen = Psn{31}, .receives = 10, .bytes = 1'000'000});
  EXPECT_EQ(count(UdCounter::kRxCredits), 1u);
  transmit();
  EXPECT_EQ(sink.datagrams().size(), CreditPacer::kInitialReceives + 10);
}

TEST_F(UdSend, PinsItsMemoryUntilItIsSent) {
  to_rts();
  ASSERT_EQ(send(1, 0, 64), std::errc{});
  ASSERT_TRUE(qp->next_burst(scratch, now));
  qp->sent(scratch, {}, now);
  ASSERT_TRUE(table.remove(region.key)) << "would wait for ever otherwise";
}

}  // namespace
}  // namespace weft::hca::test

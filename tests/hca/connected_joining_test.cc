// SPDX-License-Identifier: Apache-2.0
// Acknowledgements that travel behind requests.
#include "connected_joining_fixture.h"

namespace weft::hca::test {
namespace {

using wire::Opcode;

TEST_F(ConnectedJoining, LetsTheEndOfARunWaitForARequestButNotWithBadNews) {
  to_rts();
  ASSERT_EQ(post_receive(0), std::errc{});
  arrive({.psn = Psn{200}, .payload = "x"});
  EXPECT_TRUE(qp->end_run_later(now));
  ASSERT_EQ(post_send(1, 2), std::errc{});
  EXPECT_FALSE(qp->end_run_later(now)) << "something waits to be sent";
  EXPECT_EQ(next(), kSendAndAck);
  EXPECT_TRUE(qp->end_run_later(now)) << "nothing is left to do";
  arrive({.psn = Psn{203}, .payload = "x"});
  EXPECT_FALSE(qp->end_run_later(now)) << "the peer is to hear of a gap at once";
}

TEST_F(ConnectedJoining, SendsAnAcknowledgementBehindARequest) {
  to_rts();
  for (std::uint32_t round = 0; round < 3; ++round) {
    message_arrives(round);
    ASSERT_EQ(post_send(round, 2), std::errc{});
    ASSERT_EQ(next(), kSendAndAck) << round;
    EXPECT_EQ(sent[0].bth.psn, Psn{100 + round});
    EXPECT_EQ(sent[1].bth.psn, Psn{200 + round});
    EXPECT_EQ(sent[1].aeth.msn, round + 1);
    EXPECT_FALSE(qp->has_work());
    request_is_acknowledged(100 + round);
  }
  EXPECT_EQ(send_cq.all.size(), 3u);
  EXPECT_EQ(count(ConnectedCounter::kTxPackets), 6u);
  EXPECT_EQ(count(ConnectedCounter::kTxBytes), 6u);
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 3u);
}

TEST_F(ConnectedJoining, GivesTheRequestAndTheAcknowledgementBackWhenTheWireIsFull) {
  to_rts();
  message_and_request();
  EXPECT_EQ(next(kWouldBlock), kSendAndAck);
  EXPECT_TRUE(qp->has_work());
  EXPECT_FALSE(qp->only_acks_due());
  EXPECT_EQ(count(ConnectedCounter::kTxPackets), 0u);
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 0u);
  EXPECT_EQ(next(), kSendAndAck);
  EXPECT_EQ(sent[0].bth.psn, Psn{100});
  EXPECT_EQ(sent[1].bth.psn, Psn{200});
  EXPECT_FALSE(qp->has_work());
  EXPECT_EQ(count(ConnectedCounter::kTxPackets), 2u);
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 1u);
}

TEST_F(ConnectedJoining, SaysInTheSecondAttemptWhatHasArrivedMeanwhile) {
  to_rts();
  message_and_request();
  ASSERT_TRUE(qp->next_burst(burst, now));
  message_arrives(1);
  qp->sent(burst, kWouldBlock, now);
  EXPECT_EQ(next(), kSendAndAck);
  EXPECT_EQ(sent[1].bth.psn, Psn{201});
  EXPECT_FALSE(qp->has_work());
}

TEST_F(ConnectedJoining, KeepsTheAcknowledgementWhenTheWireRefusesTheRequest) {
  to_rts();
  message_and_request();
  EXPECT_EQ(next(kNoRoute), kSendAndAck);
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 0u);
  EXPECT_EQ(count(ConnectedCounter::kTxRefused), 2u);
  ASSERT_EQ(post_send(2), std::errc{});
  EXPECT_EQ(next(), kAck) << "not to be refused with a request again";
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 1u);
  EXPECT_EQ(next(), kSend);
  EXPECT_EQ(sent[0].bth.psn, Psn{101}) << "the first counts as lost on the way";
}

TEST_F(ConnectedJoining, DoesNotTryForEverWhatHasNoRoute) {
  to_rts();
  message_and_request();
  EXPECT_EQ(next(kNoRoute), kSendAndAck);
  EXPECT_EQ(next(kNoRoute), kAck);
  EXPECT_FALSE(qp->has_work());
}

TEST_F(ConnectedJoining, AcknowledgesBeforeARequestWithBadMemoryFails) {
  to_rts();
  message_and_request();
  ASSERT_EQ(post_send(2), std::errc{});
  EXPECT_EQ(next(kBadMemory).size(), 3u);
  EXPECT_EQ(qp->state(), QpState::kRts);
  EXPECT_EQ(next(), kAck);
  EXPECT_EQ(next(kBadMemory), kSend) << "one by one, to find which it is";
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(statuses(send_cq),
            (std::vector{CompletionStatus::kLocalProtectionError, CompletionStatus::kFlushed}));
}

TEST_F(ConnectedJoining, LetsAnAcknowledgementThatDoesNotFitGoBeforeMoreRequests) {
  to_rts();
  message_and_request(0);
  EXPECT_EQ(next(), kSend) << "shorter than an acknowledgement";
  ASSERT_EQ(post_send(2, 0), std::errc{});
  EXPECT_EQ(next(), kAck);
  EXPECT_EQ(next(), kSend);

  ASSERT_EQ(post_send(3, 1500), std::errc{});
  message_arrives(1);
  EXPECT_EQ(next(), (Opcodes{Opcode::rc_send_first, Opcode::rc_send_last}))
      << "the last packet is short";
  ASSERT_EQ(post_send(4), std::errc{});
  EXPECT_EQ(next(), kAck);
  EXPECT_EQ(next(), kSend);
  message_arrives(2);
  ASSERT_EQ(post_send(5), std::errc{});
  EXPECT_EQ(next(), kSendAndAck) << "they may join again";
}

TEST_F(ConnectedJoining, SendsANegativeAcknowledgementBeforeRequests) {
  to_rts();
  ASSERT_EQ(post_send(1), std::errc{});
  arrive({.payload = "nothing is posted"});
  qp->end_run(now);
  EXPECT_FALSE(qp->only_acks_due());
  EXPECT_EQ(next(), kAck);
  EXPECT_EQ(sent[0].aeth.syndrome.type(), wire::AckType::rnr_nak);
  EXPECT_EQ(next(), kSend);

  ASSERT_EQ(post_send(2), std::errc{});
  message_arrives();
  EXPECT_EQ(next(), kSendAndAck);
  ASSERT_EQ(post_send(3), std::errc{});
  arrive({.psn = Psn{205}, .payload = "ahead"});
  qp->end_run(now);
  EXPECT_FALSE(qp->only_acks_due());
  EXPECT_EQ(next(), kAck);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::nak(wire::NakCode::psn_sequence_error));
  EXPECT_EQ(next(), kSend);
}

// It would acknowledge the read, too (IBA 9.7.5.1.2), whose data have not gone yet.
TEST_F(ConnectedJoining, KeepsAnAcknowledgementBehindTheDataOfAReadBeforeIt) {
  to_rts();
  arrive(read_request(8));
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.psn = Psn{201}, .payload = "x"});
  qp->end_run(now);
  ASSERT_EQ(post_send(1, 100), std::errc{});
  EXPECT_FALSE(qp->only_acks_due());
  EXPECT_EQ(next(), (Opcodes{Opcode::rc_read_response_only, Opcode::rc_acknowledge}));
  EXPECT_EQ(next(), kSend);
}

// Nor while it is the requests' turn.
TEST_F(ConnectedJoining, LeavesAnAcknowledgementThatOtherAnswersPrecedeOutOfTheRequestsTurn) {
  to_rts();
  message_arrives();
  EXPECT_EQ(next(), kAck);
  Packet read = read_request(8);
  read.psn = Psn{201};
  arrive(read);
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.psn = Psn{202}, .payload = "x"});
  qp->end_run(now);
  ASSERT_EQ(post_send(1, 100), std::errc{});
  EXPECT_EQ(next(), kSend);
  EXPECT_EQ(next(), (Opcodes{Opcode::rc_read_response_only, Opcode::rc_acknowledge}));
}

TEST_F(ConnectedJoining, TellsOfCongestionBeforeRequests) {
  to_rts();
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.payload = "x", .traffic_class = 0x6B});
  qp->end_run(now);
  EXPECT_FALSE(qp->only_acks_due());
  ASSERT_EQ(post_send(1), std::errc{});
  EXPECT_EQ(next(), Opcodes{Opcode::cnp});
  EXPECT_EQ(next(), kSendAndAck);
}

TEST_F(ConnectedJoining, TellsAWeftPeerOfAGapBeforeRequests) {
  ConnectedConfig weft = config();
  weft.extensions = true;
  start(weft);
  to_rts();
  ASSERT_EQ(post_receive(1), std::errc{});
  ASSERT_EQ(post_send(1, 100), std::errc{});
  arrive({.psn = Psn{201}, .payload = "ahead"});
  qp->end_run(now);
  EXPECT_TRUE(qp->has_work());
  EXPECT_FALSE(qp->only_acks_due());
  EXPECT_EQ(next(), Opcodes{Opcode::weft_rc_acknowledge});
  EXPECT_TRUE(sent[0].weft_ack().has(0));
  EXPECT_EQ(next(), kSend);
}

TEST_F(ConnectedJoining, SendsNothingOfWeftsUntilBothEndsHaveAgreed) {
  const auto answer_to_gap = [this](Psn ahead) {
    arrive({.psn = ahead, .payload = "ahead"});
    qp->end_run(now);
    const auto answer = next();
    return answer.empty() ? std::optional<Opcode>() : answer[0];
  };
  const Agreement ours{kOwnQpn, kPeerQpn, kPeerGid};
  qp->agree(ours);
  to_rts();
  ASSERT_EQ(post_receive(1), std::errc{});
  for (const Agreement& other :
       {Agreement{kPeerQpn, kPeerQpn, kPeerGid}, Agreement{kOwnQpn, kOwnQpn, kPeerGid},
        Agreement{kOwnQpn, kPeerQpn, kOtherGid}})
    qp->agree(other);
  EXPECT_EQ(answer_to_gap(Psn{201}), Opcode::rc_acknowledge) << "a NAK";
  qp->agree(ours);
  arrive({.psn = Psn{200}, .payload = "next"});
  EXPECT_EQ(answer_to_gap(Psn{203}), Opcode::weft_rc_acknowledge);
  ASSERT_TRUE(move(QpState::kReset));
  to_rts();
  EXPECT_EQ(answer_to_gap(Psn{201}), Opcode::rc_acknowledge) << "that was another connection";
}

TEST_F(ConnectedJoining, SendsAWeftPeerItsWindowBehindARequest) {
  ConnectedConfig weft = config();
  weft.extensions = true;
  weft.receive_budget = 123'456;
  start(weft);
  to_rts();
  message_and_request(100);
  EXPECT_EQ(next(kWouldBlock), (Opcodes{Opcode::rc_send_only, Opcode::weft_rc_acknowledge}));
  EXPECT_EQ(next(), (Opcodes{Opcode::rc_send_only, Opcode::weft_rc_acknowledge}));
  EXPECT_EQ(sent[1].bth.psn, Psn{200});
  EXPECT_EQ(sent[1].weft_ack().window, 123'456u);
  EXPECT_EQ(count(ConnectedCounter::kTxBytes), 100u) << "payload of requests";
  ASSERT_EQ(post_send(2, 100), std::errc{});
  message_arrives(1);
  EXPECT_EQ(next(), Opcodes{Opcode::weft_rc_send_only_ack}) << "the window is known";
}

TEST_F(ConnectedJoining, TellsWhenOnlyAcknowledgementsAreDue) {
  to_rts();
  EXPECT_FALSE(qp->only_acks_due());
  ASSERT_EQ(post_receive(0), std::errc{});
  arrive({.psn = Psn{200}, .payload = "x"});
  EXPECT_FALSE(qp->only_acks_due()) << "the run is not over";
  qp->end_run(now);
  EXPECT_TRUE(qp->has_work());
  EXPECT_TRUE(qp->only_acks_due());
  ASSERT_EQ(post_send(1), std::errc{});
  EXPECT_FALSE(qp->only_acks_due());
  EXPECT_EQ(next(), kSendAndAck);
  message_arrives(1);
  EXPECT_TRUE(qp->only_acks_due());
  arrive({.psn = Psn{202}, .payload = "nothing is posted"});
  EXPECT_FALSE(qp->only_acks_due());
  flush();
  EXPECT_FALSE(qp->has_work());
}

TEST_F(ConnectedJoining, ForgetsBothWhenItIsResetWhileTheyAreOut) {
  to_rts();
  message_and_request();
  ASSERT_TRUE(qp->next_burst(burst, now));
  ASSERT_EQ(burst.size(), 2u);
  ASSERT_TRUE(move(QpState::kReset));
  to_rts();
  qp->sent(burst, kWouldBlock, now);
  EXPECT_FALSE(qp->has_work());
  message_and_request();
  EXPECT_EQ(next(), kSendAndAck);
  EXPECT_EQ(sent[0].bth.psn, Psn{100});
  EXPECT_EQ(sent[1].aeth.msn, 1u);
}

TEST_F(ConnectedJoining, DropsBothInTheErrorState) {
  for (const SendResult result : {SendResult{}, kWouldBlock, kNoRoute, kBadMemory}) {
    send_cq.all.clear();
    start(config());
    to_rts();
    message_and_request();
    ASSERT_TRUE(qp->next_burst(burst, now));
    ASSERT_EQ(burst.size(), 2u);
    ASSERT_TRUE(move(QpState::kErr));
    qp->sent(burst, result, now);
    EXPECT_FALSE(qp->has_work());
    EXPECT_FALSE(qp->next_burst(burst, now));
    EXPECT_EQ(statuses(send_cq), std::vector{CompletionStatus::kFlushed});
  }
}

TEST_F(ConnectedJoining, LetsGoOfItsMemoryWhenItIsDestroyedWhileBothAreOut) {
  to_rts();
  message_and_request();
  ASSERT_TRUE(qp->next_burst(burst, now));
  ASSERT_EQ(burst.size(), 2u);
  qp.reset();
  EXPECT_TRUE(table.remove(region.key));  // waits for whoever still refers to it
}

}  // namespace
}  // namespace weft::hca::test

// SPDX-License-Identifier: Apache-2.0
// Acknowledgements that travel behind requests.
#include "connected_fixture.h"
#include "wire/riding_ack.h"

namespace weft::hca::test {
namespace {

using wire::Opcode;

class ConnectedJoining : public ConnectedQp {
 protected:
  // The peer's message `n`, at the end of a run: an acknowledgement is due.
  void message_arrives(std::uint32_t n = 0) {
    ASSERT_EQ(post_receive(n), std::errc{});
    arrive({.psn = Psn{200 + n}, .payload = "x"});
    qp->end_run(now);
  }
  void message_and_request(std::size_t length = 10) {
    message_arrives();
    ASSERT_EQ(post_send(1, length), std::errc{});
  }
  // The opcodes of the next burst, which meets with `result`.
  std::vector<Opcode> next(SendResult result = {}) {
    RecordingSink sink;
    if (!qp->next_burst(burst, now)) return {};
    EXPECT_FALSE(qp->has_work());
    EXPECT_FALSE(qp->only_acks_due());
    sink.send(burst);
    qp->sent(burst, result, now);
    sent.clear();
    std::vector<Opcode> opcodes;
    for (const auto& datagram : sink.datagrams()) {
      sent.push_back(Sent::parse(datagram));
      opcodes.push_back(sent.back().bth.opcode);
    }
    return opcodes;
  }
  void request_is_acknowledged(std::uint32_t psn = 100) {
    arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{psn}, .extended = ack()});
  }

  using Opcodes = std::vector<Opcode>;
  static inline const Opcodes kAck{Opcode::rc_acknowledge};
  static inline const Opcodes kSend{Opcode::rc_send_only};
  static inline const Opcodes kSendAndAck{Opcode::rc_send_only, Opcode::rc_acknowledge};
  static constexpr SendResult kWouldBlock{.outcome = SendOutcome::kWouldBlock};
  static constexpr SendResult kNoRoute{.outcome = SendOutcome::kRefused};
  static constexpr SendResult kBadMemory{.outcome = SendOutcome::kRefused,
                                         .reason = CompletionStatus::kLocalProtectionError};
  std::vector<Sent> sent;  // the burst that next() saw
};

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

// Between Weft peers it takes no packet of its own.
class ConnectedRiding : public ConnectedJoining {
 protected:
  ConnectedRiding() {
    ConnectedConfig weft = config();
    weft.extensions = true;
    weft.receive_budget = 0;  // so that there is no window to tell first
    start(weft);
    to_rts();
  }
  // With the datagram as it went.
  std::vector<Opcode> next_with_ack(SendResult result = {}) {
    const auto opcodes = next(result);
    const std::size_t headers = burst.packets()[0].header_length;
    const Bytes header = Bytes(burst.packets()[0].header).first(headers);
    riding = *wire::RidingAck::parse(header.last(wire::RidingAck::kSize));
    return opcodes;
  }
  static std::string ride(Psn psn, std::uint32_t msn) {
    std::array<std::byte, wire::RidingAck::kSize> bytes{};
    wire::RidingAck{.aeth = {.syndrome = wire::Syndrome::ack(), .msn = msn}, .psn = psn}.write(
        bytes);
    return text_of(bytes);
  }
  static inline const Opcodes kSendWithAck{Opcode::weft_rc_send_only_ack};
  wire::RidingAck riding{};
};

TEST_F(ConnectedRiding, LetsAnAcknowledgementRideWithAMessageOfOnePacket) {
  message_and_request();
  EXPECT_EQ(next_with_ack(), kSendWithAck);
  EXPECT_EQ(sent[0].bth.psn, Psn{100});
  EXPECT_EQ(sent[0].payload.size(), 10u);
  EXPECT_EQ(riding.psn, Psn{200});
  EXPECT_EQ(riding.aeth.msn, 1u);
  EXPECT_FALSE(qp->has_work());
  EXPECT_EQ(count(ConnectedCounter::kTxPackets), 1u);
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 1u);
  request_is_acknowledged();
  EXPECT_EQ(send_cq.all.size(), 1u);
}

TEST_F(ConnectedRiding, LetsItRideWithAWriteBehindItsAddress) {
  message_arrives();
  const std::array pieces{sge(1000, 10)};
  ASSERT_EQ(qp->post_send({.wr_id = 1,
                           .opcode = SendOpcode::kRdmaWrite,
                           .pieces = pieces,
                           .remote_address = 0x5000,
                           .rkey = RKey{7}}),
            std::errc{});
  EXPECT_EQ(next_with_ack(), Opcodes{Opcode::weft_rc_write_only_ack});
  EXPECT_EQ(riding.psn, Psn{200});
  const Bytes header(burst.packets()[0].header);
  EXPECT_EQ(wire::Reth::parse(header.subspan(wire::Bth::kSize))->virtual_address, 0x5000u);
}

TEST_F(ConnectedRiding, TakesTheMessageAndTheAcknowledgementThatRidesWithIt) {
  ASSERT_EQ(post_send(7), std::errc{});
  ASSERT_EQ(next(), kSend);
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive(
      {.opcode = Opcode::weft_rc_send_only_ack, .extended = ride(Psn{100}, 1), .payload = "hello"});
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].byte_length, 5u);
  ASSERT_EQ(send_cq.all.size(), 1u);
  EXPECT_EQ(send_cq.all[0].wr_id, 7u);
  EXPECT_EQ(count(ConnectedCounter::kRxPackets), 1u);
  EXPECT_EQ(count(ConnectedCounter::kRxAcks), 1u);
}

// As an adapter would, which acknowledges before its program can answer.
TEST_F(ConnectedRiding, CompletesTheRequestBeforeTheMessageThatAnswersIt) {
  std::vector<CompletionOpcode> order;
  send_cq.in_order = receive_cq.in_order = &order;
  ASSERT_EQ(post_send(7), std::errc{});
  ASSERT_EQ(next(), kSend);
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive(
      {.opcode = Opcode::weft_rc_send_only_ack, .extended = ride(Psn{100}, 1), .payload = "hello"});
  EXPECT_EQ(order,
            (std::vector<CompletionOpcode>{CompletionOpcode::kSend, CompletionOpcode::kReceive}));
}

// The program answers before the run ends in which the message came.
TEST_F(ConnectedRiding, AcknowledgesBeforeItAnswersWhereThatIsAskedFor) {
  for (const bool asked : {false, true}) {
    SCOPED_TRACE(asked);
    qp->set_acks_first(asked);
    ASSERT_EQ(post_receive(1), std::errc{});
    arrive({.psn = Psn{asked ? 201u : 200u}, .payload = "x"});
    ASSERT_EQ(post_send(7), std::errc{});
    EXPECT_EQ(next(), asked ? kAck : kSend);
    qp->end_run(now);
    EXPECT_EQ(next(), asked ? kSend : kAck);
  }
}

TEST_F(ConnectedRiding, TakesTheAcknowledgementThoughTheMessageHasToWait) {
  ASSERT_EQ(post_send(7), std::errc{});
  ASSERT_EQ(next(), kSend);
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.opcode = Opcode::weft_rc_send_only_ack,
          .psn = Psn{201},
          .extended = ride(Psn{100}, 1),
          .payload = "second"});
  EXPECT_TRUE(receive_cq.all.empty());
  EXPECT_EQ(send_cq.all.size(), 1u);
  ASSERT_EQ(post_receive(2), std::errc{});
  arrive({.payload = "first"});
  EXPECT_EQ(receive_cq.all.size(), 2u);
}

TEST_F(ConnectedRiding, SendsAgainWithoutItWhatIsLost) {
  message_and_request();
  EXPECT_EQ(next_with_ack(), kSendWithAck);
  now += 1s;
  const auto again = flush();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again[0].bth.opcode, Opcode::rc_send_only);
  EXPECT_EQ(again[0].bth.psn, Psn{100});
}

TEST_F(ConnectedRiding, OffersItAgainWhenTheWireIsFull) {
  message_and_request();
  EXPECT_EQ(next_with_ack(kWouldBlock), kSendWithAck);
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 0u);
  message_arrives(1);
  EXPECT_EQ(next_with_ack(), kSendWithAck);
  EXPECT_EQ(riding.psn, Psn{201});
}

TEST_F(ConnectedRiding, GoesBehindAMessageThatFillsItsPacket) {
  message_arrives();
  ASSERT_EQ(post_send(1, 1024), std::errc{});
  EXPECT_EQ(next(), kSendWithAck) << "1024 bytes are not all that every path takes";
  ConnectedConfig large = config();
  large.extensions = true;
  large.receive_budget = 0;
  start(large);
  QpAttributes wide = attributes();
  wide.path_mtu = 2048;
  to_init();
  ASSERT_TRUE(move(QpState::kRtr, rtr_mask(), wide));
  ASSERT_TRUE(move(QpState::kRts, rts_mask(), wide));
  message_arrives();
  ASSERT_EQ(post_send(1, 2048), std::errc{});
  EXPECT_EQ(next(), kSendAndAck);
}

TEST_F(ConnectedRiding, DropsWhatIsTooShortForIt) {
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.opcode = Opcode::weft_rc_send_only_ack, .extended = "1234"});
  EXPECT_TRUE(receive_cq.all.empty());
  EXPECT_EQ(count(ConnectedCounter::kRxMalformed), 1u);
}

}  // namespace
}  // namespace weft::hca::test

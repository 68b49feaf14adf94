// SPDX-License-Identifier: Apache-2.0
// Acknowledgements that ride on requests.
#include "connected_joining_fixture.h"
#include "wire/riding_ack.h"

namespace weft::hca::test {
namespace {

using wire::Opcode;

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
  now += Requester::kFirstProbe;
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

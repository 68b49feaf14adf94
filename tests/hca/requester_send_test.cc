// SPDX-License-Identifier: Apache-2.0
// Cutting messages into packets and packets into bursts.
#include <gmock/gmock.h>

#include <algorithm>

#include "requester_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::Opcode;

using RequesterSend = RequesterTest;

TEST_F(RequesterSend, SendsAShortMessageInOnePacketThatAsksForAnAcknowledgement) {
  start();
  ASSERT_EQ(send(1, 5), std::errc{});
  EXPECT_TRUE(requester->has_work());
  EXPECT_EQ(requester->queued_bytes(), 5u);
  EXPECT_EQ(requester->queued_packets(), 1u);
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].bth, (wire::Bth{.opcode = Opcode::rc_send_only,
                                       .migrated = true,
                                       .pad_count = 3,
                                       .pkey = kDefaultPKey,
                                       .dest_qp = kPeerQpn,
                                       .ack_request = true,
                                       .psn = kFirstPsn}));
  EXPECT_EQ(packets[0].text(), text(0, 5));
  EXPECT_FALSE(requester->has_work());
  EXPECT_EQ(requester->queued_bytes(), 0u);
  EXPECT_EQ(requester->queued_packets(), 0u);
  EXPECT_FALSE(requester->idle());
  EXPECT_THAT(completions.all, IsEmpty()) << "not before it is acknowledged";
  ack(0);
  ASSERT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_EQ(completions.all[0].opcode, CompletionOpcode::kSend);
  EXPECT_EQ(completions.all[0].qpn, kOwnQpn);
  EXPECT_TRUE(requester->idle());
  EXPECT_EQ(count(ConnectedCounter::kTxPackets), 1u);
  EXPECT_EQ(count(ConnectedCounter::kTxBytes), 5u);
}

TEST_F(RequesterSend, CutsALongMessageAtTheMtuAndCountsPsnsAcrossTheEndOfTheirRange) {
  start();
  ASSERT_EQ(send(1, 3 * kMtu + 1, 3), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::rc_send_first, Opcode::rc_send_middle,
                                            Opcode::rc_send_middle, Opcode::rc_send_last));
  EXPECT_EQ(packets[3].bth.psn, Psn{1});
  EXPECT_EQ(packets[0].text() + packets[1].text() + packets[2].text() + packets[3].text(),
            text(3, 3 * kMtu + 1));
  EXPECT_THAT(bursts, ElementsAre(4));
  EXPECT_FALSE(packets[0].bth.ack_request);
  EXPECT_TRUE(packets[3].bth.ack_request);
}

TEST_F(RequesterSend, SendsAMessageOfExactlyTheMtuInOnePacketAndAnEmptyOneTooInOne) {
  start();
  ASSERT_EQ(send(1, kMtu), std::errc{});
  ASSERT_EQ(send(2, 0), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::rc_send_only, Opcode::rc_send_only));
  EXPECT_EQ(packets[0].payload.size(), kMtu);
  EXPECT_EQ(packets[1].payload.size(), 0u);
  ack(1);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2));
}

TEST_F(RequesterSend, CarriesTheImmediateInTheLastPacketInMemoryOrderAndRaisesItsEventThere) {
  start();
  const std::array<std::uint8_t, 4> raw{1, 2, 3, 4};
  SendRequest request{.wr_id = 1, .opcode = SendOpcode::kSendWithImmediate, .solicited = true};
  std::memcpy(&request.immediate, raw.data(), 4);
  ASSERT_EQ(post(request, 0, kMtu + 1), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::rc_send_first, Opcode::rc_send_last_imm));
  EXPECT_EQ(std::memcmp(packets[1].extended.data(), raw.data(), 4), 0);
  EXPECT_FALSE(packets[0].bth.solicited);
  EXPECT_TRUE(packets[1].bth.solicited);
}

TEST_F(RequesterSend, NamesTheKeyThatASendInvalidates) {
  start();
  ASSERT_EQ(post({.opcode = SendOpcode::kSendWithInvalidate, .invalidate = RKey{0xABCD}}, 0, 8),
            std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::rc_send_only_invalidate));
  EXPECT_EQ(wire::Ieth::parse(packets[0].extended)->rkey, RKey{0xABCD});
}

TEST_F(RequesterSend, DescribesAWriteInItsFirstPacketOnlyAndPutsWhatIsEqualIntoOneRun) {
  start();
  ASSERT_EQ(write(1, 10 * kMtu), std::errc{});
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 10u);
  EXPECT_EQ(packets[0].bth.opcode, Opcode::rc_write_first);
  EXPECT_EQ(packets[0].reth(),
            (wire::Reth{.virtual_address = 0x1000, .rkey = RKey{0x77}, .dma_length = 10 * kMtu}));
  EXPECT_EQ(packets[1].bth.opcode, Opcode::rc_write_middle);
  EXPECT_EQ(packets[9].bth.opcode, Opcode::rc_write_last);
  EXPECT_THAT(bursts, ElementsAre(2, 8)) << "the first is longer, so only one may follow it";
}

TEST_F(RequesterSend, RaisesNoEventForAWriteWithoutImmediate) {
  start();
  ASSERT_EQ(post({.opcode = SendOpcode::kRdmaWrite, .solicited = true}, 0, 8), std::errc{});
  ASSERT_EQ(post({.opcode = SendOpcode::kRdmaWriteWithImmediate, .solicited = true}, 0, 8),
            std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::rc_write_only, Opcode::rc_write_only_imm));
  EXPECT_FALSE(packets[0].bth.solicited);
  EXPECT_TRUE(packets[1].bth.solicited);
}

TEST_F(RequesterSend, PutsTheEndOfOneMessageAndTheBeginningOfTheNextIntoOneRun) {
  start();
  ASSERT_EQ(send(1, 4 * kMtu), std::errc{});
  ASSERT_EQ(send(2, 3 * kMtu), std::errc{});
  EXPECT_EQ(transmit().size(), 7u);
  EXPECT_THAT(bursts, ElementsAre(7));
}

TEST_F(RequesterSend, PutsShortMessagesOfOneLengthIntoOneRunAndAsksOnceAtItsEnd) {
  start();
  for (std::uint64_t i = 0; i < 20; ++i)
    ASSERT_EQ(send(i, 100), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(bursts, ElementsAre(20));
  for (std::size_t i = 0; i + 1 < packets.size(); ++i)
    EXPECT_FALSE(packets[i].bth.ack_request) << i;
  EXPECT_TRUE(packets.back().bth.ack_request);
  ack(19);
  EXPECT_EQ(completions.all.size(), 20u);
}

TEST_F(RequesterSend, AsksAtLeastEveryQuarterOfItsWindowAndWhereItEnds) {
  start();
  ASSERT_EQ(send(1, 512 * 1024), std::errc{});
  const auto packets = transmit();
  std::size_t since = 0;
  for (const Seen& packet : packets) {
    since = packet.bth.ack_request ? 0 : since + packet.payload.size();
    EXPECT_LT(since, requester->window() / 4);
  }
  EXPECT_LT(packets.size(), 512u * 1024 / kMtu) << "the window is smaller than the message";
  EXPECT_TRUE(packets.back().bth.ack_request);
  EXPECT_LE(requester->in_flight(), requester->window());
  EXPECT_FALSE(requester->has_work());
  EXPECT_EQ(count(ConnectedCounter::kTxWindowStalls), 1u);
}

TEST_F(RequesterSend, SendsOnWhenTheWindowOpens) {
  start();
  ASSERT_EQ(send(1, 512 * 1024), std::errc{});
  std::size_t sent = transmit().size();
  while (completions.all.empty()) {
    ack(static_cast<std::uint32_t>(sent) - 1);
    now += 1ms;
    sent += transmit().size();
    ASSERT_LE(sent, 512u * 1024 / kMtu);
  }
  EXPECT_EQ(sent, 512u * 1024 / kMtu);
  EXPECT_EQ(requester->in_flight(), 0u);
}

TEST_F(RequesterSend, CopiesInlineDataWhenItIsPosted) {
  start();
  std::string data = "inline!!";
  const std::array pieces{
      Sge{.address = std::bit_cast<std::uintptr_t>(data.data()), .length = 6},
      Sge{.address = std::bit_cast<std::uintptr_t>(data.data()) + 6, .length = 2}};
  ASSERT_EQ(requester->post({.wr_id = 1, .inline_data = true, .pieces = pieces}), std::errc{});
  data = "changed!";
  EXPECT_EQ(transmit().at(0).text(), "inline!!");
}

TEST_F(RequesterSend, GathersItsPiecesAcrossPacketsAndIgnoresTheKeyOfAnEmptyOne) {
  start();
  const std::array pieces{sge(0, 100), Sge{.lkey = LKey{1}}, sge(1000, 300), sge(5, 2)};
  ASSERT_EQ(requester->post({.wr_id = 1, .pieces = pieces}), std::errc{});
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].text() + packets[1].text(), text(0, 100) + text(1000, 300) + text(5, 2));
}

TEST_F(RequesterSend, RefusesWhatIsWrongWithAPost) {
  connection.config.max_sends = 2;
  start();
  const std::vector<Sge> five(5, sge(0, 1));
  EXPECT_EQ(requester->post({.pieces = five}), std::errc::invalid_argument);
  const std::array long_piece{sge(0, 65)};
  EXPECT_EQ(requester->post({.inline_data = true, .pieces = long_piece}),
            std::errc::invalid_argument);
  EXPECT_EQ(requester->post({.opcode = SendOpcode::kRdmaRead, .inline_data = true}),
            std::errc::invalid_argument);
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  EXPECT_EQ(send(3, 1), std::errc::not_enough_memory);
}

TEST_F(RequesterSend, FailsATooLongMessageWhenItsTurnComes) {
  connection.config.max_message = 1000;
  start();
  ASSERT_EQ(send(1, 1000), std::errc{});
  ASSERT_EQ(send(2, 1001), std::errc{});
  ASSERT_EQ(send(3, 1), std::errc{});
  EXPECT_EQ(transmit().size(), 4u);
  EXPECT_FALSE(requester->failed()) << "the one before is not complete";
  ack(3);
  EXPECT_TRUE(requester->failed());
  requester->flush();
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kSuccess),
                                       std::pair(2u, CompletionStatus::kLocalLengthError),
                                       std::pair(3u, CompletionStatus::kFlushed)));
}

TEST_F(RequesterSend, FailsAMessageWithABadKeyWhenItsTurnComesAndSendsNothingOfIt) {
  start();
  ASSERT_EQ(send(1, 10), std::errc{});
  const std::array bad{Sge{.address = region.iova, .length = 1, .lkey = LKey{region.key + 1}}};
  ASSERT_EQ(requester->post({.wr_id = 2, .pieces = bad}), std::errc{});
  EXPECT_EQ(transmit().size(), 1u);
  EXPECT_FALSE(requester->failed());
  ack(0);
  EXPECT_TRUE(requester->failed());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kSuccess),
                                       std::pair(2u, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RequesterSend, CompletesUnsignaledRequestsSilentlyUnlessTheyFail) {
  start();
  ASSERT_EQ(post({.wr_id = 1}, 0, 1), std::errc{});
  ASSERT_EQ(post({.wr_id = 2}, 0, 1), std::errc{});
  transmit();
  ack(0);
  EXPECT_THAT(completions.all, IsEmpty());
  nak(1, wire::NakCode::remote_access_error);
  EXPECT_THAT(completed(), ElementsAre(std::pair(2u, CompletionStatus::kRemoteAccessError)));
}

TEST_F(RequesterSend, TakesBackABurstThatTheWireDoesNotTake) {
  start();
  ASSERT_EQ(send(1, 3 * kMtu), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  EXPECT_FALSE(requester->has_work()) << "one burst is out at a time";
  EXPECT_FALSE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_EQ(requester->in_flight(), 0u);
  EXPECT_TRUE(requester->idle());
  EXPECT_EQ(requester->queued_bytes(), 3u * kMtu);
  EXPECT_EQ(requester->queued_packets(), 3u);
  EXPECT_EQ(requester->deadline(), std::nullopt);
  EXPECT_TRUE(requester->has_work());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0, 1, 2));
  ack(2);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterSend, BelievesNoAcknowledgementOfWhatTheWireDidNotTake) {
  start();
  ASSERT_EQ(send(1, 10), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  ack(0);
  EXPECT_THAT(completions.all, IsEmpty()) << "the burst is still out";
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_THAT(completions.all, IsEmpty());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0));
  ack(0);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterSend, CompletesAfterSentWhatWasAcknowledgedWhileTheBurstWasOut) {
  start();
  ASSERT_EQ(send(1, 10), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  ack(0);
  requester->sent(scratch, {}, now);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterSend, TreatsWhatTheWireCannotCarryAsLost) {
  start();
  ASSERT_EQ(send(1, 10), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kRefused}, now);
  EXPECT_FALSE(requester->failed());
  EXPECT_EQ(count(ConnectedCounter::kTxRefused), 1u);
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0)) << "the timer sends it again";
}

TEST_F(RequesterSend, FindsTheRequestWhoseMemoryCannotBeRead) {
  start();
  for (std::uint64_t i = 1; i <= 3; ++i)
    ASSERT_EQ(send(i, 10), std::errc{});
  const SendResult bad{.outcome = SendOutcome::kRefused,
                       .reason = CompletionStatus::kLocalProtectionError};
  ASSERT_TRUE(requester->fill(scratch, now));
  ASSERT_EQ(scratch.size(), 3u);
  requester->sent(scratch, bad, now);
  ASSERT_TRUE(requester->fill(scratch, now));
  ASSERT_EQ(scratch.size(), 1u) << "one by one now";
  requester->sent(scratch, {}, now);
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, bad, now);
  EXPECT_FALSE(requester->failed()) << "the first is not acknowledged yet";
  ack(0);
  EXPECT_TRUE(requester->failed());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kSuccess),
                                       std::pair(2u, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RequesterSend, FlushesWhatIsOutAndWhatIsPostedLater) {
  start();
  for (std::uint64_t i = 1; i <= 2; ++i)
    ASSERT_EQ(send(i, 10), std::errc{});
  transmit();
  ASSERT_EQ(send(3, 10), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->flush();
  ASSERT_EQ(send(4, 10), std::errc{});
  requester->sent(scratch, {}, now);
  ack(2);
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kFlushed),
                                       std::pair(2u, CompletionStatus::kFlushed),
                                       std::pair(3u, CompletionStatus::kFlushed),
                                       std::pair(4u, CompletionStatus::kFlushed)));
  EXPECT_FALSE(requester->has_work());
  EXPECT_EQ(requester->queued_packets(), 0u);
}

TEST_F(RequesterSend, KeepsInlineDataOfABurstThatIsOutAcrossAReset) {
  start();
  std::string data = "first";
  const std::array pieces{Sge{.address = std::bit_cast<std::uintptr_t>(data.data()), .length = 5}};
  ASSERT_EQ(requester->post({.inline_data = true, .pieces = pieces}), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->reset();
  requester->start(kFirstPsn);
  data = "other";
  ASSERT_EQ(requester->post({.wr_id = 2, .signaled = true, .inline_data = true, .pieces = pieces}),
            std::errc{});
  const Bytes piece = scratch.pieces(scratch.packets()[0])[0];
  EXPECT_EQ(std::memcmp(piece.data(), "first", 5), 0);
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_THAT(completions.all, IsEmpty());
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].text(), "other");
  EXPECT_EQ(packets[0].bth.psn, kFirstPsn);
}

TEST_F(RequesterSend, BeginsNoMessageWhileHeldAndAsksForTheEndOfTheOneBegun) {
  start();
  ASSERT_EQ(send(1, 512 * 1024), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  std::size_t sent = transmit().size();
  requester->hold(true);
  EXPECT_FALSE(requester->idle());
  while (completions.all.empty()) {
    ack(static_cast<std::uint32_t>(sent) - 1);
    const auto packets = transmit();
    sent += packets.size();
    ASSERT_TRUE(packets.empty() || packets.back().bth.ack_request);
    ASSERT_TRUE(!packets.empty() || !completions.all.empty());
  }
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_TRUE(requester->idle());
  EXPECT_THAT(transmit(), IsEmpty());
  requester->hold(false);
  EXPECT_EQ(transmit().size(), 1u);
}

TEST_F(RequesterSend, NamesTheSharedQueueInEveryPacketOfAnXrcRequest) {
  connection.config.type = QpType::kXrcInitiator;
  start();
  ASSERT_EQ(post({.opcode = SendOpcode::kRdmaWrite,
                  .remote_address = 0x2000,
                  .rkey = RKey{5},
                  .remote_srq = Qpn{0x1234}},
                 0, kMtu + 1),
            std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::xrc_write_first, Opcode::xrc_write_last));
  EXPECT_EQ(wire::Xrceth::parse(packets[0].extended)->srq, 0x1234u);
  EXPECT_EQ(packets[0].reth(4).virtual_address, 0x2000u);
  EXPECT_EQ(wire::Xrceth::parse(packets[1].extended)->srq, 0x1234u);
}

class RequesterOnALongPath : public RequesterTest {
 protected:
  // A window of 1 GiB.
  RequesterOnALongPath() {
    connection.config.lossless = true;
    connection.ack_timeout = 0;
    start();
    EXPECT_EQ(write(1, 1), std::errc{});
    transmit();
    now += 300ms;
    ack(0);
    EXPECT_EQ(requester->window(), CongestionWindow::kMostLossless);
  }
  // How many packets go.
  std::size_t send_all() {
    std::size_t sent = 0;
    while (requester->fill(scratch, now)) {
      sent += scratch.size();
      requester->sent(scratch, {.outcome = SendOutcome::kSent}, now);
    }
    return sent;
  }
};

TEST_F(RequesterOnALongPath, HasNoMorePacketsInFlightThanItRemembers) {
  ASSERT_EQ(write(2, 1), std::errc{});
  for (std::uint64_t i = 0; i < 511; ++i)
    ASSERT_EQ(write(i, kMemory - 5 * kMtu), std::errc{});
  EXPECT_EQ(send_all(), Requester::kMostRecords);
  EXPECT_LT(requester->in_flight(), requester->window());
  now += 300ms;
  ack(Requester::kMostRecords);
  EXPECT_EQ(requester->in_flight(), 0u);
  EXPECT_EQ(send_all(), Requester::kMostRecords);
}

TEST_F(RequesterOnALongPath, AsksForAnAcknowledgementOfAQuarterOfAMebibyteThoughMuchMoreMayGo) {
  ASSERT_EQ(write(2, kMemory), std::errc{});
  std::size_t unasked = 0;
  std::size_t most = 0;
  for (const Seen& packet : transmit()) {
    unasked += packet.payload.size();
    most = std::max(most, unasked);
    if (packet.bth.ack_request) unasked = 0;
  }
  EXPECT_LE(most, 256u * 1024);
  EXPECT_GE(most, 200u * 1024);
}

// PSNs are compared modulo 2^24: a read takes one for each packet of its response.
TEST_F(RequesterSend, BeginsNoReadWhoseAnswerWouldBringTooManyPsnsAtATime) {
  MemoryRegion all = describe(memory, kLocalWrite);
  all.length = std::uint64_t{1} << 31;  // of which nothing is ever touched
  const auto large = table.add(all);
  ASSERT_TRUE(large.has_value());
  start();
  ASSERT_EQ(write(1, 1), std::errc{});
  const std::array pieces{Sge{.address = all.iova, .length = 1u << 31, .lkey = LKey{large->key}}};
  ASSERT_EQ(requester->post({.wr_id = 2,
                             .opcode = SendOpcode::kRdmaRead,
                             .signaled = true,
                             .pieces = pieces,
                             .remote_address = 0x10000,
                             .rkey = RKey{0x77}}),
            std::errc{});
  EXPECT_EQ(numbers(transmit()), std::vector<std::uint32_t>{0});
  ack(0);
  EXPECT_EQ(numbers(transmit()), std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace weft::hca::test

// SPDX-License-Identifier: Apache-2.0
// Between Weft peers: packets after a gap are kept and told of, and windows are granted. And how
// congestion is told to any peer.
#include "responder_fixture.h"

namespace weft::hca::test {
namespace {

using wire::NakCode;
using wire::Opcode;

class ResponderReorder : public ResponderTest {
 protected:
  ResponderReorder() {
    connection.config.extensions = true;
    for (unsigned i = 0; i < 16; ++i)
      post(i, i * 1000, 1000);
  }
  // The first acknowledgement tells the window: out of the way.
  void settle() {
    give({.psn = kFirst, .payload = "0"});
    ASSERT_EQ(answers().at(0).bth.opcode, Opcode::weft_rc_acknowledge);
  }
  static std::string bits(const wire::WeftAck& ack, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += ack.has(i) ? '1' : '0';
    return text;
  }
};

TEST_F(ResponderReorder, TellsTheWindowWithTheFirstAcknowledgement) {
  connection.config.receive_budget = 100'000;
  give({.psn = kFirst, .payload = "0"});
  auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_EQ(sent[0].bth.opcode, Opcode::weft_rc_acknowledge);
  EXPECT_EQ(sent[0].bth.psn, kFirst);
  EXPECT_EQ(sent[0].weft_ack().window, 100'000u);
  EXPECT_EQ(sent[0].weft_ack().words, 0u);
  EXPECT_EQ(sent[0].weft_ack().aeth.msn, 1u);
  sent = exchange({.psn = kFirst + 1, .payload = "1"});
  EXPECT_EQ(sent.at(0).bth.opcode, Opcode::rc_acknowledge) << "nothing new to tell";
}

TEST_F(ResponderReorder, TellsTheWindowAgainWhenItShrinksByMoreThanAnEighth) {
  connection.config.receive_budget = 100'000;
  settle();
  connection.config.receive_budget = 87'500;
  EXPECT_EQ(exchange({.psn = kFirst + 1}).at(0).bth.opcode, Opcode::rc_acknowledge);
  connection.config.receive_budget = 87'000;
  EXPECT_EQ(exchange({.psn = kFirst + 2}).at(0).weft_ack().window, 87'000u);
}

TEST_F(ResponderReorder, TellsTheWindowAgainWhenItGrowsByMoreThanAQuarter) {
  connection.config.receive_budget = 100'000;
  settle();
  connection.config.receive_budget = 125'000;
  EXPECT_EQ(exchange({.psn = kFirst + 1}).at(0).bth.opcode, Opcode::rc_acknowledge);
  connection.config.receive_budget = 126'000;
  EXPECT_EQ(exchange({.psn = kFirst + 2}).at(0).weft_ack().window, 126'000u);
}

TEST_F(ResponderReorder, TellsTheWindowAgainWhenTheWireDidNotTakeIt) {
  give({.psn = kFirst, .payload = "0"});
  responder->end_run(now);
  ASSERT_TRUE(responder->fill(burst, now));
  responder->sent(burst, {SendOutcome::kWouldBlock, {}}, now);
  EXPECT_EQ(flush().at(0).bth.opcode, Opcode::weft_rc_acknowledge);
}

TEST_F(ResponderReorder, KeepsWhatCameAfterAGapAndTellsOfItOnce) {
  settle();
  give({.psn = kFirst + 2, .payload = "2"});
  give({.psn = kFirst + 3, .payload = "3"});
  give({.psn = kFirst + 5, .payload = "5"});
  EXPECT_FALSE(responder->has_work()) << "the run may bring what is missing";
  auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.psn, kFirst);
  EXPECT_EQ(bits(sent[0].weft_ack(), 6), "110100");
  EXPECT_EQ(cq.all.size(), 1u);
  EXPECT_TRUE(answers().empty());

  give({.psn = kFirst + 1, .payload = "1"});
  EXPECT_EQ(cq.all.size(), 4u);
  sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.psn, kFirst + 3);
  EXPECT_EQ(bits(sent[0].weft_ack(), 3), "100");
  give({.psn = kFirst + 4, .payload = "4"});
  sent = answers();
  EXPECT_EQ(sent.at(0).bth.opcode, Opcode::rc_acknowledge);
  EXPECT_EQ(sent.at(0).bth.psn, kFirst + 5);
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_EQ(cq.all.at(i).wr_id, i);
    EXPECT_EQ(text(i * 1000, 1), std::to_string(i));
  }
  EXPECT_EQ(count(ConnectedCounter::kRxBuffered), 3u);
}

TEST_F(ResponderReorder, TellsThatAGapHasClosedWithoutBeingAsked) {
  settle();
  EXPECT_EQ(exchange({.psn = kFirst + 2, .payload = "2", .ack_request = false}).size(), 1u);
  const auto sent = exchange({.psn = kFirst + 1, .payload = "1", .ack_request = false});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.psn, kFirst + 2);
}

TEST_F(ResponderReorder, SaysNoStandardNakForAGap) {
  settle();
  for (const Sent& sent : exchange({.psn = kFirst + 2, .payload = "2"}))
    EXPECT_EQ(sent.bth.opcode, Opcode::weft_rc_acknowledge);
}

TEST_F(ResponderReorder, PutsReadsAndAtomicsInOrderToo) {
  store(8000, "first!");
  give({.opcode = Opcode::rc_write_only,
        .psn = kFirst + 3,
        .payload = "later!",
        .reth = reth(8000, 6)});
  give({.opcode = Opcode::rc_read_request, .psn = kFirst, .reth = reth(8000, 3 * kMtu)});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(text(8000, 6), "later!");
  EXPECT_EQ(sent[3].bth.psn, kFirst + 3);
}

TEST_F(ResponderReorder, DropsDuplicatesOfWhatItKeeps) {
  settle();
  give({.psn = kFirst + 2, .payload = "2"});
  give({.psn = kFirst + 2, .payload = "X"});
  give({.psn = kFirst + 1, .payload = "1"});
  EXPECT_EQ(text(2000, 1), "2");
  EXPECT_EQ(count(ConnectedCounter::kRxDuplicates), 1u);
  EXPECT_EQ(count(ConnectedCounter::kRxBuffered), 1u);
}

TEST_F(ResponderReorder, ForgetsKeptPacketsWithinTheNumbersOfARead) {
  settle();
  give({.psn = kFirst + 2, .payload = "?"});  // where the answer's second packet will be
  give({.opcode = Opcode::rc_read_request, .psn = kFirst + 1, .reth = reth(8000, 3 * kMtu)});
  answers();
  give({.psn = kFirst + 4, .payload = "4"});
  EXPECT_EQ(cq.all.size(), 2u);
  EXPECT_EQ(text(1000, 1), "4");
}

TEST_F(ResponderReorder, KeepsNoMoreThanItsLimits) {
  connection.mtu = 4096;
  settle();
  for (unsigned i = 2; i < 1000; ++i)
    give({.psn = kFirst + i, .payload = pattern(4096)});
  EXPECT_EQ(count(ConnectedCounter::kRxBuffered), ReorderBuffer::kMaxBytes / 4096);
  give({.psn = kFirst + 2049, .payload = "far"});
  give({.psn = kFirst + 2050, .payload = "further"});
  EXPECT_EQ(count(ConnectedCounter::kRxBuffered), ReorderBuffer::kMaxBytes / 4096);
  EXPECT_EQ(answers().size(), 1u);
}

TEST_F(ResponderReorder, TellsOfTwoThousandPacketsBeyondAGap) {
  settle();
  for (unsigned i = 2; i < 3000; ++i)
    give({.psn = kFirst + i});
  const auto sent = answers();
  const wire::WeftAck ack = sent.back().weft_ack();
  EXPECT_EQ(ack.words, wire::WeftAck::kMaxWords);
  EXPECT_EQ(count(ConnectedCounter::kRxBuffered), 2048u);
}

TEST_F(ResponderReorder, WaitsSilentlyAfterAnRnrNakAndForgetsNothing) {
  settle();
  TakenReceive taken;
  while (receives.take(taken)) {
  }
  give({.psn = kFirst + 2, .payload = "2"});
  give({.psn = kFirst + 1, .payload = "1"});
  auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::rnr_nak(12));
  EXPECT_TRUE(exchange({.psn = kFirst + 3, .payload = "3"}).empty());
  for (unsigned i = 1; i < 4; ++i)
    post(100 + i, i * 1000, 1000);
  give({.psn = kFirst + 1, .payload = "1"});
  sent = answers();
  EXPECT_EQ(sent.at(0).bth.psn, kFirst + 3);
  EXPECT_EQ(text(3000, 1), "3");
}

TEST_F(ResponderReorder, NeedsAReceiveForEachKeptMessage) {
  settle();
  TakenReceive taken;
  while (receives.size() > 1)
    receives.take(taken);
  give({.psn = kFirst + 2, .payload = "2"});
  give({.psn = kFirst + 1, .payload = "1"});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::rnr_nak(12));
  EXPECT_EQ(sent[0].bth.psn, kFirst + 2);
  post(50, 5000, 100);
  EXPECT_EQ(exchange({.psn = kFirst + 2, .payload = "2"}).at(0).bth.psn, kFirst + 2);
  EXPECT_EQ(text(5000, 1), "2");
  EXPECT_EQ(cq.all.size(), 3u);
}

TEST_F(ResponderReorder, StopsAtAKeptPacketThatIsWrong) {
  settle();
  give({.opcode = Opcode::rc_send_last, .psn = kFirst + 2, .payload = "2"});
  give({.psn = kFirst + 3, .payload = "3"});
  give({.psn = kFirst + 1, .payload = "1"});
  expect_nak(answers(), NakCode::invalid_request, kFirst + 2);
  EXPECT_TRUE(responder->failed());
  EXPECT_EQ(cq.all.size(), 2u);
}

TEST_F(ResponderReorder, TellsOfAReceiveWhereItHadPromisedNone) {
  struct OwnQueue final : ReceiveSource {
    Take take_for(std::uint64_t, TakenReceive&) override { return Take::kNone; }
    [[nodiscard]] std::size_t size() const override { return count; }
    [[nodiscard]] bool shared() const override { return false; }
    std::size_t count = 0;
  } own;
  responder.emplace(connection, table, cq, own, nullptr);
  responder->start(kFirst);
  give({.opcode = Opcode::rc_write_only, .psn = kFirst});
  EXPECT_EQ(answers().at(0).weft_ack().aeth.syndrome, wire::Syndrome::ack(0));
  own.count = 3;
  responder->receive_posted();
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::ack(wire::credit_code_for(3)));
}

TEST(ReorderBuffer, GivesItsMemoryBackOnceItHasRested) {
  ReorderBuffer buffer;
  const std::vector<std::byte> payload(100);
  const InPacket packet{.psn = Psn{7}, .payload = payload};
  ASSERT_EQ(buffer.insert(packet, Psn{5}), ReorderBuffer::Insert::kKept);
  EXPECT_EQ(buffer.insert(packet, Psn{5}), ReorderBuffer::Insert::kDuplicate);
  EXPECT_EQ(buffer.bytes(), 100u);
  EXPECT_NE(buffer.find(Psn{7}), nullptr);
  EXPECT_EQ(buffer.find(Psn{7 + ReorderBuffer::kMaxPackets}), nullptr);
  buffer.remove(Psn{7});
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.bytes(), 0u);
  buffer.rest();
  EXPECT_TRUE(buffer.has_memory()) << "a gap may come again soon";
  buffer.rest();
  EXPECT_FALSE(buffer.has_memory());
}

TEST_F(ResponderReorder, TellsTheSenderOfCongestionButNotTooOften) {
  responder->congestion_experienced(now);
  responder->congestion_experienced(now);
  auto sent = flush();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::cnp);
  EXPECT_EQ(sent[0].bth.psn, Psn{0});
  EXPECT_TRUE(sent[0].bth.becn);
  EXPECT_FALSE(sent[0].bth.migrated);
  EXPECT_EQ(sent[0].payload, std::string(16, '\0'));
  now += 49us;
  responder->congestion_experienced(now);
  EXPECT_TRUE(flush().empty());
  now += 1us;
  responder->congestion_experienced(now);
  EXPECT_EQ(flush().size(), 1u);
  EXPECT_EQ(count(ConnectedCounter::kTxCnps), 2u);
}

TEST_F(ResponderReorder, TakesWritesThatSayTheirAddressAgain) {
  settle();
  const wire::Reth whole = reth(0, 3 * kMtu);
  give({.opcode = Opcode::rc_write_first,
        .psn = kFirst + 1,
        .payload = std::string(kMtu, 'a'),
        .reth = whole});
  give({.opcode = Opcode::weft_rc_write_middle,
        .psn = kFirst + 2,
        .payload = std::string(kMtu, 'b'),
        .reth = reth(kMtu, 2 * kMtu)});
  const auto sent = exchange({.opcode = Opcode::weft_rc_write_last,
                              .psn = kFirst + 3,
                              .payload = std::string(kMtu, 'c'),
                              .reth = reth(2 * kMtu, kMtu)});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.psn, kFirst + 3);
  EXPECT_EQ(text(0, 3 * kMtu),
            std::string(kMtu, 'a') + std::string(kMtu, 'b') + std::string(kMtu, 'c'));
}

TEST_F(ResponderReorder, RefusesAWriteThatSaysAnotherAddressInTheMiddle) {
  settle();
  give({.opcode = Opcode::rc_write_first,
        .psn = kFirst + 1,
        .payload = std::string(kMtu, 'a'),
        .reth = reth(0, 3 * kMtu)});
  expect_refused({.opcode = Opcode::weft_rc_write_middle,
                  .psn = kFirst + 2,
                  .payload = std::string(kMtu, 'b'),
                  .reth = reth(2 * kMtu, 2 * kMtu)},
                 NakCode::invalid_request);
}

}  // namespace
}  // namespace weft::hca::test

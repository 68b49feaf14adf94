// SPDX-License-Identifier: Apache-2.0
// What is particular to unreliable connections and to XRC targets.
#include "responder_fixture.h"

namespace weft::hca::test {
namespace {

using wire::NakCode;
using wire::Opcode;

class ResponderUnreliable : public ResponderTest {
 protected:
  ResponderUnreliable() { connection.config.type = QpType::kUc; }
  void expect_quiet() {
    EXPECT_TRUE(answers().empty());
    EXPECT_FALSE(responder->failing());
    EXPECT_EQ(responder->take_events(), 0u);
  }
};

TEST_F(ResponderUnreliable, DeliversAndSaysNothing) {
  post(1, 0, 1000);
  give({.opcode = Opcode::uc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
  give({.opcode = Opcode::uc_send_last_imm, .psn = kFirst + 1, .payload = "end", .immediate = 5});
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].byte_length, kMtu + 3);
  EXPECT_EQ(cq.all[0].immediate, 5u);
  expect_quiet();
}

TEST_F(ResponderUnreliable, DropsAMessageOfWhichAPacketIsMissing) {
  post(1, 0, 1000);
  give({.opcode = Opcode::uc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
  give({.opcode = Opcode::uc_send_middle, .psn = kFirst + 2, .payload = pattern(kMtu)});
  give({.opcode = Opcode::uc_send_last, .psn = kFirst + 3, .payload = "end"});
  EXPECT_TRUE(cq.all.empty());
  EXPECT_EQ(count(ConnectedCounter::kRxMessagesAbandoned), 1u);
  give({.opcode = Opcode::uc_send_only, .psn = kFirst + 4, .payload = "next"});
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].wr_id, 1u) << "the receive of the message that was dropped";
  EXPECT_EQ(text(0, 4), "next");
  expect_quiet();
}

TEST_F(ResponderUnreliable, BeginsAfreshAfterALostEnd) {
  post(1, 0, 1000);
  give({.opcode = Opcode::uc_write_first,
        .psn = kFirst,
        .payload = pattern(kMtu),
        .reth = reth(0, 2 * kMtu)});
  give({.opcode = Opcode::uc_send_only, .psn = kFirst + 2, .payload = "next"});
  EXPECT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(count(ConnectedCounter::kRxMessagesAbandoned), 1u);
  expect_quiet();
}

TEST_F(ResponderUnreliable, DropsWhatItHasNoReceiveFor) {
  give({.opcode = Opcode::uc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
  post(1, 0, 1000);
  give({.opcode = Opcode::uc_send_last, .psn = kFirst + 1, .payload = "end"});
  EXPECT_TRUE(cq.all.empty());
  EXPECT_EQ(count(ConnectedCounter::kRxNoReceive), 1u);
  expect_quiet();
}

TEST_F(ResponderUnreliable, DropsWhatBreaksARuleAndLivesOn) {
  post(1, 0, 300);
  const std::vector<Request> wrong{
      {.opcode = Opcode::uc_send_only, .payload = pattern(kMtu + 4)},
      {.opcode = Opcode::uc_write_only, .payload = "x", .reth = reth(memory.size(), 1)},
      {.opcode = Opcode::uc_write_only, .payload = "x", .reth = reth(0, 2)}};
  Psn psn = kFirst;
  for (Request request : wrong) {
    request.psn = psn;
    ++psn;
    give(request);
  }
  give({.opcode = Opcode::uc_send_first, .psn = psn, .payload = pattern(kMtu)});
  give({.opcode = Opcode::uc_send_last, .psn = psn + 1, .payload = pattern(kMtu)});  // too long
  EXPECT_TRUE(cq.all.empty());
  EXPECT_EQ(count(ConnectedCounter::kRxMessagesAbandoned), 4u);
  EXPECT_EQ(count(ConnectedCounter::kRxAccessErrors), 1u);
  give({.opcode = Opcode::uc_send_only, .psn = psn + 2, .payload = "fine"});
  EXPECT_EQ(cq.all.size(), 1u);
  expect_quiet();
}

TEST_F(ResponderUnreliable, FailsWhenItsOwnReceiveIsAtFault) {
  const std::array pieces{Sge{.address = 0, .length = 100, .lkey = LKey{1}}};
  ASSERT_EQ(receives.post({.wr_id = 5, .pieces = pieces}), std::errc{});
  give({.opcode = Opcode::uc_send_only, .psn = kFirst, .payload = "x"});
  EXPECT_EQ(cq.all.at(0).status, CompletionStatus::kLocalProtectionError);
  EXPECT_TRUE(responder->failed());
  EXPECT_TRUE(answers().empty());
}

TEST_F(ResponderUnreliable, FlushesTheReceiveThatItHolds) {
  post(4, 0, 1000);
  give({.opcode = Opcode::uc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
  give({.opcode = Opcode::uc_send_middle, .psn = kFirst + 5, .payload = pattern(kMtu)});
  responder->flush();
  EXPECT_EQ(cq.all.at(0).wr_id, 4u);
  EXPECT_EQ(cq.all.at(0).status, CompletionStatus::kFlushed);
}

class ResponderXrc : public ResponderTest, public XrcQueues {
 protected:
  ResponderXrc() {
    connection.config.type = QpType::kXrcTarget;
    connection.config.pd = 0;  // a target has none: its queues have
    make(this);
  }
  Found find(Qpn number) override {
    const auto found = queues.find(number.value());
    if (found == queues.end()) return {};
    return {&found->second, &completions[number.value()], kPd};
  }
  SharedReceiveQueue& queue(std::uint32_t number) {
    return queues.try_emplace(number, 8, 1).first->second;
  }
  void post_to(std::uint32_t number, std::uint64_t wr_id, std::size_t offset) {
    const std::array pieces{sge(offset, 1000)};
    ASSERT_EQ(queue(number).post({.wr_id = wr_id, .pieces = pieces}), std::errc{});
  }
  std::map<std::uint32_t, SharedReceiveQueue> queues;
  std::map<std::uint32_t, Completions> completions;
};

TEST_F(ResponderXrc, DeliversToTheQueueThatThePacketNames) {
  post_to(5, 50, 0);
  post_to(6, 60, 1000);
  give({.opcode = Opcode::xrc_send_only, .psn = kFirst, .payload = "six", .srq = 6});
  const auto sent =
      exchange({.opcode = Opcode::xrc_send_only, .psn = kFirst + 1, .payload = "five", .srq = 5});
  EXPECT_EQ(completions[6].all.at(0).wr_id, 60u);
  EXPECT_EQ(completions[5].all.at(0).wr_id, 50u);
  EXPECT_TRUE(cq.all.empty());
  EXPECT_EQ(text(0, 4), "five");
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::xrc_acknowledge);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::ack());
}

TEST_F(ResponderXrc, RefusesAQueueThatIsNotThere) {
  give({.opcode = Opcode::xrc_send_only, .psn = kFirst, .payload = "x", .srq = 9});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::nak(NakCode::invalid_request));
}

TEST_F(ResponderXrc, SurvivesTheEndOfAQueueInTheMiddleOfAMessage) {
  post_to(5, 50, 0);
  give({.opcode = Opcode::xrc_send_first, .psn = kFirst, .payload = pattern(kMtu), .srq = 5});
  queues.clear();
  give({.opcode = Opcode::xrc_send_last, .psn = kFirst + 1, .payload = "x", .srq = 5});
  EXPECT_EQ(answers().at(0).aeth.syndrome, wire::Syndrome::nak(NakCode::invalid_request));
  responder->flush();
}

TEST_F(ResponderXrc, WritesReadsAndAddsInTheDomainOfTheQueueThatIsNamed) {
  queue(5);
  give({.opcode = Opcode::xrc_write_only,
        .psn = kFirst,
        .payload = "12345678",
        .reth = reth(0, 8),
        .srq = 5});
  const Request read{
      .opcode = Opcode::xrc_read_request, .psn = kFirst + 1, .reth = reth(0, 8), .srq = 5};
  give(read);
  give({.opcode = Opcode::xrc_fetch_add,
        .psn = kFirst + 2,
        .atomic = {.virtual_address = address(8), .rkey = RKey{region.key}, .swap_or_add = 3},
        .srq = 5});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::xrc_read_response_only);
  EXPECT_EQ(sent[0].payload, "12345678");
  EXPECT_EQ(sent[1].bth.opcode, Opcode::xrc_atomic_acknowledge);
  EXPECT_EQ(text(8, 1), "\3");
  EXPECT_EQ(exchange(read).at(0).payload, "12345678") << "again";
}

TEST_F(ResponderXrc, RefusesToReachMemoryThroughAQueueThatIsNotThere) {
  const std::vector<Request> requests{
      {.opcode = Opcode::xrc_write_only, .payload = "x", .reth = reth(0, 1), .srq = 9},
      {.opcode = Opcode::xrc_read_request, .reth = reth(0, 1), .srq = 9},
      {.opcode = Opcode::xrc_fetch_add, .atomic = {.virtual_address = address(0)}, .srq = 9}};
  for (Request request : requests) {
    make(this);
    request.psn = kFirst;
    EXPECT_EQ(exchange(request).at(0).aeth.syndrome, wire::Syndrome::nak(NakCode::invalid_request));
  }
}

}  // namespace
}  // namespace weft::hca::test

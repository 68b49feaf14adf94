// SPDX-License-Identifier: Apache-2.0
// Receiver credits of an unreliable connection between Weft peers.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "connected_fixture.h"
#include "hca/credit_pacer.h"

namespace weft::hca::test {
namespace {

using wire::Opcode;

class ConnectedCredit : public ConnectedQp {
 protected:
  ConnectedCredit() { begin(true); }
  void begin(bool extensions) {
    ConnectedConfig uc = config(QpType::kUc);
    uc.extensions = extensions;
    uc.max_sends = uc.max_receives = kDepth;
    uc.receive_budget = kBudget;
    start(uc);
    to_rts();
  }
  void post_sends(std::size_t count, std::size_t length = 1000) {
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(post_send(i, length), std::errc{});
  }
  void credit(const Credit& credit) {
    std::array<std::byte, Credit::kSize> payload{};
    credit.write(payload);
    arrive({.opcode = Opcode::weft_uc_credit, .psn = Psn{0}, .payload = text_of(payload)});
  }
  void ask(Psn psn, bool asks = true) {
    arrive({.opcode = Opcode::uc_send_only, .psn = psn, .payload = "x", .ack_request = asks});
  }
  static Credit credit_in(const Sent& sent) {
    EXPECT_EQ(sent.bth.opcode, Opcode::weft_uc_credit);
    return *Credit::parse(bytes_of(sent.payload));
  }
  static constexpr std::uint32_t kDepth = 256;
  static constexpr std::uint32_t kBudget = 200'000;
};

TEST_F(ConnectedCredit, SendsTheInitialWindowAndAsks) {
  post_sends(100);
  const auto first = flush();
  ASSERT_EQ(first.size(), CreditPacer::kInitialBytes / (1016 + kPacketCost));
  EXPECT_TRUE(first.front().bth.ack_request);
  EXPECT_TRUE(first.back().bth.ack_request);
  EXPECT_FALSE(first[1].bth.ack_request);
  EXPECT_EQ(send_cq.all.size(), first.size()) << "what is sent is complete";
  EXPECT_FALSE(qp->has_work());
  EXPECT_EQ(count(ConnectedCounter::kTxWindowStalls), 1u);
  EXPECT_EQ(qp->deadline(), now + CreditPacer::kPatience);

  credit({.seen = first.back().bth.psn, .receives = 1000, .bytes = kBudget});
  EXPECT_TRUE(qp->has_work());
  EXPECT_EQ(flush().size(), 100 - first.size());
  EXPECT_EQ(count(ConnectedCounter::kRxCredits), 1u);
  EXPECT_FALSE(qp->deadline());
}

TEST_F(ConnectedCredit, GoesOnByItselfWhenNoneComes) {
  post_sends(100, 0);
  EXPECT_EQ(flush().size(), CreditPacer::kInitialBytes / (16 + kPacketCost));
  now = *qp->deadline() - 1ns;
  EXPECT_TRUE(flush().empty());
  now += 1ns;
  EXPECT_FALSE(flush().empty());
}

TEST_F(ConnectedCredit, UsesNoMoreReceivesThanThePeerHas) {
  post_sends(20, 10);
  const auto first = flush();
  ASSERT_EQ(first.size(), 20u);
  credit({.seen = first.back().bth.psn, .receives = 3, .bytes = kBudget});
  post_sends(20, 10);
  EXPECT_EQ(flush().size(), 3u);
  const std::array pieces{sge(1000, 5000)};
  const SendRequest write{.opcode = SendOpcode::kRdmaWrite, .signaled = true, .pieces = pieces};
  // One that waits holds up what is behind it, for a connection is in order.
  ASSERT_EQ(qp->post_send(write), std::errc{});
  EXPECT_TRUE(flush().empty());
  credit({.seen = first.back().bth.psn + 3, .receives = 17, .bytes = kBudget});
  EXPECT_EQ(flush().size(), 17u + 5u) << "a write uses none";
}

TEST_F(ConnectedCredit, SendsTheSameNumbersAgainThatTheWireDidNotTake) {
  post_sends(5);
  ASSERT_TRUE(qp->next_burst(burst, now));
  const Psn first = wire::Bth::parse(burst.packets().front().header)->psn;
  qp->sent(burst, {.outcome = SendOutcome::kWouldBlock}, now);
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 5u);
  EXPECT_EQ(sent.front().bth.psn, first);
  EXPECT_TRUE(sent.front().bth.ack_request);
  EXPECT_FALSE(sent.back().bth.ack_request);
}

TEST_F(ConnectedCredit, IsAnsweredOnceHoweverOftenItIsAsked) {
  ASSERT_EQ(post_receive(1), std::errc{});
  ASSERT_EQ(post_receive(2), std::errc{});
  ask(Psn{200}, false);
  EXPECT_TRUE(flush().empty());
  for (std::uint32_t i = 1; i < 50; ++i)
    ask(Psn{200 + i});
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 1u);
  const Credit credit = credit_in(sent[0]);
  EXPECT_EQ(credit.seen, Psn{249});
  EXPECT_EQ(credit.receives, 0u) << "both are used up";
  EXPECT_EQ(credit.bytes, kBudget);
  EXPECT_EQ(credit.lost, 0u);
  EXPECT_EQ(count(ConnectedCounter::kTxCredits), 1u);

  ASSERT_EQ(post_receive(3), std::errc{});
  const auto more = flush();
  ASSERT_EQ(more.size(), 1u) << "the peer may wait for it";
  EXPECT_EQ(credit_in(more[0]).receives, 1u);
  ASSERT_EQ(post_receive(4), std::errc{});
  EXPECT_TRUE(flush().empty()) << "it knows of one that it has not used";
}

TEST_F(ConnectedCredit, TellsOfWhatWasLost) {
  ask(Psn{200});
  flush();
  ask(Psn{205});
  EXPECT_EQ(credit_in(flush().at(0)).lost, 4u);
  ask(Psn{203}, false);
  ask(Psn{206});
  const Credit credit = credit_in(flush().at(0));
  EXPECT_EQ(credit.lost, 3u) << "one was only late";
  EXPECT_EQ(credit.seen, Psn{206});
  EXPECT_EQ(count(ConnectedCounter::kRxLost), 3u);
}

TEST_F(ConnectedCredit, GrantsTheShareOfASocketThatItHasNow) {
  qp->set_receive_budget(12'345);
  ask(Psn{200});
  EXPECT_EQ(credit_in(flush().at(0)).bytes, 12'345u);
  qp->set_receive_budget(1u << 31);
  ask(Psn{201});
  EXPECT_EQ(credit_in(flush().at(0)).bytes, kMostGranted);
}

TEST_F(ConnectedCredit, IsNeitherGivenNorAwaitedAmongStandardPeers) {
  begin(false);
  post_sends(200);
  const auto sent = flush();
  EXPECT_EQ(sent.size(), 200u);
  for (const Sent& packet : sent)
    EXPECT_FALSE(packet.bth.ack_request);
  ask(Psn{200});
  EXPECT_TRUE(flush().empty());
  credit({.seen = sent.back().bth.psn, .receives = 0, .bytes = 0});
  EXPECT_EQ(count(ConnectedCounter::kRxBadResponses), 1u);
  post_sends(1);
  EXPECT_EQ(flush().size(), 1u);
}

TEST_F(ConnectedCredit, IsDroppedWhereItMakesNoSense) {
  arrive({.opcode = Opcode::weft_uc_credit, .psn = Psn{0}, .payload = "too short"});
  EXPECT_EQ(count(ConnectedCounter::kRxBadResponses), 1u);
  start(config(QpType::kRc));
  to_rts();
  credit({});
  EXPECT_EQ(count(ConnectedCounter::kRxBadOpcode), 1u);
}

// Whatever a peer asks for and grants, at most a window that is sane is in flight, the queue goes
// on, and nobody is answered more than once for a run.
TEST_F(ConnectedCredit, SurvivesAPeerThatGrantsAndAsksNonsense) {
  Random random(1);
  std::size_t sent_in_all = 0;
  for (int round = 0; round < 3000; ++round) {
    if (qp->send_room() > 0)
      post_sends(1 + random.below(std::min<std::size_t>(qp->send_room(), 9)));
    std::array<std::byte, Credit::kSize> payload{};
    for (std::byte& b : payload)
      b = static_cast<std::byte>(random.chance(0.5) ? 0 : random.below(256));
    if (random.chance(0.8)) payload[0] = std::byte{};
    arrive({.opcode = Opcode::weft_uc_credit,
            .psn = Psn{static_cast<std::uint32_t>(random.next())},
            .payload = text_of(payload)});
    for (std::size_t asked = random.below(4); asked > 0; --asked)
      ask(Psn{static_cast<std::uint32_t>(random.next())});
    const auto out = flush();
    EXPECT_LE(std::count_if(out.begin(), out.end(),
                            [](const Sent& s) { return s.bth.opcode == Opcode::weft_uc_credit; }),
              1);
    sent_in_all += out.size();
    now += Duration(static_cast<std::int64_t>(random.below(10'000'000)));
    if (const auto at = qp->deadline(); at && random.chance(0.5)) now = std::max(now, *at);
  }
  EXPECT_GT(sent_in_all, 3000u);
  EXPECT_EQ(qp->state(), QpState::kRts);
  for (int i = 0; i < 100 && qp->queued_packets() > 0; ++i) {
    if (const auto at = qp->deadline()) now = std::max(now, *at);
    flush();
  }
  EXPECT_EQ(qp->queued_packets(), 0u) << "stuck";
}

}  // namespace
}  // namespace weft::hca::test

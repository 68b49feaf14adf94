// SPDX-License-Identifier: Apache-2.0
// A connection whose peer may be gone: questions to it, silence, reports of the network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connected_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;
using Reason = Undelivered::Reason;

constexpr Duration kPatience = 80s;
constexpr Duration kInterval = 10s;

class PeerWatching : public ConnectedQp {
 protected:
  static ConnectedConfig watching(QpType type = QpType::kRc) {
    ConnectedConfig with = config(type);
    with.extensions = true;
    with.keep_alive = kPatience;
    return with;
  }
  // Connected, and the peer has been heard; nothing is outstanding. `timeout`: of the local ACK.
  void connect(const ConnectedConfig& with, std::uint8_t timeout = 20) {
    start(with);
    to_rtr();
    QpAttributes a = attributes();
    a.ack_timeout = timeout;
    ASSERT_TRUE(move(QpState::kRts, rts_mask(), a));
    hear();
  }
  // An answer to something that was asked before: it tells nothing, but whose it is.
  void hear() {
    arrive({.opcode = wire::Opcode::rc_acknowledge, .psn = Psn{99}, .extended = ack()});
    flush();
  }
  bool report(Reason reason, Psn psn, Qpn to = kPeerQpn, Gid destination = kPeerGid,
              wire::Opcode opcode = wire::Opcode::rc_send_only) {
    const auto quote = encode({.opcode = opcode, .psn = psn, .destination = to});
    return qp->undelivered({.reason = reason, .destination = destination, .transport = quote}, now);
  }
  // To the next deadline, and what is sent then.
  std::vector<Sent> wait() {
    EXPECT_TRUE(qp->deadline());
    now = std::max(now, qp->deadline().value_or(now));
    return flush();
  }
  std::vector<Psn> numbers(const std::vector<Sent>& sent) {
    std::vector<Psn> all;
    for (const Sent& each : sent)
      all.push_back(each.bth.psn);
    return all;
  }
};

TEST_F(PeerWatching, AsksASilentPeerWithADuplicateOfThePacketBefore) {
  connect(watching());
  const Time heard = now;
  const auto sent = wait();
  EXPECT_EQ(now, heard + kInterval);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, wire::Opcode::rc_send_only);
  EXPECT_EQ(sent[0].bth.psn, Psn{99});
  EXPECT_EQ(sent[0].bth.dest_qp, kPeerQpn);
  EXPECT_TRUE(sent[0].bth.ack_request);
  EXPECT_EQ(sent[0].payload, "");
  EXPECT_EQ(count(ConnectedCounter::kTxKeepAlives), 1u);
}

TEST_F(PeerWatching, AsksTheTargetOfAnXrcInitiator) {
  start(watching(QpType::kXrcInitiator));
  to_rts();
  arrive({.opcode = wire::Opcode::xrc_acknowledge, .psn = Psn{99}, .extended = ack()});
  const auto sent = wait();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, wire::Opcode::xrc_send_only);
  EXPECT_EQ(sent[0].payload, "");
}

TEST_F(PeerWatching, LeavesAPeerThatAnswersInPeace) {
  connect(watching());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(wait().size(), 1u);
    hear();
  }
  EXPECT_EQ(qp->state(), QpState::kRts);
  EXPECT_EQ(qp->take_events(), 0u);
}

TEST_F(PeerWatching, GivesUpAnIdlePeerThatStaysSilent) {
  connect(watching());
  ASSERT_EQ(post_receive(7), std::errc{});
  const Time heard = now;
  while (qp->state() == QpState::kRts)
    wait();
  EXPECT_EQ(now, heard + kPatience);
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(qp->take_events(), std::uint32_t{kEventFatal});
  EXPECT_THAT(statuses(receive_cq), ElementsAre(CompletionStatus::kFlushed));
  ASSERT_EQ(post_send(8), std::errc{});
  EXPECT_THAT(statuses(send_cq), ElementsAre(CompletionStatus::kFlushed));
  EXPECT_FALSE(qp->deadline());
}

TEST_F(PeerWatching, AsksAgainBeforeItGivesUpWhenItHasSleptItself) {
  connect(watching());
  now += 1h;
  const Time woken = now;
  for (unsigned i = 0; i < PeerWatch::kLeastQuestions; ++i) {
    EXPECT_EQ(flush().size(), 1u) << i;
    EXPECT_EQ(qp->state(), QpState::kRts) << i;
    now += kInterval;
  }
  hear();
  EXPECT_EQ(qp->state(), QpState::kRts);
  EXPECT_GT(*qp->deadline(), woken);
}

TEST_F(PeerWatching, NeverAsksAPeerThatItHasNotHeard) {
  start(watching());
  to_rts();
  EXPECT_FALSE(qp->deadline());
}

TEST_F(PeerWatching, AsksNobodyWhoseTimeoutIsForEver) {
  connect(watching(), 0);
  EXPECT_FALSE(qp->deadline());
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  for (int i = 0; i < 10; ++i) {
    report(Reason::kRefused, Psn{100});
    wait();
  }
  EXPECT_EQ(qp->state(), QpState::kRts);
}

TEST_F(PeerWatching, AsksNoStandardPeerAndNobodyWithoutKeepAlive) {
  ConnectedConfig standard = watching();
  standard.extensions = false;
  connect(standard);
  EXPECT_FALSE(qp->deadline());
  ConnectedConfig off = watching();
  off.keep_alive = {};
  connect(off);
  EXPECT_FALSE(qp->deadline());
}

TEST_F(PeerWatching, FailsWhatIsOutstandingOnceEveryQuestionIsRefused) {
  connect(config());
  ASSERT_EQ(post_send(1), std::errc{});
  ASSERT_EQ(post_send(2), std::errc{});
  flush();
  const Time sent = now;
  for (unsigned i = 1; i < PeerWatch::kRefusals; ++i) {
    EXPECT_TRUE(report(Reason::kRefused, Psn{100}));
    EXPECT_THAT(numbers(wait()), ElementsAre(Psn{100}, Psn{101})) << i;
    EXPECT_THAT(statuses(send_cq), ElementsAre()) << i;
  }
  EXPECT_TRUE(report(Reason::kRefused, Psn{101}));
  wait();
  EXPECT_EQ(now, sent + 3 * PeerWatch::kAfterRefusal);
  EXPECT_THAT(statuses(send_cq),
              ElementsAre(CompletionStatus::kTransportRetryExceeded, CompletionStatus::kFlushed));
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(qp->take_events(), 0u) << "completions tell";
  EXPECT_EQ(count(ConnectedCounter::kRxRefusals), PeerWatch::kRefusals);
}

TEST_F(PeerWatching, TakesManyReportsAboutOneTransmissionForOne) {
  connect(config());
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  for (int i = 0; i < 100; ++i)
    report(Reason::kRefused, Psn{100});
  flush();
  EXPECT_EQ(qp->state(), QpState::kRts);
}

TEST_F(PeerWatching, ForgetsAReportWhenThePeerAnswers) {
  connect(config());
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  for (int i = 0; i < 20; ++i) {
    report(Reason::kRefused, Psn{100});
    wait();
    hear();  // though not for this packet
  }
  EXPECT_EQ(qp->state(), QpState::kRts);
  arrive({.opcode = wire::Opcode::rc_acknowledge, .psn = Psn{100}, .extended = ack()});
  EXPECT_THAT(statuses(send_cq), ElementsAre(CompletionStatus::kSuccess));
  EXPECT_FALSE(qp->deadline());
}

TEST_F(PeerWatching, IsNotHurriedByOneReportAndThenSilence) {
  connect(config());
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  const Time sent = now;
  report(Reason::kRefused, Psn{100});
  while (qp->state() == QpState::kRts)
    wait();
  // Three local ACK timeouts of 4.3 s: the standard's own end.
  EXPECT_GE(now - sent, 12s);
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 3u);
}

TEST_F(PeerWatching, StopsAskingAfterOneReportThatIsNotRepeated) {
  connect(watching());
  wait();
  const Time asked = now;
  report(Reason::kRefused, Psn{99});
  while (now - asked < 30s)
    wait();
  EXPECT_LE(count(ConnectedCounter::kTxKeepAlives), PeerWatch::kMostRefusedQuestions + 3);
}

TEST_F(PeerWatching, BelievesNoReportAboutAPacketThatIsNotOutstanding) {
  connect(config());
  EXPECT_FALSE(report(Reason::kRefused, Psn{99})) << "nothing was asked";
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  EXPECT_FALSE(report(Reason::kRefused, Psn{99}));
  EXPECT_FALSE(report(Reason::kRefused, Psn{101}));
  EXPECT_EQ(count(ConnectedCounter::kRxStrayReports), 3u);
  arrive({.opcode = wire::Opcode::rc_acknowledge, .psn = Psn{100}, .extended = ack()});
  ASSERT_EQ(post_send(2), std::errc{});
  flush();
  EXPECT_FALSE(report(Reason::kRefused, Psn{100})) << "that one has arrived";
  EXPECT_FALSE(report(Reason::kRefused, Psn{101}, Qpn{kPeerQpn.value() + 1}));
  EXPECT_FALSE(report(Reason::kRefused, Psn{101}, kPeerQpn, kOtherGid));
  const std::array<std::byte, wire::Bth::kSize - 1> cut{};
  EXPECT_FALSE(qp->undelivered({Reason::kRefused, kPeerGid, cut}, now));
  EXPECT_GT(*qp->deadline(), now + 4s);
  EXPECT_EQ(count(ConnectedCounter::kRxRefusals), 0u);
}

TEST_F(PeerWatching, GivesUpAnIdlePeerThatRefusesEveryQuestion) {
  connect(watching());
  wait();
  const Time asked = now;
  for (unsigned i = 1; i < PeerWatch::kRefusals; ++i) {
    EXPECT_TRUE(report(Reason::kRefused, Psn{99}));
    EXPECT_EQ(wait().size(), 1u);
  }
  EXPECT_TRUE(report(Reason::kRefused, Psn{99}));
  wait();
  EXPECT_EQ(now, asked + 3 * PeerWatch::kAfterRefusal);
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(qp->take_events(), std::uint32_t{kEventFatal});
}

TEST_F(PeerWatching, AsksAgainWhenAReportSeemsToBeLost) {
  connect(watching());
  wait();
  report(Reason::kRefused, Psn{99});
  wait();
  const Time asked = now;
  EXPECT_EQ(wait().size(), 1u);
  EXPECT_EQ(now, asked + PeerWatch::kUnrefused);
}

TEST_F(PeerWatching, AsksAtOnceWhenAnAnswerOfItsOwnIsRefused) {
  connect(watching());
  EXPECT_TRUE(report(Reason::kRefused, Psn{199}, kPeerQpn, kPeerGid, wire::Opcode::rc_acknowledge));
  EXPECT_EQ(flush().size(), 1u);
  EXPECT_TRUE(report(Reason::kRefused, Psn{199}, kPeerQpn, kPeerGid, wire::Opcode::rc_acknowledge));
  EXPECT_EQ(flush().size(), 0u) << "one question is enough";
}

TEST_F(PeerWatching, IsPatientForAQuarterWithAHostThatCannotBeReached) {
  connect(watching());
  const Time heard = now;
  while (qp->state() == QpState::kRts) {
    wait();
    report(Reason::kUnreachable, Psn{99});
  }
  EXPECT_EQ(now - heard, (PeerWatch::kLeastQuestions + 1) * kInterval);
  EXPECT_GT(count(ConnectedCounter::kRxUnreachables), 0u);
}

TEST_F(PeerWatching, TriesTheOtherPathBeforeItGivesUp) {
  connect(watching());
  ASSERT_TRUE(move(QpState::kRts, kAttrAlternatePath | kAttrPathMigration, [] {
    QpAttributes a = attributes();
    a.alternate_ack_timeout = 20;
    a.migration = PathMigration::kArmed;
    return a;
  }()));
  while ((qp->take_events() & kEventPathMigrated) == 0) {
    ASSERT_EQ(qp->state(), QpState::kRts);
    wait();
  }
  EXPECT_EQ(qp->connection().path.dgid, kOtherGid);
  EXPECT_EQ(qp->state(), QpState::kRts);
}

TEST_F(PeerWatching, BeginsAnewAfterAReset) {
  connect(watching());
  wait();
  ASSERT_TRUE(move(QpState::kReset));
  to_rts();
  EXPECT_FALSE(qp->deadline());
}

}  // namespace
}  // namespace weft::hca::test

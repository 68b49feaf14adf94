// SPDX-License-Identifier: Apache-2.0
// The queue pair around requester and responder: attributes, states, checks of addresses, events,
// path migration.
#include "hca/connected_queue_pair.h"

#include "connected_fixture.h"

namespace weft::hca::test {
namespace {

using wire::Opcode;

TEST_F(ConnectedQp, TakesItsAttributesAndGivesThemBack) {
  to_rts();
  const QpAttributes a = qp->query();
  EXPECT_EQ(a.state, QpState::kRts);
  EXPECT_EQ(a.sq_psn, Psn{100});
  EXPECT_EQ(a.rq_psn, Psn{200});
  EXPECT_EQ(a.peer, kPeerQpn);
  EXPECT_EQ(a.path.dgid, kPeerGid);
  EXPECT_EQ(a.path_mtu, 1024u);
  EXPECT_EQ(a.access, attributes().access);
  EXPECT_EQ(a.max_reads_out, 4);
  EXPECT_EQ(a.max_reads_in, 4);
  EXPECT_EQ(a.rnr_timer, 12);
  EXPECT_EQ(a.ack_timeout, 14);
  EXPECT_EQ(a.retry_count, 2);
  EXPECT_EQ(a.rnr_retry, 3);
  EXPECT_EQ(a.migration, PathMigration::kMigrated);
}

TEST_F(ConnectedQp, RefusesValuesThatTheAdapterDoesNotHave) {
  const auto refused = [this](QpState to, std::uint32_t mask, auto change) {
    QpAttributes a = attributes();
    change(a);
    const auto result = move(to, mask, a);
    return !result && result.error().code == std::errc::invalid_argument;
  };
  EXPECT_TRUE(refused(QpState::kInit, kInitMask, [](auto& a) { a.port = 2; }));
  EXPECT_TRUE(refused(QpState::kInit, kInitMask, [](auto& a) { a.pkey_index = 1; }));
  EXPECT_TRUE(refused(QpState::kInit, kInitMask, [](auto& a) { a.access = 1u << 20; }));
  EXPECT_EQ(qp->state(), QpState::kReset);
  to_init();
  const std::uint32_t rtr = rtr_mask();
  EXPECT_TRUE(refused(QpState::kRtr, rtr, [](auto& a) { a.path_mtu = 1000; }));
  EXPECT_TRUE(refused(QpState::kRtr, rtr, [](auto& a) { a.path_mtu = 4096; })) << "port: 2048";
  EXPECT_TRUE(refused(QpState::kRtr, rtr, [](auto& a) { a.path.dgid = Gid{}; }));
  EXPECT_TRUE(refused(QpState::kRtr, rtr, [](auto& a) { a.path.dgid = kGroup; }));
  EXPECT_TRUE(refused(QpState::kRtr, rtr, [](auto& a) { a.rnr_timer = 32; }));
  EXPECT_TRUE(refused(QpState::kRtr, rtr, [](auto& a) { a.max_reads_in = 129; }));
  EXPECT_TRUE(refused(QpState::kRtr, rtr & ~std::uint32_t{kAttrPeer}, [](auto&) {}));
  EXPECT_EQ(qp->state(), QpState::kInit);
  ASSERT_TRUE(move(QpState::kRtr, rtr));
  const std::uint32_t rts = rts_mask();
  EXPECT_TRUE(refused(QpState::kRts, rts, [](auto& a) { a.ack_timeout = 32; }));
  EXPECT_TRUE(refused(QpState::kRts, rts, [](auto& a) { a.retry_count = 8; }));
  EXPECT_TRUE(refused(QpState::kRts, rts, [](auto& a) { a.rnr_retry = 8; }));
  EXPECT_TRUE(refused(QpState::kRts, rts, [](auto& a) { a.max_reads_out = 129; }));
  EXPECT_TRUE(refused(QpState::kRts, rts | kAttrCurrentState,
                      [](auto& a) { a.current_state = QpState::kSqd; }));
  EXPECT_TRUE(move(QpState::kRts, rts));
}

TEST_F(ConnectedQp, TakesPostsInTheStatesThatAllowThem) {
  EXPECT_EQ(post_receive(1), std::errc::invalid_argument);
  to_init();
  EXPECT_EQ(post_receive(1), std::errc{});
  EXPECT_EQ(post_send(1), std::errc::invalid_argument);
  ASSERT_TRUE(move(QpState::kRtr, rtr_mask()));
  EXPECT_EQ(post_send(1), std::errc::invalid_argument);
  ASSERT_TRUE(move(QpState::kRts, rts_mask()));
  EXPECT_EQ(post_send(1), std::errc{});
  EXPECT_EQ(qp->send_room(), 15u);
  const std::vector<Sge> three(3, sge(0, 1));
  EXPECT_EQ(qp->post_receive({.wr_id = 1, .pieces = three}), std::errc::invalid_argument);
  for (unsigned i = 1; i < 16; ++i)
    EXPECT_EQ(post_receive(i), std::errc{});
  EXPECT_EQ(post_receive(16), std::errc::not_enough_memory);
}

TEST_F(ConnectedQp, TakesNoReceivesOfItsOwnWhenItSharesAQueue) {
  SharedReceiveQueue shared(4, 1);
  start(config(), &shared);
  to_rts();
  EXPECT_EQ(post_receive(1), std::errc::invalid_argument);
}

TEST_F(ConnectedQp, SendsRequestsAndAcknowledgesThePeers) {
  to_rts();
  ASSERT_EQ(post_receive(1), std::errc{});
  ASSERT_EQ(post_send(1), std::errc{});
  ASSERT_EQ(post_send(2), std::errc{});
  arrive({.payload = "hello"});
  qp->end_run(now);
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_send_only);
  EXPECT_EQ(sent[0].bth.psn, Psn{100});
  EXPECT_EQ(sent[2].bth.opcode, Opcode::rc_acknowledge);
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{101}, .extended = ack()});
  EXPECT_EQ(send_cq.all.size(), 2u);
  EXPECT_EQ(receive_cq.all.size(), 1u);
  EXPECT_FALSE(qp->has_work());
}

TEST_F(ConnectedQp, LetsNeitherRequestsNorAnswersStarve) {
  to_rts();
  arrive(read_request(60'000));
  ASSERT_EQ(post_send(1), std::errc{});
  std::string turns;
  while (qp->next_burst(burst, now)) {
    RecordingSink sink;
    qp->sent(burst, sink.send(burst), now);
    const bool answer = Sent::parse(sink.datagrams().at(0)).bth.opcode != Opcode::rc_send_only;
    turns += answer ? 'a' : 'r';
  }
  EXPECT_EQ(turns.substr(0, 3), "ara");
}

TEST_F(ConnectedQp, CountsWhyItDropsAPacket) {
  to_rts();
  const auto dropped = [this](ConnectedCounter why, const Packet& packet) {
    const std::uint64_t before = count(why);
    const std::uint64_t accepted = count(ConnectedCounter::kRxPackets);
    arrive(packet);
    return count(why) == before + 1 && count(ConnectedCounter::kRxPackets) == accepted;
  };
  using enum ConnectedCounter;
  EXPECT_TRUE(dropped(kRxBadVersion, {.version = 1}));
  EXPECT_TRUE(dropped(kRxBadOpcode, {.opcode = Opcode::uc_send_only}));
  EXPECT_TRUE(dropped(kRxBadOpcode, {.opcode = Opcode{0x18}}));
  EXPECT_TRUE(dropped(kRxBadOpcode, {.opcode = Opcode::xrc_send_only, .extended = "...."}));
  EXPECT_TRUE(dropped(kRxBadDestination, {.destination = Qpn{5}}));
  EXPECT_TRUE(dropped(kRxBadDestination, {.multicast = true}));
  EXPECT_TRUE(dropped(kRxBadPKey, {.pkey = PKey{0x8001}}));
  EXPECT_TRUE(dropped(kRxBadSource, {.source = kOtherGid}));
  EXPECT_TRUE(dropped(kRxMalformed, {.opcode = Opcode::rc_read_request, .extended = "short"}));
  EXPECT_TRUE(dropped(kRxMalformed,
                      {.opcode = Opcode::rc_acknowledge, .extended = ack(), .payload = "more"}));
  const Packet odd{.payload = "1234"};
  std::vector<std::byte> bytes = encode(odd);
  bytes.pop_back();
  arrive(bytes, odd);
  bytes.assign(11, std::byte{});
  arrive(bytes, odd);
  bytes = encode({});
  bytes[1] |= std::byte{0x30};  // three pad bytes of no payload
  arrive(bytes, odd);
  EXPECT_EQ(count(kRxMalformed), 5u);
  EXPECT_TRUE(receive_cq.all.empty());
  EXPECT_EQ(qp->take_events(), 0u);
}

TEST_F(ConnectedQp, DropsWhatComesInAStateThatDoesNotListen) {
  to_init();
  arrive(Packet{});
  EXPECT_EQ(count(ConnectedCounter::kRxWrongState), 1u);
  ASSERT_TRUE(move(QpState::kRtr, rtr_mask()));
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{100}, .extended = ack()});
  EXPECT_EQ(count(ConnectedCounter::kRxWrongState), 2u) << "nothing was sent yet";
  ASSERT_TRUE(move(QpState::kErr));
  arrive(Packet{});
  EXPECT_EQ(count(ConnectedCounter::kRxWrongState), 3u);
}

TEST_F(ConnectedQp, TellsOnceThatTheFirstPacketHasCome) {
  to_rtr();
  ASSERT_EQ(post_receive(1), std::errc{});
  ASSERT_EQ(post_receive(2), std::errc{});
  arrive({.payload = "1"});
  EXPECT_EQ(qp->take_events(), kEventCommunicationEstablished);
  arrive({.psn = Psn{201}, .payload = "2"});
  EXPECT_EQ(qp->take_events(), 0u);
  EXPECT_EQ(receive_cq.all.size(), 2u);
  qp->end_run(now);
  EXPECT_EQ(flush().size(), 1u) << "acknowledged though it cannot send yet";
}

TEST_F(ConnectedQp, GoesIntoErrorOnceTheNakIsOut) {
  to_rts();
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.opcode = Opcode::rc_send_last, .payload = "x"});
  EXPECT_EQ(qp->state(), QpState::kRts);
  EXPECT_EQ(qp->take_events(), kEventInvalidRequest);
  ASSERT_EQ(flush().size(), 1u);
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(statuses(receive_cq), std::vector{CompletionStatus::kFlushed});
}

TEST_F(ConnectedQp, GoesIntoErrorWhenARequestFails) {
  to_rts();
  ASSERT_EQ(post_receive(9), std::errc{});
  ASSERT_EQ(post_send(1), std::errc{});
  ASSERT_EQ(post_send(2), std::errc{});
  flush();
  arrive({.opcode = Opcode::rc_acknowledge,
          .psn = Psn{100},
          .extended = ack(wire::Syndrome::nak(wire::NakCode::remote_access_error))});
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(statuses(send_cq),
            (std::vector{CompletionStatus::kRemoteAccessError, CompletionStatus::kFlushed}));
  EXPECT_EQ(statuses(receive_cq), std::vector{CompletionStatus::kFlushed});
  EXPECT_EQ(post_send(3), std::errc{});
  EXPECT_EQ(post_receive(4), std::errc{});
  EXPECT_EQ(send_cq.all.back().status, CompletionStatus::kFlushed);
  EXPECT_EQ(receive_cq.all.back().wr_id, 4u);
  EXPECT_FALSE(qp->has_work());
  EXPECT_FALSE(qp->deadline());
}

TEST_F(ConnectedQp, TellsThatNothingMoreComesFromASharedQueue) {
  SharedReceiveQueue shared(4, 1);
  start(config(), &shared);
  to_rts();
  ASSERT_TRUE(move(QpState::kErr));
  EXPECT_EQ(qp->take_events(), kEventLastWqe);
}

TEST_F(ConnectedQp, TellsThatItsSendQueueHasDrained) {
  to_rts();
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  QpAttributes a = attributes();
  a.sqd_notify = true;
  ASSERT_TRUE(move(QpState::kSqd, kAttrSqdNotify, a));
  ASSERT_EQ(post_send(2), std::errc{});
  EXPECT_EQ(qp->take_events(), 0u);
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{100}, .extended = ack()});
  EXPECT_EQ(qp->take_events(), kEventSqDrained);
  EXPECT_TRUE(flush().empty()) << "the second request waits";
  ASSERT_TRUE(move(QpState::kRts));
  EXPECT_EQ(flush().at(0).bth.psn, Psn{101});
}

TEST_F(ConnectedQp, StopsOnlyTheSendQueueOfAnUnreliableConnection) {
  start(config(QpType::kUc));
  to_rts();
  const std::array pieces{Sge{.address = 0, .length = 10, .lkey = LKey{1}}};
  ASSERT_EQ(qp->post_send({.wr_id = 1, .pieces = pieces}), std::errc{});
  ASSERT_EQ(post_send(2), std::errc{});
  flush();
  EXPECT_EQ(qp->state(), QpState::kSqe);
  EXPECT_EQ(statuses(send_cq),
            (std::vector{CompletionStatus::kLocalProtectionError, CompletionStatus::kFlushed}));
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.opcode = Opcode::uc_send_only, .payload = "x"});
  EXPECT_EQ(statuses(receive_cq), std::vector{CompletionStatus::kSuccess});
  ASSERT_TRUE(move(QpState::kRts));
  ASSERT_EQ(post_send(3), std::errc{});
  EXPECT_EQ(flush().size(), 1u);
}

TEST_F(ConnectedQp, ForgetsEverythingWhenItIsReset) {
  to_rts();
  ASSERT_EQ(post_receive(1), std::errc{});
  ASSERT_EQ(post_send(1), std::errc{});
  ASSERT_TRUE(qp->next_burst(burst, now));
  ASSERT_TRUE(move(QpState::kReset));
  qp->sent(burst, {}, now);
  EXPECT_TRUE(send_cq.all.empty());
  EXPECT_TRUE(receive_cq.all.empty());
  EXPECT_FALSE(qp->has_work());
  EXPECT_EQ(qp->query().peer, Qpn{});
  to_rts();
  ASSERT_EQ(post_receive(2), std::errc{});
  arrive({.payload = "x"});
  EXPECT_EQ(receive_cq.all.at(0).wr_id, 2u);
  ASSERT_EQ(post_send(2), std::errc{});
  EXPECT_GE(flush().size(), 1u);
}

TEST_F(ConnectedQp, PassesCongestionOnInBothDirections) {
  to_rts();
  ASSERT_EQ(post_receive(1), std::errc{});
  arrive({.payload = "x", .ack_request = false, .traffic_class = 0x6B});
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::cnp);
  arrive({.opcode = Opcode::cnp, .psn = Psn{0}, .payload = std::string(16, '\0')});
  EXPECT_EQ(count(ConnectedCounter::kRxCnps), 1u);

  now += 1ms;
  arrive({.psn = Psn{201}, .payload = "x", .ack_request = false, .traffic_class = 0x6A});
  EXPECT_NE(flush().at(0).bth.opcode, Opcode::cnp) << "capable of ECN is not congested";
  arrive({.opcode = Opcode::cnp,
          .psn = Psn{0},
          .payload = std::string(16, '\0'),
          .traffic_class = 0x6B});
  EXPECT_FALSE(qp->has_work()) << "no notification of a notification";
}

TEST_F(ConnectedQp, SendsAsCapableOfEcnWhatAPeerWithExtensionsWillTellTheMarksOf) {
  ConnectedConfig marking = config();
  marking.ecn = true;
  const auto sent_with = [this](std::uint8_t asked) {
    to_init();
    auto there = attributes();
    there.path.traffic_class = asked;
    EXPECT_TRUE(move(QpState::kRtr, rtr_mask(), there));
    EXPECT_TRUE(move(QpState::kRts, rts_mask()));
    EXPECT_EQ(post_send(1), std::errc{});
    paths.clear();
    flush();
    return paths.at(0).traffic_class;
  };
  start(marking);
  EXPECT_EQ(sent_with(0x68), 0x68) << "nobody knows that it has";
  marking.extensions = true;
  start(marking);
  EXPECT_EQ(sent_with(0x68), 0x6A);
  start(marking);
  EXPECT_EQ(sent_with(0x69), 0x69) << "ECT(1), as the program wants it";
  marking.type = QpType::kUc;
  start(marking);
  EXPECT_EQ(sent_with(0x68), 0x68) << "UC gives way to nothing";
}

TEST_F(ConnectedQp, HasNoMulticast) {
  EXPECT_FALSE(qp->attach(kGroup));
  EXPECT_FALSE(qp->detach(kGroup));
}

class ConnectedMigration : public ConnectedQp {
 protected:
  void arm() {
    to_rts();
    QpAttributes a = attributes();
    a.migration = PathMigration::kRearm;
    const auto armed = qp->modify(a, kAttrAlternatePath | kAttrPathMigration);
    ASSERT_TRUE(armed) << armed.error().message;
    for (unsigned i = 0; i < 8; ++i)
      ASSERT_EQ(post_receive(i), std::errc{});
    arrive({.psn = Psn{200}, .payload = "x", .migrated = false});
    ASSERT_EQ(qp->query().migration, PathMigration::kArmed);
    qp->end_run(now);
    for (const Sent& sent : flush())
      EXPECT_FALSE(sent.bth.migrated);
    paths.clear();
  }
};

TEST_F(ConnectedMigration, IsArmedWhenThePeerIsReadyToo) {
  to_rts();
  QpAttributes a = attributes();
  a.migration = PathMigration::kRearm;
  EXPECT_FALSE(qp->modify(a, kAttrPathMigration)) << "there is no alternate path";
  ASSERT_TRUE(qp->modify(a, kAttrAlternatePath | kAttrPathMigration));
  EXPECT_EQ(qp->query().migration, PathMigration::kRearm);
  ASSERT_EQ(post_receive(1), std::errc{});
  ASSERT_EQ(post_receive(2), std::errc{});
  arrive({.psn = Psn{200}, .payload = "x", .migrated = true});
  EXPECT_EQ(qp->query().migration, PathMigration::kRearm);
  arrive({.psn = Psn{201}, .payload = "x", .migrated = false});
  EXPECT_EQ(qp->query().migration, PathMigration::kArmed);
}

TEST_F(ConnectedMigration, LearnsNothingFromANotificationOfCongestion) {
  to_rts();
  QpAttributes a = attributes();
  a.migration = PathMigration::kRearm;
  ASSERT_TRUE(qp->modify(a, kAttrAlternatePath | kAttrPathMigration));
  const std::string reserved(16, '\0');
  arrive({.opcode = Opcode::cnp, .psn = Psn{0}, .payload = reserved, .migrated = false});
  EXPECT_EQ(qp->query().migration, PathMigration::kRearm);
  EXPECT_EQ(count(ConnectedCounter::kRxCnps), 1u);
}

TEST_F(ConnectedMigration, FollowsAPeerThatHasMigrated) {
  arm();
  arrive({.psn = Psn{201}, .payload = "x", .source = kOtherGid});
  EXPECT_EQ(count(ConnectedCounter::kRxBadSource), 1u) << "not without MigReq";
  arrive({.psn = Psn{201}, .payload = "x", .migrated = true, .source = kOtherGid});
  EXPECT_EQ(qp->take_events(), kEventPathMigrated);
  EXPECT_EQ(qp->query().path.dgid, kOtherGid);
  qp->end_run(now);
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].bth.migrated);
  EXPECT_EQ(paths.at(0).dgid, kOtherGid);
}

TEST_F(ConnectedMigration, MigratesWhenItIsToldTo) {
  arm();
  ASSERT_TRUE(move(QpState::kSqd));
  QpAttributes a = attributes();
  a.migration = PathMigration::kMigrated;
  const auto moved = move(QpState::kRts, kAttrPathMigration, a);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(qp->take_events() & kEventPathMigrated, kEventPathMigrated);
  EXPECT_EQ(qp->query().path.dgid, kOtherGid);
  EXPECT_EQ(qp->query().ack_timeout, 12);
}

TEST_F(ConnectedMigration, MigratesOnceInsteadOfGivingUp) {
  arm();
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  for (unsigned i = 0; i < 50 && qp->state() == QpState::kRts; ++i) {
    ASSERT_TRUE(qp->deadline());
    now = std::max(now, *qp->deadline());
    flush();
  }
  EXPECT_EQ(qp->take_events(), kEventPathMigrated);
  EXPECT_EQ(paths.front().dgid, kPeerGid);
  EXPECT_EQ(paths.back().dgid, kOtherGid);
  EXPECT_EQ(qp->state(), QpState::kErr) << "the alternate path was no better";
  EXPECT_EQ(statuses(send_cq), std::vector{CompletionStatus::kTransportRetryExceeded});
}

}  // namespace
}  // namespace weft::hca::test

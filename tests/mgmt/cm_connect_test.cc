// SPDX-License-Identifier: Apache-2.0
// Connections: how they come about, fail to, and end.
#include "wire/cm_connect.h"

#include <gtest/gtest.h>

#include "cm_fixture.h"
#include "hca/qp_state.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_refuse.h"

namespace weft::mgmt {
namespace {

using namespace test;
using wire::CmMessage;

using Connection = CmTest;

TEST_F(Connection, ComesAboutInThreeMessages) {
  const CmId listener = listen();
  ConnectParameters wishes = connect_parameters(a, b);
  const auto hello = text("hello");
  wishes.private_data = hello;
  wishes.user = 5;
  wishes.path.flow_label = 0xABCDE;
  wishes.path.traffic_class = 0x6A;
  const CmId at_a = connect(wishes);
  run();
  const auto request = b.only<ConnectRequest>();
  const CmId at_b = b.only_id<ConnectRequest>();
  EXPECT_EQ(b.all<ConnectRequest>().front().user, 77u);
  EXPECT_EQ(request.listener, listener);
  EXPECT_EQ(request.service_id, kService);
  EXPECT_EQ(request.path.sgid, b.gid);
  EXPECT_EQ(request.path.dgid, a.gid);
  EXPECT_EQ(request.path.flow_label, 0xABCDEu);
  EXPECT_EQ(request.path.traffic_class, 0x6A);
  EXPECT_EQ(request.path.hop_limit, 64);
  EXPECT_EQ(request.path.sgid_index, 3);
  EXPECT_FALSE(request.alternate_path);
  EXPECT_EQ(request.remote_ca_guid, a.guid());
  EXPECT_EQ(request.remote_qpn, Qpn{0x11});
  EXPECT_EQ(request.type, hca::QpType::kRc);
  EXPECT_EQ(request.path_mtu, 1024u);
  EXPECT_EQ(request.responder_resources, 3) << "what the peer calls its initiator depth";
  EXPECT_EQ(request.initiator_depth, 4);
  EXPECT_TRUE(begins_with(request.private_data, "hello"));
  EXPECT_EQ(request.private_data.bytes().size(), 92u);

  const auto welcome = text("welcome");
  ASSERT_TRUE(accept(at_b, {.qpn = Qpn{0x22},
                            .starting_psn = Psn{0x777},
                            .responder_resources = 9,
                            .initiator_depth = 1,
                            .private_data = welcome}));
  run();
  const auto response = a.only<ConnectResponse>();
  EXPECT_EQ(a.only_id<ConnectResponse>(), at_a);
  EXPECT_EQ(a.all<ConnectResponse>().front().user, 5u);
  EXPECT_EQ(response.remote_qpn, Qpn{0x22});
  EXPECT_EQ(response.starting_psn, Psn{0x777});
  EXPECT_EQ(response.responder_resources, 1);
  EXPECT_EQ(response.initiator_depth, 3) << "no more than was asked for";
  EXPECT_EQ(response.remote_ca_guid, b.guid());
  EXPECT_TRUE(begins_with(response.private_data, "welcome"));

  const auto go = text("go");
  ASSERT_TRUE(ready(at_a, go));
  run();
  EXPECT_TRUE(begins_with(b.only<Established>().private_data, "go"));
  EXPECT_EQ(a.sent.size() + b.sent.size(), 3u);
  EXPECT_EQ(transaction_of(a.sent[0]), transaction_of(b.sent[0]));
  EXPECT_EQ(transaction_of(a.sent[0]), transaction_of(a.sent[1]));
  EXPECT_FALSE(a.manager.deadline());
  EXPECT_FALSE(b.manager.deadline());
}

TEST_F(Connection, EndsInTimewaitOnBothSides) {
  const Ids ids = establish();
  const auto bye = text("bye");
  ASSERT_TRUE(disconnect(a, ids.a, bye));
  run();
  EXPECT_EQ(b.only<Disconnected>().cause, Disconnected::Cause::kPeer);
  EXPECT_TRUE(begins_with(b.only<Disconnected>().private_data, "bye"));
  EXPECT_EQ(a.only<Disconnected>().cause, Disconnected::Cause::kOurs);
  EXPECT_EQ(a.manager.state(ids.a), CmState::kTimewait);
  EXPECT_EQ(b.manager.state(ids.b), CmState::kTimewait);
  EXPECT_EQ(body_of<wire::CmDreq>(a.sent.back()).remote_qpn, Qpn{0x22});
  EXPECT_TRUE(disconnect(b, ids.b)) << "is ending already: nothing to do";
  run_out();
  EXPECT_EQ(a.count<TimewaitExit>(), 1u);
  EXPECT_EQ(b.count<TimewaitExit>(), 1u);
  EXPECT_GE(world.now(), Time{2s}) << "2 packet lifetimes";
  EXPECT_EQ(a.manager.state(ids.a), CmState::kIdle);
  destroy(a, ids.a);
  destroy(b, ids.b);
  EXPECT_EQ(a.manager.ids(), 0u);
  EXPECT_EQ(b.manager.ids(), 0u);
}

TEST_F(Connection, EndsOnceWhenBothSidesEndIt) {
  const Ids ids = establish();
  ASSERT_TRUE(disconnect(a, ids.a));
  ASSERT_TRUE(disconnect(b, ids.b));
  run_out();
  EXPECT_EQ(a.count<Disconnected>(), 1u);
  EXPECT_EQ(b.count<Disconnected>(), 1u);
  EXPECT_EQ(a.count<TimewaitExit>(), 1u);
  EXPECT_EQ(b.count<TimewaitExit>(), 1u);
}

// The queue pair's attributes at each step, held against the transition table of hca/.
void expect_transition(const QpTransition& step, hca::QpType type, hca::QpState from) {
  const auto good = hca::check_transition(type, from, step.attributes.state, step.mask);
  EXPECT_TRUE(good) << good.error().message;
}

TEST_F(Connection, SaysWhatToModifyTheQueuePairsTo) {
  using hca::QpState;
  using hca::QpType;
  for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kXrcInitiator}) {
    SCOPED_TRACE(static_cast<int>(type));
    CmWorld fresh;
    const auto call = [&](CmHost& host, auto what) { return host.call(what); };
    ASSERT_TRUE(fresh.b().manager.listen({.service_id = kService}));
    ConnectParameters wishes = connect_parameters(fresh.a(), fresh.b());
    wishes.type = type;
    wishes.path_mtu = 2048;
    wishes.starting_psn = Psn{0x100};
    wishes.rnr_retry = 5;
    wishes.retry_count = 6;
    const CmId at_a =
        call(fresh.a(), [&](auto& cm) { return cm.connect(wishes, fresh.now()); }).value();
    EXPECT_FALSE(fresh.a().manager.qp_attributes(at_a, QpState::kRtr)) << "nobody has answered";
    fresh.run(100ms);
    const CmId at_b = fresh.b().only_id<ConnectRequest>();
    const QpType other = fresh.b().only<ConnectRequest>().type;
    EXPECT_EQ(other, type == QpType::kXrcInitiator ? QpType::kXrcTarget : type);

    // librdmacm brings its queue pair to RTS before it accepts.
    const auto early = fresh.b().manager.qp_attributes(at_b, QpState::kRtr).value();
    expect_transition(early, other, QpState::kInit);
    expect_transition(fresh.b().manager.qp_attributes(at_b, QpState::kRts).value(), other,
                      QpState::kRtr);
    const AcceptParameters answer{
        .qpn = Qpn{0x22}, .responder_resources = 3, .initiator_depth = 4, .rnr_retry = 4};
    ASSERT_TRUE(call(fresh.b(), [&](auto& cm) { return cm.accept(at_b, answer, fresh.now()); }));
    fresh.run(100ms);
    const auto response = fresh.a().only<ConnectResponse>();
    EXPECT_EQ(early.attributes.rq_psn, response.starting_psn)
        << "the PSN that the peer is told is the one that the queue pair expects";

    struct Side {
      CmHost& host;
      CmId id;
      QpType type;
      Qpn peer;
      Psn rq_psn, sq_psn;
      std::uint8_t reads_in, reads_out, rnr_retry;
    };
    for (const Side& side :
         {Side{fresh.a(), at_a, type, Qpn{0x22}, Psn{0x100}, response.starting_psn, 4, 3, 4},
          Side{fresh.b(), at_b, other, Qpn{0x11}, response.starting_psn, Psn{0x100}, 3, 4, 5}}) {
      const auto init = side.host.manager.qp_attributes(side.id, QpState::kInit).value();
      expect_transition(init, side.type, QpState::kReset);
      EXPECT_EQ(init.attributes.access, hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic);
      const auto rtr = side.host.manager.qp_attributes(side.id, QpState::kRtr).value();
      expect_transition(rtr, side.type, QpState::kInit);
      EXPECT_EQ(rtr.attributes.peer, side.peer);
      EXPECT_EQ(rtr.attributes.rq_psn, side.rq_psn);
      EXPECT_EQ(rtr.attributes.path_mtu, 2048u);
      EXPECT_EQ(rtr.attributes.path.sgid, side.host.gid);
      if (side.type == QpType::kRc) {
        EXPECT_EQ(rtr.attributes.max_reads_in, side.reads_in);
      }
      const auto rts = side.host.manager.qp_attributes(side.id, QpState::kRts).value();
      expect_transition(rts, side.type, QpState::kRtr);
      EXPECT_EQ(rts.attributes.sq_psn, side.sq_psn);
      if (side.type == QpType::kRc) {
        EXPECT_EQ(rts.attributes.max_reads_out, side.reads_out);
        EXPECT_EQ(rts.attributes.ack_timeout, 19);
        EXPECT_EQ(rts.attributes.retry_count, 6);
        EXPECT_EQ(rts.attributes.rnr_retry, side.rnr_retry);
      }
      EXPECT_FALSE(side.host.manager.qp_attributes(side.id, QpState::kSqd));
    }
  }
}

TEST_F(Connection, IsRefusedWhenNobodyListens) {
  const CmId at_a = connect();
  run();
  EXPECT_EQ(a.only<Rejected>().reason, RejectReason::kInvalidServiceId);
  EXPECT_EQ(a.only<Rejected>().message, wire::CmAnswered::kReq);
  EXPECT_EQ(a.manager.state(at_a), CmState::kIdle);
  EXPECT_EQ(b.manager.ids(), 0u);
  EXPECT_EQ(b.counter(CmCounter::kRefusedNoListener), 1u);
}

TEST_F(Connection, IsRefusedWithTheConsumersReasonAndWords) {
  listen();
  connect();
  run();
  const auto info = text("info");
  const auto no = text("no");
  ASSERT_TRUE(b.call([&](ConnectionManager& cm) {
    return cm.reject(
        b.only_id<ConnectRequest>(),
        {.reason = RejectReason::kInvalidPathMtu, .additional_info = info, .private_data = no},
        world.now());
  }));
  run();
  const auto rejected = a.only<Rejected>();
  EXPECT_EQ(rejected.reason, RejectReason::kInvalidPathMtu);
  EXPECT_EQ(rejected.additional_info.bytes().size(), 4u);
  EXPECT_TRUE(begins_with(rejected.private_data, "no"));
  destroy(b, b.only_id<ConnectRequest>());
  EXPECT_EQ(b.manager.ids(), 1u) << "should the REQ come again";
  run_out();
  EXPECT_EQ(b.manager.ids(), 0u);
}

TEST_F(Connection, IsRefusedByTheSideThatAskedForIt) {
  listen();
  const CmId at_a = connect();
  run();
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
  run();
  ASSERT_TRUE(a.call([&](ConnectionManager& cm) { return cm.reject(at_a, {}, world.now()); }));
  run();
  EXPECT_EQ(b.only<Rejected>().message, wire::CmAnswered::kRep);
  EXPECT_EQ(b.only<Rejected>().reason, RejectReason::kConsumerReject);
  EXPECT_FALSE(b.manager.deadline());
}

TEST_F(Connection, AsksTwentyTimesBeforeItGivesUp) {
  a.drops = [](const Mad& mad) { return kind_of(mad) == CmMessage::kReq; };
  const CmId at_a = connect();
  run_out();
  EXPECT_EQ(a.only<Unreachable>().message, CmMessage::kReq);
  EXPECT_EQ(a.manager.state(at_a), CmState::kIdle);
  // 4 early ones, then 15 retries of 4.3 s and two packet lifetimes; the last message is a REJ.
  EXPECT_EQ(a.counter(CmCounter::kTxRetries), 4u + 15u);
  EXPECT_EQ(kind_of(a.sent.back()), CmMessage::kRej);
  EXPECT_NEAR(std::chrono::duration<double>(world.now().time_since_epoch()).count(),
              7.5 + 16 * 6.44, 1);
}

TEST_F(Connection, WaitsAsLongAsAnMraAsks) {
  listen();
  connect();
  run();
  const auto words = text("soon");
  ASSERT_TRUE(b.call([&](ConnectionManager& cm) {
    return cm.mra(b.only_id<ConnectRequest>(), 23, words, world.now());
  }));
  run();
  const auto more = a.only<MoreTime>();
  EXPECT_EQ(more.message, wire::CmAnswered::kReq);
  EXPECT_EQ(more.service_timeout, Duration(std::int64_t{4096} << 23));
  EXPECT_TRUE(begins_with(more.private_data, "soon"));
  run(34s);
  EXPECT_EQ(a.counter(CmCounter::kTxRetries), 0u);
  run(5s);
  EXPECT_EQ(a.counter(CmCounter::kTxRetries), 1u);
}

TEST_F(Connection, IsAskedForPatienceWhileTheConsumerThinks) {
  listen();
  const CmId at_a = connect();
  run(1s);  // the REQ is repeated
  EXPECT_EQ(b.count<ConnectRequest>(), 1u);
  EXPECT_EQ(a.count<MoreTime>(), 1u);
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
  run(1s);  // so is the REP
  EXPECT_EQ(a.count<ConnectResponse>(), 1u);
  EXPECT_EQ(b.count<MoreTime>(), 1u);
  ASSERT_TRUE(ready(at_a));
  run();
  EXPECT_EQ(b.count<Established>(), 1u);
}

TEST_F(Connection, SendsAnotherRtuWhenTheFirstWasLost) {
  listen();
  const CmId at_a = connect();
  run();
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
  run();
  bool lost = false;
  a.drops = [&](const Mad&) { return !std::exchange(lost, true); };
  ASSERT_TRUE(ready(at_a));
  run();
  EXPECT_EQ(b.count<Established>(), 0u);
  run(1s);
  EXPECT_EQ(b.count<Established>(), 1u);
}

TEST_F(Connection, StandsWhenItsQueuePairHasReceivedThoughTheRtuIsLost) {
  listen();
  const CmId at_a = connect();
  run();
  const CmId at_b = b.only_id<ConnectRequest>();
  ASSERT_TRUE(accept(at_b));
  run();
  a.drops = [](const Mad&) { return true; };
  ASSERT_TRUE(ready(at_a));
  ASSERT_TRUE(b.call([&](ConnectionManager& cm) { return cm.notify_established(at_b); }));
  EXPECT_EQ(b.count<Established>(), 0u) << "events come from receive() and expire()";
  run(1ms);
  EXPECT_EQ(b.count<Established>(), 1u);
  EXPECT_TRUE(b.call([&](ConnectionManager& cm) { return cm.notify_established(at_b); }));
  run_out();
  EXPECT_EQ(b.count<Established>(), 1u);
}

TEST_F(Connection, GivesUpWhenTheRtuNeverComes) {
  listen();
  connect();
  run();
  const CmId at_b = b.only_id<ConnectRequest>();
  a.drops = [](const Mad&) { return true; };
  ASSERT_TRUE(accept(at_b));
  run_out();
  EXPECT_EQ(b.only<Unreachable>().message, CmMessage::kRep);
  EXPECT_EQ(a.only<Rejected>().reason, RejectReason::kTimeout) << "it is told";
  EXPECT_EQ(b.manager.state(at_b), CmState::kIdle);
}

TEST_F(Connection, EndsThoughThePeerNeverAnswersTheDreq) {
  const Ids ids = establish();
  b.drops = [](const Mad&) { return true; };
  ASSERT_TRUE(disconnect(a, ids.a));
  run_out();
  EXPECT_EQ(a.only<Disconnected>().cause, Disconnected::Cause::kUnanswered);
  EXPECT_EQ(b.count<Disconnected>(), 1u) << "and is answered as often as it asks";
  EXPECT_EQ(a.count<TimewaitExit>(), 1u);
}

TEST_F(Connection, EndsAtOnceThoughTheFirstDrepIsLost) {
  const Ids ids = establish();
  b.drops = [lost = false](const Mad&) mutable { return !std::exchange(lost, true); };
  ASSERT_TRUE(disconnect(a, ids.a));
  run(1s);
  EXPECT_EQ(a.only<Disconnected>().cause, Disconnected::Cause::kOurs);
  EXPECT_EQ(b.count<Disconnected>(), 1u);
}

TEST_F(Connection, OfADeadProgramIsEndedByWhatItLeftBehind) {
  const Ids ids = establish();
  a.drops = [lost = 0](const Mad&) mutable { return ++lost <= 3; };
  destroy(a, ids.a);
  EXPECT_FALSE(a.manager.state(ids.a));
  EXPECT_FALSE(disconnect(a, ids.a)) << "the id is forgotten";
  run_out();
  EXPECT_EQ(b.count<Disconnected>(), 1u);
  EXPECT_EQ(a.count<Disconnected>(), 0u) << "nobody to tell";
  EXPECT_EQ(a.manager.ids(), 0u);
}

TEST_F(Connection, IsGivenUpInEveryStateAndThePeerLearnsOfIt) {
  listen();
  // Before the answer: the consumer of b hears that the request is gone.
  const CmId first = connect();
  run();
  destroy(a, first);
  run();
  EXPECT_EQ(b.only<Rejected>().reason, RejectReason::kTimeout);
  destroy(b, b.only_id<ConnectRequest>());
  EXPECT_EQ(b.manager.ids(), 0u);
  // The request: a hears a refusal.
  b.events.clear();
  connect();
  run();
  destroy(b, b.only_id<ConnectRequest>());
  run();
  EXPECT_EQ(a.only<Rejected>().reason, RejectReason::kConsumerReject);
  // The REP, on either side.
  for (const bool by_a : {true, false}) {
    run_out();
    a.events.clear();
    b.events.clear();
    const CmId at_a = connect();
    run();
    ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
    run();
    destroy(by_a ? a : b, by_a ? at_a : b.only_id<ConnectRequest>());
    run();
    EXPECT_EQ((by_a ? b : a).only<Rejected>().reason, RejectReason::kConsumerReject);
  }
}

TEST_F(Connection, OutlivesItsListener) {
  const CmId listener = listen();
  const CmId at_a = connect();
  run();
  destroy(b, listener);
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
  run();
  ASSERT_TRUE(ready(at_a));
  run();
  EXPECT_EQ(b.count<Established>(), 1u);
  a.events.clear();
  connect();
  run();
  EXPECT_EQ(a.only<Rejected>().reason, RejectReason::kInvalidServiceId);
}

TEST_F(Connection, ToOneselfIsAConnectionLikeAnyOther) {
  ASSERT_TRUE(a.manager.listen({.service_id = kService}));
  const CmId client = connect(connect_parameters(a, a));
  run();
  const CmId server = a.only_id<ConnectRequest>();
  ASSERT_TRUE(a.call(
      [&](ConnectionManager& cm) { return cm.accept(server, {.qpn = Qpn{0x22}}, world.now()); }));
  run();
  ASSERT_TRUE(ready(client));
  run();
  EXPECT_EQ(a.only_id<Established>(), server);
  ASSERT_TRUE(disconnect(a, server));
  run();
  EXPECT_EQ(a.count<Disconnected>(), 2u);
}

}  // namespace
}  // namespace weft::mgmt

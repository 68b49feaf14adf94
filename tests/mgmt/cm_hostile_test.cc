// SPDX-License-Identifier: Apache-2.0
// What strangers, broken peers and careless consumers send and say.
#include <gmock/gmock.h>

#include "cm_fixture.h"

namespace weft::mgmt {
namespace {

using namespace test;
using wire::CmMessage;

class Hostile : public CmTest {
 protected:
  // A good REQ of a, as bytes, that was not delivered.
  wire::CmReq request(std::uint32_t comm_id = 0xC0FFEE, Qpn qpn = Qpn{0x500}) {
    return {.local_comm_id = wire::CommId{comm_id},
            .service_id = kService,
            .local_qpn = qpn,
            .path_mtu = 3,
            .primary = {.local_gid = a.gid, .remote_gid = b.gid}};
  }
  template <class Message>
  void send(const Message& message, std::uint64_t transaction = 1) {
    world.deliver(b, a.gid, make_mad(message, transaction));
  }
  // The reason of the last REJ that b sent.
  RejectReason refusal() {
    EXPECT_EQ(kind_of(b.sent.back()), CmMessage::kRej);
    return body_of<wire::CmRej>(b.sent.back()).reason;
  }
};

TEST_F(Hostile, RequestsAreRefusedWithTheReasonOfTheStandard) {
  listen();
  wire::CmReq bad = request();
  bad.transport = wire::CmTransport::kRd;
  send(bad);
  EXPECT_EQ(refusal(), RejectReason::kInvalidTransportServiceType);
  bad = request();
  bad.transport = wire::CmTransport::kXrc;
  bad.extended_transport = 2;
  send(bad);
  EXPECT_EQ(refusal(), RejectReason::kInvalidTransportServiceType);
  for (const unsigned mtu : {0u, 6u, 15u}) {
    bad = request();
    bad.path_mtu = static_cast<std::uint8_t>(mtu);
    send(bad);
    EXPECT_EQ(refusal(), RejectReason::kInvalidPathMtu);
  }
  for (const std::uint32_t qpn : {0u, 1u, 0xFFFFFFu}) {
    send(request(1, Qpn{qpn}));
    EXPECT_EQ(refusal(), RejectReason::kUnsupportedRequest);
  }
  bad = request();
  bad.primary.local_gid = address_of(66);
  send(bad);
  EXPECT_EQ(refusal(), RejectReason::kUnsupportedRequest) << "the path of somebody else";
  bad = request();
  bad.primary.remote_gid = address_of(66);
  send(bad);
  EXPECT_EQ(refusal(), RejectReason::kPrimaryGidRejected);
  bad = request();
  bad.alternate.local_gid = a.gid;
  bad.alternate.remote_gid = address_of(66);
  send(bad);
  EXPECT_EQ(refusal(), RejectReason::kAlternateGidRejected);
  EXPECT_EQ(b.manager.ids(), 0u);
  EXPECT_TRUE(b.events.empty());
  EXPECT_EQ(b.counter(CmCounter::kRefusedInvalid), b.sent.size());
}

TEST_F(Hostile, FloodFillsABacklogAndNoMore) {
  const CmId listener = listen(100);
  for (std::uint32_t i = 1; i <= 10'000; ++i)
    send(request(i, Qpn{i + 16}), i);
  EXPECT_EQ(b.count<ConnectRequest>(), 100u);
  EXPECT_EQ(b.manager.ids(), 100u);
  EXPECT_EQ(b.counter(CmCounter::kRefusedBacklog), 9'900u);
  EXPECT_EQ(refusal(), RejectReason::kNoResources);
  // Room again when the consumer has answered one.
  ASSERT_TRUE(accept(b.all<ConnectRequest>().front().id));
  send(request(20'000, Qpn{60'000}), 20'000);
  EXPECT_EQ(b.count<ConnectRequest>(), 101u);
  for (const CmEvent& event : b.all<ConnectRequest>())
    destroy(b, event.id);
  destroy(b, listener);
  run_out();
  EXPECT_EQ(b.manager.ids(), 0u);
}

TEST_F(Hostile, RequestThatItsSenderGivesUpLeavesItsPlaceInTheBacklog) {
  listen(1);
  const CmId first = connect();
  run();
  destroy(a, first);  // sends a REJ
  run();
  EXPECT_EQ(b.only<Rejected>().reason, RejectReason::kTimeout);
  send(request());
  EXPECT_EQ(b.count<ConnectRequest>(), 2u);
}

TEST(HostileFlood, LeavesRoomForConnectionsOfOurOwn) {
  CmWorld world(1, {}, {.limits = {.ids = 50, .passive_ids = 40}});
  CmHost& b = world.b();
  ASSERT_TRUE(b.manager.listen({.service_id = kService, .backlog = 1'000'000}));
  for (std::uint32_t i = 1; i <= 1000; ++i) {
    const wire::CmReq req{.local_comm_id = wire::CommId{i},
                          .service_id = kService,
                          .local_qpn = Qpn{i + 16},
                          .path_mtu = 3,
                          .primary = {.local_gid = world.a().gid, .remote_gid = b.gid}};
    world.deliver(b, world.a().gid, make_mad(req, i));
  }
  EXPECT_EQ(b.manager.ids(), 40u);
  EXPECT_EQ(b.counter(CmCounter::kRefusedLimit), 960u);
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(b.manager.connect(connect_parameters(b, world.a()), world.now()));
  EXPECT_EQ(b.manager.connect(connect_parameters(b, world.a()), world.now()).error().code,
            std::errc::too_many_files_open);
}

TEST(HostileFlood, OfQuestionsLeavesABoundedNumberOfAnswersBehind) {
  CmWorld world;
  CmHost& b = world.b();
  b.on_each = [&](const CmEvent& event) {
    (void)b.manager.sidr_reply(event.id, {}, world.now());
    b.manager.destroy(event.id, world.now());
  };
  ASSERT_TRUE(b.manager.listen({.service_id = kService}));
  for (std::uint32_t i = 1; i <= 5000; ++i) {
    const wire::CmSidrReq req{.request_id = wire::CommId{i}, .service_id = kService};
    world.deliver(b, world.a().gid, make_mad(req, i));
  }
  EXPECT_EQ(b.manager.ids(), CmTable::kMaxLingering);
  ASSERT_TRUE(world.run_out());
  EXPECT_EQ(b.manager.ids(), 0u);
}

TEST_F(Hostile, RepeatedMessagesOfAWholeConnectionChangeNothing) {
  const Ids ids = establish();
  const auto from_a = a.sent;
  const auto from_b = b.sent;
  a.events.clear();
  b.events.clear();
  const auto replay = [&] {
    for (const Mad& mad : from_a)
      world.deliver(b, a.gid, mad);
    for (const Mad& mad : from_b)
      world.deliver(a, b.gid, mad);
    run();
  };
  replay();
  EXPECT_EQ(a.manager.state(ids.a), CmState::kEstablished);
  EXPECT_EQ(b.manager.state(ids.b), CmState::kEstablished);
  ASSERT_TRUE(disconnect(a, ids.a));
  run();
  replay();
  EXPECT_EQ(b.manager.state(ids.b), CmState::kTimewait);
  EXPECT_EQ(b.manager.ids(), 1u);
  EXPECT_EQ(b.count<ConnectRequest>(), 0u);
  EXPECT_EQ(b.events.size(), 1u) << "Disconnected";
  EXPECT_EQ(a.events.size(), 1u);
}

TEST_F(Hostile, MessagesFromAnotherAddressDoNotTouchAConnection) {
  const Ids ids = establish();
  const Gid stranger = address_of(66);
  const wire::CmDreq dreq{.local_comm_id = ids.a, .remote_comm_id = ids.b, .remote_qpn = Qpn{0x22}};
  world.deliver(b, stranger, make_mad(dreq, 1));
  world.deliver(b, stranger,
                make_mad(wire::CmRej{.local_comm_id = ids.a,
                                     .remote_comm_id = ids.b,
                                     .message = wire::CmAnswered::kRep},
                         1));
  EXPECT_EQ(b.counter(CmCounter::kRxWrongPeer), 2u);
  // Nor do messages of the peer that mean another connection, or another queue pair.
  wire::CmDreq other = dreq;
  other.remote_qpn = Qpn{0x23};
  send(other);
  other = dreq;
  other.local_comm_id = wire::CommId{ids.a.value() + 1};
  send(other);
  EXPECT_EQ(b.counter(CmCounter::kRxWrongPeer), 4u);
  EXPECT_EQ(b.manager.state(ids.b), CmState::kEstablished);
  send(dreq);
  EXPECT_EQ(b.count<Disconnected>(), 1u) << "this one is right";
}

TEST_F(Hostile, RequestThatUsesAnIdTwiceIsRefused) {
  listen();
  send(request(5, Qpn{0x500}), 1);
  send(request(5, Qpn{0x501}), 2);
  EXPECT_EQ(refusal(), RejectReason::kDuplicateLocalCommId);
  EXPECT_EQ(b.count<ConnectRequest>(), 1u);
}

TEST_F(Hostile, PeerThatHasForgottenAConnectionEndsItByAskingAgain) {
  const Ids ids = establish();
  send(request(5, Qpn{0x11}), 2);  // the queue pair that is connected already
  EXPECT_EQ(refusal(), RejectReason::kStaleConnection);
  EXPECT_EQ(b.manager.state(ids.b), CmState::kDreqSent);
  run();
  EXPECT_EQ(b.only<Disconnected>().cause, Disconnected::Cause::kOurs);
  send(request(6, Qpn{0x11}), 3);
  EXPECT_EQ(b.count<ConnectRequest>(), 2u) << "and may have another";
}

TEST_F(Hostile, DisconnectsOfWhatNobodyKnowsAreAnswered) {
  send(wire::CmDreq{.local_comm_id = wire::CommId{1}, .remote_comm_id = wire::CommId{2}}, 99);
  ASSERT_EQ(kind_of(b.sent.back()), CmMessage::kDrep);
  EXPECT_EQ(body_of<wire::CmDrep>(b.sent.back()).remote_comm_id, wire::CommId{1});
  EXPECT_EQ(transaction_of(b.sent.back()), 99u);
  send(wire::CmRep{.local_comm_id = wire::CommId{1}, .remote_comm_id = wire::CommId{2}});
  EXPECT_EQ(refusal(), RejectReason::kInvalidCommId);
}

TEST_F(Hostile, AnswerThatIsTooLateRefusesNothing) {
  listen();
  const CmId at_a = connect();
  run();
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
  run();
  const wire::CmRej late{.remote_comm_id = at_a, .reason = RejectReason::kNoResources};
  world.deliver(a, b.gid, make_mad(late, 1));
  EXPECT_EQ(a.manager.state(at_a), CmState::kRepReceived);
  ASSERT_TRUE(ready(at_a));
  world.deliver(a, b.gid, make_mad(late, 1));
  EXPECT_EQ(a.manager.state(at_a), CmState::kEstablished);
  EXPECT_EQ(a.count<Rejected>(), 0u);
}

TEST_F(Hostile, ReplyThatNamesNoQueuePairIsRefused) {
  const CmId at_a = connect();
  run(1us);
  const wire::CmRep rep{
      .local_comm_id = wire::CommId{7}, .remote_comm_id = at_a, .local_qpn = kQp1};
  world.deliver(a, b.gid, make_mad(rep, 1));
  EXPECT_EQ(a.only<Rejected>().reason, RejectReason::kUnsupportedRequest);
  EXPECT_EQ(kind_of(a.sent.back()), CmMessage::kRej);
  EXPECT_EQ(a.manager.state(at_a), CmState::kIdle);
}

TEST_F(Hostile, LengthsOfInformationAreNotBelieved) {
  const CmId at_a = connect();
  run(1us);
  const wire::CmRej rej{.remote_comm_id = at_a, .info_length = 127};
  world.deliver(a, b.gid, make_mad(rej, 1));
  EXPECT_EQ(a.only<Rejected>().additional_info.bytes().size(), wire::kMaxAdditionalInfo);
}

TEST_F(Hostile, DatagramsOfOtherClassesLengthsAndMethodsAreCounted) {
  listen();
  const Mad good = make_mad(request(), 1);
  for (std::size_t size = 0; size < good.size(); ++size) {
    b.manager.receive(Bytes(good).first(size), b.path_to(a), kDefaultPKey, world.now());
  }
  for (const std::size_t byte : {0, 1, 2}) {  // base version, class, class version
    Mad bad = good;
    bad[byte] = std::byte{0x55};
    world.deliver(b, a.gid, bad);
  }
  EXPECT_EQ(b.counter(CmCounter::kRxMalformed), good.size() + 3);
  Mad get = good;
  get[3] = std::byte{1};
  world.deliver(b, a.gid, get);
  Mad unknown = good;
  unknown[17] = std::byte{0x1B};
  world.deliver(b, a.gid, unknown);
  EXPECT_EQ(b.counter(CmCounter::kRxUnknown), 2u);
  EXPECT_TRUE(b.events.empty());
  EXPECT_TRUE(b.sent.empty());
}

TEST_F(Hostile, ParametersOutOfRangeAreRefusedByName) {
  const auto error = [&](auto change) {
    ConnectParameters wishes = connect_parameters(a, b);
    change(wishes);
    const auto id = a.manager.connect(wishes, world.now());
    return id ? std::string() : id.error().message;
  };
  const std::vector<std::byte> long_data(93);
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_THAT(error([](auto& p) { p.retry_count = 8; }), testing::HasSubstr("retry count 8"));
  EXPECT_THAT(error([](auto& p) { p.max_cm_retries = 16; }), testing::HasSubstr("max CM retries"));
  EXPECT_THAT(error([](auto& p) { p.path_mtu = 1500; }), testing::HasSubstr("path MTU 1500"));
  EXPECT_THAT(error([](auto& p) { p.qpn = Qpn{1}; }), testing::HasSubstr("queue pair number"));
  EXPECT_THAT(error([](auto& p) { p.type = hca::QpType::kUd; }), testing::HasSubstr("type"));
  EXPECT_THAT(error([](auto& p) { p.path.sgid = address_of(9); }), testing::HasSubstr("10.0.0.9"));
  EXPECT_THAT(error([](auto& p) { p.path.dgid = Gid{}; }), testing::HasSubstr("destination"));
  EXPECT_THAT(error([&](auto& p) { p.private_data = long_data; }), testing::HasSubstr("93 bytes"));
  EXPECT_EQ(a.sent.size(), 1u) << "what fails sends nothing";
  EXPECT_EQ(b.manager.listen({.backlog = 0}).error().code, std::errc::invalid_argument);
  const CmId nobody{0x12345678};
  EXPECT_EQ(accept(nobody).error().code, std::errc::no_such_file_or_directory);
  EXPECT_EQ(disconnect(a, nobody).error().code, std::errc::no_such_file_or_directory);
  EXPECT_EQ(a.manager.set_user(nobody, 1).error().code, std::errc::no_such_file_or_directory);
  EXPECT_FALSE(a.manager.state(nobody));
  destroy(a, nobody);
}

TEST_F(Hostile, CallsInTheWrongStateAreRefusedAndSendNothing) {
  const Ids ids = establish();
  const std::size_t sent = a.sent.size() + b.sent.size();
  EXPECT_EQ(accept(ids.b).error().code, std::errc::not_connected);
  EXPECT_EQ(ready(ids.a).error().code, std::errc::not_connected);
  EXPECT_FALSE(b.manager.reject(ids.b, {}, world.now()));
  EXPECT_FALSE(b.manager.mra(ids.b, 1, {}, world.now()));
  EXPECT_FALSE(b.manager.sidr_reply(ids.b, {}, world.now()));
  EXPECT_FALSE(b.manager.reply_alternate_path(ids.b, {}, world.now()));
  EXPECT_FALSE(b.manager.notify_migrated(ids.b));
  EXPECT_EQ(a.sent.size() + b.sent.size(), sent);
}

}  // namespace
}  // namespace weft::mgmt

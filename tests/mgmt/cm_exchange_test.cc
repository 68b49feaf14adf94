// SPDX-License-Identifier: Apache-2.0
// The smaller exchanges: listeners, service resolution, alternate paths, extensions.
#include <set>

#include "cm_fixture.h"
#include "mgmt/extension_offer.h"

namespace weft::mgmt {
namespace {

using namespace test;
using wire::CmMessage;

class Exchange : public CmTest {
 protected:
  CmId ask(ServiceId service = kService) {
    const auto words = text("who?");
    return a
        .call([&](ConnectionManager& cm) {
          return cm.sidr_request(
              {.path = a.path_to(b), .service_id = service, .private_data = words, .user = 9},
              world.now());
        })
        .value();
  }
  Expected<void> answer(CmId id, const SidrAnswer& answer) {
    return b.call([&](ConnectionManager& cm) { return cm.sidr_reply(id, answer, world.now()); });
  }
};

TEST_F(Exchange, ResolvesAServiceToAQueuePair) {
  const CmId listener = listen();
  ask();
  run();
  const auto request = b.only<SidrRequest>();
  EXPECT_EQ(request.listener, listener);
  EXPECT_EQ(request.path.dgid, a.gid);
  EXPECT_TRUE(begins_with(request.private_data, "who?"));
  const auto words = text("me");
  ASSERT_TRUE(answer(b.only_id<SidrRequest>(),
                     {.qpn = Qpn{0x55}, .qkey = QKey{0x01234567}, .private_data = words}));
  run();
  const auto reply = a.only<SidrReply>();
  EXPECT_EQ(a.all<SidrReply>().front().user, 9u);
  EXPECT_EQ(reply.status, SidrStatus::kValid);
  EXPECT_EQ(reply.service_id, kService);
  EXPECT_EQ(reply.qpn, Qpn{0x55});
  EXPECT_EQ(reply.qkey, QKey{0x01234567});
  EXPECT_TRUE(begins_with(reply.private_data, "me"));
  EXPECT_FALSE(a.manager.deadline());
}

// A partition may be the only one in which both ends can talk.
TEST_F(Exchange, TalksInTheConnectionsPartition) {
  constexpr PKey kBlue{0x8011};
  listen();
  ConnectParameters wishes = connect_parameters(a, b);
  wishes.pkey = kBlue;
  const CmId id = connect(wishes);
  run();
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>()));
  run();
  ASSERT_TRUE(ready(id));
  run();
  ASSERT_TRUE(disconnect(a, id));
  run_out();
  EXPECT_EQ(b.count<Disconnected>(), 1u);
  EXPECT_EQ(a.sent_in, std::set{kBlue});
  EXPECT_EQ(b.sent_in, std::set{kBlue});
}

// So may the partition of a question be to which no connection belongs.
TEST_F(Exchange, AnswersInThePartitionOfTheQuestion) {
  constexpr PKey kBlue{0x8011};
  for (const bool heard : {false, true}) {
    b.sent_in.clear();
    if (heard) listen();
    a.call([&](ConnectionManager& cm) {
      return cm.sidr_request({.path = a.path_to(b), .service_id = kService, .pkey = kBlue},
                             world.now());
    });
    run();
    if (heard) {
      ASSERT_TRUE(answer(b.only_id<SidrRequest>(), {.qpn = Qpn{0x55}}));
    }
    run();
    EXPECT_EQ(b.sent_in, std::set{kBlue});
  }
  EXPECT_EQ(a.count<SidrReply>(), 2u);
}

TEST_F(Exchange, AnswersARepeatedQuestionThoughItsConsumerIsGone) {
  listen();
  ask();
  run();
  b.drops = [](const Mad&) { return true; };
  const CmId id = b.only_id<SidrRequest>();
  ASSERT_TRUE(answer(id, {.qpn = Qpn{0x55}}));
  destroy(b, id);
  run();
  EXPECT_EQ(a.count<SidrReply>(), 0u);
  b.drops = [](const Mad&) { return false; };
  run(1s);
  EXPECT_EQ(a.only<SidrReply>().qpn, Qpn{0x55});
  EXPECT_EQ(b.count<SidrRequest>(), 1u);
  run_out();
  EXPECT_EQ(b.manager.ids(), 0u);
}

TEST_F(Exchange, SaysWhenAServiceIsNotThereOrItsConsumerGivesUp) {
  ask();
  run();
  EXPECT_EQ(a.only<SidrReply>().status, SidrStatus::kServiceNotSupported);
  a.events.clear();
  listen();
  ask();
  run();
  destroy(b, b.only_id<SidrRequest>());
  run();
  EXPECT_EQ(a.only<SidrReply>().status, SidrStatus::kRejected);
}

TEST_F(Exchange, GivesUpOnAServiceThatNeverAnswers) {
  a.drops = [](const Mad&) { return true; };
  ask();
  run_out();
  EXPECT_EQ(a.only<Unreachable>().message, CmMessage::kSidrReq);
}

TEST_F(Exchange, GoesToTheListenerThatFitsBest) {
  const auto listen_as = [&](ServiceId service, std::uint64_t mask, const Gid& address) {
    return b.manager.listen({.service_id = service, .mask = mask, .address = address});
  };
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const Gid second = address_of(200);
  b.more_addresses = {second};
  const CmId any_port = listen_as(kService, ~std::uint64_t{0xFFFF}, {}).value();
  const CmId any_address = listen_as(kService, kAll, {}).value();
  const CmId exact = listen_as(kService, kAll, b.gid).value();
  EXPECT_EQ(listen_as(kService, kAll, {}).error().code, std::errc::address_in_use);
  EXPECT_EQ(listen_as(ServiceId{kService.value() + 1}, ~std::uint64_t{0xFFFF}, {}).error().code,
            std::errc::address_in_use)
      << "the same under its mask";
  const auto reached = [&](ServiceId service, const Gid& address) {
    b.events.clear();
    ConnectParameters wishes = connect_parameters(a, b);
    wishes.service_id = service;
    wishes.path.dgid = address;
    wishes.qpn = Qpn{static_cast<std::uint32_t>(0x100 + a.sent.size())};
    connect(wishes);
    run();
    return b.only<ConnectRequest>().listener;
  };
  EXPECT_EQ(reached(kService, b.gid), exact);
  EXPECT_EQ(reached(kService, second), any_address);
  EXPECT_EQ(reached(ServiceId{kService.value() + 5}, b.gid), any_port);
  destroy(b, exact);
  EXPECT_EQ(reached(kService, b.gid), any_address);
}

TEST_F(Exchange, LoadsAnAlternatePathAndMovesToIt) {
  const Ids ids = establish();
  const Gid a2 = address_of(101), b2 = address_of(102);
  a.more_addresses = {a2};
  b.more_addresses = {b2};
  const AlternatePathParameters wishes{.path = {.sgid = a2, .dgid = b2}, .ack_timeout = 14};
  const auto load = [&] {
    return a.call(
        [&](ConnectionManager& cm) { return cm.load_alternate_path(ids.a, wishes, world.now()); });
  };
  EXPECT_EQ(b.manager.load_alternate_path(ids.b, wishes, world.now()).error().code,
            std::errc::operation_not_permitted);
  ASSERT_TRUE(load());
  EXPECT_EQ(load().error().code, std::errc::operation_in_progress);
  run(1s);  // repeated, and answered with an MRA
  EXPECT_EQ(a.only<MoreTime>().message, wire::CmAnswered::kLap);
  const auto request = b.only<AlternatePathRequest>();
  EXPECT_EQ(request.path.dgid, a2);
  EXPECT_EQ(request.path.sgid, b2);
  EXPECT_EQ(request.ack_timeout, 14);
  ASSERT_TRUE(b.call(
      [&](ConnectionManager& cm) { return cm.reply_alternate_path(ids.b, {}, world.now()); }));
  run();
  EXPECT_EQ(a.only<AlternatePathReply>().status, AlternatePathStatus::kLoaded);
  const auto rearm = a.manager.qp_attributes(ids.a, hca::QpState::kRts).value();
  EXPECT_EQ(rearm.mask, hca::kAttrState | hca::kAttrAlternatePath | hca::kAttrPathMigration);
  EXPECT_EQ(rearm.attributes.alternate_path.dgid, b2);
  ASSERT_TRUE(a.manager.notify_migrated(ids.a));
  ASSERT_TRUE(b.manager.notify_migrated(ids.b));
  EXPECT_FALSE(a.manager.notify_migrated(ids.a)) << "it has no other path now";
  ASSERT_TRUE(disconnect(a, ids.a));
  run();
  EXPECT_EQ(b.only<Disconnected>().cause, Disconnected::Cause::kPeer);
  EXPECT_EQ(a.only<Disconnected>().cause, Disconnected::Cause::kOurs);
}

TEST_F(Exchange, RefusesAnAlternatePathToAnAddressThatItDoesNotHave) {
  const Ids ids = establish();
  ASSERT_TRUE(a.call([&](ConnectionManager& cm) {
    return cm.load_alternate_path(ids.a, {.path = {.sgid = a.gid, .dgid = address_of(99)}},
                                  world.now());
  }));
  run();
  EXPECT_EQ(a.only<AlternatePathReply>().status, AlternatePathStatus::kGidRejected);
  EXPECT_EQ(b.count<AlternatePathRequest>(), 0u);
  EXPECT_EQ(a.manager.state(ids.a), CmState::kEstablished);
}

TEST_F(Exchange, OfALapThatIsNeverAnsweredLeavesTheConnectionAlone) {
  const Ids ids = establish();
  a.drops = [](const Mad&) { return true; };
  ASSERT_TRUE(a.call([&](ConnectionManager& cm) {
    return cm.load_alternate_path(ids.a, {.path = a.path_to(b)}, world.now());
  }));
  run_out();
  EXPECT_EQ(a.only<Unreachable>().message, CmMessage::kLap);
  EXPECT_EQ(a.manager.state(ids.a), CmState::kEstablished);
}

TEST_F(Exchange, OfExtensionsIsAgreedOnBetweenWeftEnds) {
  listen();
  ConnectParameters wishes = connect_parameters(a, b);
  wishes.extensions = kWeftTransport;
  const CmId at_a = connect(wishes);
  run();
  EXPECT_EQ(b.only<ConnectRequest>().extensions, kWeftTransport);
  const CmId at_b = b.only_id<ConnectRequest>();
  EXPECT_FALSE(accept(at_b, {.qpn = Qpn{0x22}, .extensions = 2})) << "that was not offered";
  const auto words = text("application");
  ASSERT_TRUE(
      accept(at_b, {.qpn = Qpn{0x22}, .private_data = words, .extensions = kWeftTransport}));
  run();
  const auto response = a.only<ConnectResponse>();
  EXPECT_EQ(response.extensions, kWeftTransport);
  std::vector<std::byte> expected(wire::kRepPrivateData);
  std::copy(words.begin(), words.end(), expected.begin());
  EXPECT_TRUE(std::ranges::equal(response.private_data.bytes(), expected)) << "it is gone";
  EXPECT_EQ(a.manager.agreed_extensions(at_a), kWeftTransport);
  EXPECT_EQ(b.manager.agreed_extensions(at_b), kWeftTransport);
}

TEST_F(Exchange, OfExtensionsIsOfferedWithoutABitThatAStandardPeerLooksAt) {
  listen();
  ConnectParameters wishes = connect_parameters(a, b);
  wishes.starting_psn = Psn{7};
  connect(wishes);
  wishes.qpn = Qpn{0x12};
  wishes.extensions = kWeftTransport;
  connect(wishes);
  auto plain = body_of<wire::CmReq>(a.sent.at(0));
  auto offering = body_of<wire::CmReq>(a.sent.at(1));
  EXPECT_EQ(offered_extensions(plain, transaction_of(a.sent.at(0))), 0);
  EXPECT_EQ(offered_extensions(offering, transaction_of(a.sent.at(1))), kWeftTransport);
  plain.local_comm_id = offering.local_comm_id;
  plain.local_qpn = offering.local_qpn;
  std::array<std::byte, wire::CmReq::kSize> one{}, other{};
  plain.write(one);
  offering.write(other);
  EXPECT_EQ(one, other) << "the transaction ID only";
}

TEST_F(Exchange, OfExtensionsIsNotSeenInTheTransactionIdsOfOthers) {
  const wire::CmReq req{
      .local_comm_id = wire::CommId{0x1234}, .local_qpn = Qpn{0x11}, .starting_psn = Psn{5}};
  // Linux: a small number of the agent above the local ID.
  for (std::uint64_t high = 0; high < 0x10000; ++high)
    ASSERT_EQ(offered_extensions(req, high << 32 | req.local_comm_id.value()), 0) << high;
  const std::uint64_t offer = offering_transaction(req, kWeftTransport, 77);
  EXPECT_EQ(offered_extensions(req, offer), kWeftTransport);
  for (unsigned bit = 0; bit < 64; ++bit)
    EXPECT_EQ(offered_extensions(req, offer ^ std::uint64_t{1} << bit), 0) << bit;
  wire::CmReq another = req;
  another.local_comm_id = wire::CommId{0x1235};
  EXPECT_EQ(offered_extensions(another, offer), 0) << "it is bound to its message";
}

TEST_F(Exchange, OfExtensionsIsNotAgreedOnByAnApplicationThatEchoesPrivateData) {
  // The application of b answers with what another connection of its was answered.
  listen();
  ConnectParameters wishes = connect_parameters(a, b);
  wishes.extensions = kWeftTransport;
  connect(wishes);
  run();
  const CmId first = b.only_id<ConnectRequest>();
  ASSERT_TRUE(accept(first, {.qpn = Qpn{0x22}, .extensions = kWeftTransport}));
  run();
  const auto raw = body_of<wire::CmRep>(b.sent.front()).private_data;
  wishes.qpn = Qpn{0x12};
  b.events.clear();
  const CmId at_a = connect(wishes);
  run();
  ASSERT_TRUE(accept(b.only_id<ConnectRequest>(), {.qpn = Qpn{0x23}, .private_data = raw}));
  a.events.clear();
  run();
  EXPECT_EQ(a.manager.agreed_extensions(at_a), 0);
  EXPECT_TRUE(std::ranges::equal(a.only<ConnectResponse>().private_data.bytes(), raw));
}

TEST_F(Exchange, OfExtensionsIsNotAgreedOnWhenTheApplicationNeedsTheRoom) {
  listen();
  ConnectParameters wishes = connect_parameters(a, b);
  wishes.extensions = kWeftTransport;
  const CmId at_a = connect(wishes);
  run();
  const CmId at_b = b.only_id<ConnectRequest>();
  const std::vector<std::byte> full(wire::kRepPrivateData - kAgreementSize + 1, std::byte{0xEE});
  ASSERT_TRUE(accept(at_b, {.qpn = Qpn{0x22}, .private_data = full, .extensions = kWeftTransport}));
  run();
  EXPECT_EQ(a.manager.agreed_extensions(at_a), 0);
  EXPECT_EQ(b.manager.agreed_extensions(at_b), 0);
  EXPECT_EQ(body_of<wire::CmRep>(b.sent.front()).private_data.back(), std::byte{0});
}

}  // namespace
}  // namespace weft::mgmt

// SPDX-License-Identifier: Apache-2.0
#include "two_hosts.h"

namespace weft::rdmacm {
namespace {

using Connect = TwoHosts;

std::string text(const rdma_ucm_conn_param& from) {
  const auto* data = from.private_data;
  return {data, data + strnlen(reinterpret_cast<const char*>(data), from.private_data_len)};
}

TEST_F(Connect, GoesFromRequestToEstablishedOnBothSides) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x111, "hello")), std::errc{});
  settle();

  const auto request = listening.expect(abi::Event::kConnectRequest);
  EXPECT_EQ(request.uid, kListenerUid);
  EXPECT_EQ(request.param.conn.qp_num, 0x111U);
  EXPECT_EQ(text(request.param.conn), "hello");
  EXPECT_EQ(request.param.conn.private_data_len, 56);
  // What one side offers to answer the other may ask.
  EXPECT_EQ(request.param.conn.responder_resources, 2);
  EXPECT_EQ(request.param.conn.initiator_depth, 3);
  EXPECT_EQ(request.param.conn.retry_count, 5);
  EXPECT_EQ(request.param.conn.rnr_retry_count, 6);

  ASSERT_EQ(listening.accept(request.id, parameters(0x222, "welcome"), kServerUid), std::errc{});
  settle();
  const auto response = connecting.expect(abi::Event::kConnectResponse);
  EXPECT_EQ(response.uid, kClientUid);
  EXPECT_EQ(response.param.conn.qp_num, 0x222U);
  EXPECT_EQ(text(response.param.conn), "welcome");
  ASSERT_EQ(connecting.accept(id, {}, 0), std::errc{});
  settle();
  const auto established = listening.expect(abi::Event::kEstablished);
  EXPECT_EQ(established.uid, kServerUid);
  EXPECT_FALSE(listening.event());
  EXPECT_FALSE(connecting.event());
}

class ConnectOfWeft : public TwoHosts {
 protected:
  static CoreConfig extended() {
    CoreConfig config;
    config.extensions = mgmt::kWeftTransport;
    return config;
  }
  ConnectOfWeft() : TwoHosts(extended()) {}
  static void expect_agreement(const Host& host, std::uint32_t local, std::uint32_t remote,
                               const Gid& address) {
    ASSERT_EQ(host.agreements.size(), 1u);
    EXPECT_EQ(host.agreements[0].local, Qpn{local});
    EXPECT_EQ(host.agreements[0].remote, Qpn{remote});
    EXPECT_EQ(host.agreements[0].remote_address, address);
  }
};

TEST_F(ConnectOfWeft, TellsOfAnAgreementBeforeAProgramCanUseTheConnection) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  EXPECT_TRUE(server.agreements.empty());
  ASSERT_EQ(listening.accept(request.id, parameters(0x222), kServerUid), std::errc{});
  expect_agreement(server, 0x222, 0x111, client.address);
  EXPECT_TRUE(client.agreements.empty());
  settle();
  expect_agreement(client, 0x111, 0x222, server.address);
  connecting.expect(abi::Event::kConnectResponse);
}

TEST_F(ConnectOfWeft, TellsOfNoAgreementWhenTheAnswerHasNoRoomForIt) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  const std::string full(wire::kRepPrivateData, 'x');
  ASSERT_EQ(listening.accept(request.id, parameters(0x222, full), kServerUid), std::errc{});
  settle();
  EXPECT_EQ(text(connecting.expect(abi::Event::kConnectResponse).param.conn), full);
  EXPECT_TRUE(server.agreements.empty());
  EXPECT_TRUE(client.agreements.empty());
}

TEST_F(Connect, TellsOfNoAgreementWithAPeerThatOffersNone) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  connect(listening, connecting, 7174);
  EXPECT_TRUE(server.agreements.empty());
  EXPECT_TRUE(client.agreements.empty());
}

TEST_F(Connect, GivesQueuePairAttributesThatMatchOnBothSides) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  // As librdmacm does: the passive side goes to RTS before it accepts.
  const auto passive_init = listening.attributes(request.id, hca::QpState::kInit);
  const auto passive_rtr = listening.attributes(request.id, hca::QpState::kRtr);
  const auto passive_rts = listening.attributes(request.id, hca::QpState::kRts);
  ASSERT_TRUE(passive_init && passive_rtr && passive_rts);
  ASSERT_EQ(listening.accept(request.id, parameters(0x222), kServerUid), std::errc{});
  settle();
  connecting.expect(abi::Event::kConnectResponse);
  const auto active_rtr = connecting.attributes(id, hca::QpState::kRtr);
  const auto active_rts = connecting.attributes(id, hca::QpState::kRts);
  ASSERT_TRUE(active_rtr && active_rts);

  EXPECT_EQ(passive_rtr->dest_qp_num, 0x111U);
  EXPECT_EQ(active_rtr->dest_qp_num, 0x222U);
  EXPECT_EQ(passive_rtr->rq_psn, active_rts->sq_psn);
  EXPECT_EQ(active_rtr->rq_psn, passive_rts->sq_psn);
  EXPECT_EQ(passive_rtr->path_mtu, 4U);  // 2048
  EXPECT_EQ(active_rtr->path_mtu, 4U);
  EXPECT_EQ(passive_rtr->ah_attr.is_global, 1);
  EXPECT_EQ(passive_rtr->ah_attr.port_num, 1);
  EXPECT_EQ(Gid(std::to_array(passive_rtr->ah_attr.grh.dgid)), client.address);
  EXPECT_EQ(Gid(std::to_array(active_rtr->ah_attr.grh.dgid)), server.address);
  EXPECT_EQ(active_rts->retry_cnt, 5);
  EXPECT_GT(active_rts->timeout, 0);
}

TEST_F(Connect, RefusesARequestThatNobodyListensFor) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7175);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto rejected = connecting.expect(abi::Event::kRejected);
  EXPECT_EQ(rejected.status, 8U);  // invalid service ID
  EXPECT_FALSE(listening.event());
}

TEST_F(Connect, TellsAClientWhyAProgramRejectsIt) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  rdma_ucm_reject command{};
  command.id = request.id;
  std::memcpy(command.private_data, "no", 2);
  command.private_data_len = 2;
  ASSERT_TRUE(listening.run(RDMA_USER_CM_CMD_REJECT, command));
  settle();
  const auto rejected = connecting.expect(abi::Event::kRejected);
  EXPECT_EQ(rejected.status, 28U);  // consumer reject
  EXPECT_EQ(text(rejected.param.conn), "no");
}

TEST_F(Connect, GivesUpOnAHostThatIsNotThere) {
  Program connecting(client);
  const auto id = start_client(connecting, 7174);
  wire.lose = [] { return true; };
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  pass(600s);
  const auto unreachable = connecting.expect(abi::Event::kUnreachable);
  EXPECT_EQ(static_cast<std::int32_t>(unreachable.status), -ETIMEDOUT);
}

TEST_F(Connect, DisconnectsBothSides) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto [active, passive] = connect(listening, connecting, 7174);
  ASSERT_EQ(connecting.disconnect(active), std::errc{});
  settle();
  EXPECT_EQ(listening.expect(abi::Event::kDisconnected).uid, kServerUid);
  EXPECT_EQ(connecting.expect(abi::Event::kDisconnected).uid, kClientUid);
  // What is over may be disconnected again.
  EXPECT_EQ(listening.disconnect(passive), std::errc{});
  pass(60s);
  connecting.expect(abi::Event::kTimewaitExit);
}

TEST_F(Connect, TellsThePeerWhenAProgramDies) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  connect(listening, connecting, 7174);
  connecting.close();
  settle();
  listening.expect(abi::Event::kDisconnected);
  EXPECT_EQ(client.core->identities(), 0U);
}

TEST_F(Connect, ForgetsARequestWhoseListenerIsDestroyed) {
  Program listening(server);
  Program connecting(client);
  const auto listener = start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  EXPECT_EQ(server.waiting[listening.channel], 1U);
  EXPECT_EQ(listening.destroy(listener), 0U);
  settle();
  EXPECT_EQ(server.waiting[listening.channel], 0U);
  EXPECT_EQ(server.core->identities(), 0U);
  connecting.expect(abi::Event::kRejected);
}

TEST_F(Connect, RefusesRequestsBeyondTheBacklog) {
  Program listening(server);
  Program connecting(client);
  const auto listener = listening.create(wire::PortSpace::kTcp, kListenerUid).value();
  ASSERT_EQ(listening.bind(listener, Address::ip(server.address, 7174)), std::errc{});
  ASSERT_EQ(listening.listen(listener, 2), std::errc{});
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto id = start_client(connecting, 7174);
    ASSERT_EQ(connecting.connect(id, parameters(0x111U + i)), std::errc{});
    settle();
  }
  connecting.expect(abi::Event::kRejected);
  EXPECT_EQ(server.waiting[listening.channel], 2U);
  // A request that the program has read makes room for another.
  listening.expect(abi::Event::kConnectRequest);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x114)), std::errc{});
  settle();
  EXPECT_FALSE(connecting.event());
  EXPECT_EQ(server.waiting[listening.channel], 2U);
}

TEST_F(Connect, DropsEventsOfAConnectionThatNoProgramHasTakenYet) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  ASSERT_TRUE(connecting.destroy(id));
  settle();
  EXPECT_FALSE(listening.event());
  EXPECT_EQ(listening.accept(request.id, parameters(0x222), kServerUid),
            std::errc::invalid_argument);
}

TEST_F(Connect, ConnectsOverALossyNetwork) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, 7174);
  const auto id = start_client(connecting, 7174);
  DrawnEntropy luck(7);
  wire.lose = [&] { return luck.draw() % 3 != 0; };
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  pass(60s);
  const auto request = listening.expect(abi::Event::kConnectRequest);
  ASSERT_EQ(listening.accept(request.id, parameters(0x222), kServerUid), std::errc{});
  pass(120s);
  connecting.expect(abi::Event::kConnectResponse);
  ASSERT_EQ(connecting.accept(id, {}, 0), std::errc{});
  pass(120s);
  listening.expect(abi::Event::kEstablished);
  EXPECT_FALSE(listening.event());
  EXPECT_FALSE(connecting.event());
}

}  // namespace
}  // namespace weft::rdmacm

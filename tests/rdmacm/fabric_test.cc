// SPDX-License-Identifier: Apache-2.0
// rdma_cm between ports of a fabric: paths, connections, datagrams.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "two_nodes.h"
#include "wire/cm_connect.h"

namespace weft::rdmacm {
namespace {

TEST_F(OnFabric, AsksForThePathBetweenTheGidsOfBothPorts) {
  const auto id = start_client(connecting);
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  ASSERT_EQ(client.asked.size(), 1u);
  EXPECT_EQ(client.asked[0].identifier, id);
  EXPECT_EQ(client.asked[0].question.sgid, client.gid);
  EXPECT_EQ(client.asked[0].question.dgid, server.gid);
  EXPECT_EQ(client.asked[0].question.port, 2);
  EXPECT_EQ(client.asked[0].question.service, wire::ip_service_id(wire::PortSpace::kTcp, 7000))
      << "by which rules for paths tell what is to be connected";
  EXPECT_EQ(client.asked[0].question.patience, 2s);
  EXPECT_FALSE(connecting.event().has_value());
  EXPECT_EQ(connecting.resolve_route(id), std::errc::invalid_argument) << "one at a time";
  client.core->route_found(id, path_to_server());
  connecting.expect(abi::Event::kRouteResolved);
}

TEST_F(OnFabric, SaysThatAnAddressIsNobodys) {
  const auto id = connecting.create(wire::PortSpace::kTcp, 0xB1).value();
  ASSERT_EQ(connecting.resolve(id, Address::ip(ipv4(9), 7000)), std::errc{});
  const auto event = connecting.expect(abi::Event::kAddrError);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -EHOSTUNREACH);
}

TEST_F(OnFabric, AsksForAnAddressOfWhichItKnowsNothing) {
  const auto id = connecting.create(wire::PortSpace::kTcp, 0xB1).value();
  ASSERT_EQ(connecting.resolve(id, Address::ip(ipv4(kAskedFor), 7000)), std::errc{});
  ASSERT_EQ(client.hosts_asked.size(), 1u);
  EXPECT_EQ(client.hosts_asked[0].first, id);
  EXPECT_EQ(client.hosts_asked[0].second.address, ipv4(kAskedFor));
  EXPECT_EQ(client.hosts_asked[0].second.port, 2);
  EXPECT_EQ(client.hosts_asked[0].second.patience, 2s);
  EXPECT_FALSE(connecting.event().has_value());
  EXPECT_EQ(connecting.resolve(id, Address::ip(server.address, 7000)), std::errc::invalid_argument)
      << "one at a time";
  EXPECT_EQ(connecting.listen(id), std::errc::invalid_argument);
  EXPECT_EQ(connecting.resolve_route(id), std::errc::invalid_argument);
  client.core->host_found(id, gid_of(9));
  connecting.expect(abi::Event::kAddrResolved);
  client.core->host_found(id, gid_of(8));
  EXPECT_FALSE(connecting.event().has_value()) << "nothing was asked any more";
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  EXPECT_EQ(client.asked.at(0).question.dgid, gid_of(9));
}

TEST_F(OnFabric, SaysThatNobodyKnowsAnAddressAndMayBeAskedAgain) {
  const auto id = connecting.create(wire::PortSpace::kTcp, 0xB1).value();
  client.has_manager = false;
  ASSERT_EQ(connecting.resolve(id, Address::ip(ipv4(kAskedFor), 7000)), std::errc{});
  auto event = connecting.expect(abi::Event::kAddrError);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -ENETUNREACH);
  client.has_manager = true;
  ASSERT_EQ(connecting.resolve(id, Address::ip(ipv4(kAskedFor), 7000)), std::errc{});
  client.core->host_failed(id, std::errc::host_unreachable);
  event = connecting.expect(abi::Event::kAddrError);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -EHOSTUNREACH);
  ASSERT_EQ(connecting.resolve(id, Address::ip(ipv4(kAskedFor), 7000)), std::errc{});
  ASSERT_TRUE(connecting.destroy(id));
  EXPECT_EQ(client.forgotten, std::vector{id});
  client.core->host_found(id, gid_of(9));
  EXPECT_FALSE(connecting.event().has_value());
}

TEST_F(OnFabric, SaysWhyThereIsNoPathAndMayBeAskedAgain) {
  const auto id = start_client(connecting);
  client.has_manager = false;
  EXPECT_EQ(connecting.resolve_route(id), std::errc::network_unreachable);
  client.has_manager = true;
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  client.core->route_failed(id, std::errc::timed_out);
  auto event = connecting.expect(abi::Event::kRouteError);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -ETIMEDOUT);
  client.core->route_failed(id, std::errc::timed_out);
  EXPECT_FALSE(connecting.event().has_value()) << "nothing was asked";

  // Paths that cannot be: to no port, and from a LID that is not ours.
  for (const auto& [dlid, slid] : {std::pair<int, int>{0, 2 * kFirstLid},
                                   {0xC001, 2 * kFirstLid},
                                   {kFirstLid, 2 * kFirstLid + 4}}) {
    ASSERT_EQ(connecting.resolve_route(id), std::errc{});
    PathRecord path = path_to_server();
    path.dlid = Lid{static_cast<std::uint16_t>(dlid)};
    path.slid = Lid{static_cast<std::uint16_t>(slid)};
    client.core->route_found(id, path);
    event = connecting.expect(abi::Event::kRouteError);
    EXPECT_EQ(static_cast<std::int32_t>(event.status), -EHOSTUNREACH);
  }
  // And one in a partition that the port is not in.
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  PathRecord foreign = path_to_server();
  foreign.pkey = PKey{0x8123};
  client.core->route_found(id, foreign);
  connecting.expect(abi::Event::kRouteError);

  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  client.core->route_found(id, path_to_server());
  connecting.expect(abi::Event::kRouteResolved);
}

TEST_F(OnFabric, ForgetsAQuestionWithItsIdentifier) {
  const auto id = start_client(connecting);
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  ASSERT_TRUE(connecting.destroy(id));
  EXPECT_EQ(client.forgotten, std::vector{id});
  client.core->route_found(id, path_to_server());
  EXPECT_FALSE(connecting.event().has_value());
}

TEST_F(OnFabric, SendsTheLidsOfThePathAndTheIpAddressesBesideThem) {
  std::optional<wire::CmReq> req;
  wire.sees = [&](Bytes mad) {
    if (!req) req = wire::CmReq::parse(mad.subspan(wire::MadHeader::kSize));
  };
  start_listener(listening);
  const auto id = start_routed_client(connecting);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  ASSERT_TRUE(req);
  EXPECT_EQ(req->primary.local_lid, Lid{2 * kFirstLid + 3});
  EXPECT_EQ(req->primary.remote_lid, Lid{kFirstLid + 1});
  EXPECT_EQ(req->primary.local_gid, client.gid);
  EXPECT_EQ(req->primary.remote_gid, server.gid);
  EXPECT_TRUE(req->primary.subnet_local);
  EXPECT_EQ(req->primary.sl, Sl{4});
  EXPECT_EQ(req->primary.packet_rate, 7);
  EXPECT_EQ(req->primary.ack_timeout, 14) << "twice the time that a packet lives";
  EXPECT_EQ(req->pkey, PKey{0x8007});
  EXPECT_EQ(req->path_mtu, 4) << "2048 bytes";
  const auto header = wire::CmIpHeader::parse(req->private_data);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->source_gid(), client.address);
  EXPECT_EQ(header->destination_gid(), server.address);
}

TEST_F(OnFabric, LeadsTheQueuePairsOfBothEndsByLid) {
  start_listener(listening);
  const auto id = start_routed_client(connecting);
  ASSERT_EQ(connecting.attributes(id, hca::QpState::kInit)->pkey_index, 5);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  ASSERT_EQ(listening.accept(request.id, parameters(0x222), 0xA2), std::errc{});
  settle();
  connecting.expect(abi::Event::kConnectResponse);

  const auto ours = connecting.attributes(id, hca::QpState::kRtr).value();
  EXPECT_EQ(ours.ah_attr.dlid, kFirstLid + 1);
  EXPECT_EQ(ours.ah_attr.src_path_bits, 3);
  EXPECT_EQ(ours.ah_attr.sl, 4);
  EXPECT_EQ(ours.ah_attr.static_rate, 7);
  EXPECT_EQ(ours.ah_attr.is_global, 0);
  EXPECT_EQ(ours.ah_attr.port_num, 2);
  EXPECT_EQ(ours.path_mtu, 4u);
  EXPECT_EQ(connecting.attributes(id, hca::QpState::kRts)->timeout, 14);
  const auto theirs = listening.attributes(request.id, hca::QpState::kRtr).value();
  EXPECT_EQ(theirs.ah_attr.dlid, 2 * kFirstLid + 3);
  EXPECT_EQ(theirs.ah_attr.src_path_bits, 1);
  EXPECT_EQ(theirs.ah_attr.sl, 4);
  EXPECT_EQ(theirs.ah_attr.is_global, 0);
  EXPECT_EQ(listening.attributes(request.id, hca::QpState::kInit)->pkey_index, 5);

  ASSERT_EQ(connecting.accept(id, {}, 0), std::errc{});
  settle();
  listening.expect(abi::Event::kEstablished);
  ASSERT_EQ(connecting.disconnect(id), std::errc{});
  settle();
  listening.expect(abi::Event::kDisconnected);
}

// LIDs of one subnet mean nothing in another.
TEST_F(OnFabric, SendsNoLidsBeyondTheSubnet) {
  std::optional<wire::CmReq> req;
  wire.sees = [&](Bytes mad) {
    if (!req) req = wire::CmReq::parse(mad.subspan(wire::MadHeader::kSize));
  };
  const auto id = start_client(connecting);
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  PathRecord path = path_to_server();
  path.hop_limit = 255;
  client.core->route_found(id, path);
  connecting.expect(abi::Event::kRouteResolved);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  ASSERT_TRUE(req);
  EXPECT_FALSE(req->primary.subnet_local);
  EXPECT_EQ(req->primary.local_lid, Lid{wire::CmPath::kPermissiveLid});
  EXPECT_EQ(req->primary.remote_lid, Lid{wire::CmPath::kPermissiveLid});
  EXPECT_EQ(req->primary.local_gid, client.gid);
  EXPECT_EQ(req->primary.remote_gid, server.gid);
  EXPECT_EQ(req->primary.hop_limit, 255);
}

TEST_F(OnFabric, ConnectsAndDisconnectsWhateverIsLost) {
  start_listener(listening);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    DrawnEntropy random(seed);
    wire.lose = [&random] { return random.draw() % 3 == 0; };
    const auto id = start_routed_client(connecting);
    ASSERT_EQ(connecting.connect(id, parameters(static_cast<std::uint32_t>(0x1000 + seed))),
              std::errc{});
    pass(60s);
    const auto request = listening.expect(abi::Event::kConnectRequest);
    const auto qpn = static_cast<std::uint32_t>(0x2000 + seed);
    ASSERT_EQ(listening.accept(request.id, parameters(qpn), 0xA2), std::errc{});
    pass(60s);
    connecting.expect(abi::Event::kConnectResponse);
    ASSERT_EQ(connecting.accept(id, {}, 0), std::errc{});
    pass(600s);  // who was asked for patience repeats after 69 s
    listening.expect(abi::Event::kEstablished);
    ASSERT_EQ(connecting.disconnect(id), std::errc{});
    pass(600s);
    connecting.expect(abi::Event::kDisconnected);
    listening.expect(abi::Event::kDisconnected);
    for (auto* program : {&connecting, &listening}) {
      while (program->event()) {
      }
    }
    ASSERT_TRUE(connecting.destroy(id));
    ASSERT_TRUE(listening.destroy(request.id));
  }
}

TEST_F(OnFabric, FindsQueuePairsOfDatagramsByLid) {
  const auto listener = listening.create(wire::PortSpace::kUdp, 0xA1).value();
  ASSERT_EQ(listening.bind(listener, Address::ip(server.address, 7000)), std::errc{});
  ASSERT_EQ(listening.listen(listener), std::errc{});
  const auto id = start_client(connecting, wire::PortSpace::kUdp);
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  client.core->route_found(id, path_to_server());
  connecting.expect(abi::Event::kRouteResolved);
  ASSERT_EQ(connecting.connect(id, parameters(0)), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  EXPECT_EQ(request.param.ud.ah_attr.dlid, 2 * kFirstLid + 3);
  EXPECT_EQ(request.param.ud.ah_attr.src_path_bits, 1);
  EXPECT_EQ(request.param.ud.ah_attr.is_global, 0);
  ASSERT_EQ(listening.accept(request.id, parameters(0x222), 0xA2), std::errc{});
  settle();
  const auto answer = connecting.expect(abi::Event::kEstablished);
  EXPECT_EQ(answer.param.ud.qp_num, 0x222u);
  EXPECT_EQ(answer.param.ud.ah_attr.dlid, kFirstLid + 1);
  EXPECT_EQ(answer.param.ud.ah_attr.src_path_bits, 3);
  EXPECT_EQ(answer.param.ud.ah_attr.sl, 4);
}

}  // namespace
}  // namespace weft::rdmacm

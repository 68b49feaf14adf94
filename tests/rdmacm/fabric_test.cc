// SPDX-License-Identifier: Apache-2.0
// rdma_cm between ports of a fabric: GIDs instead of IP addresses below, LIDs, and a subnet
// administrator that is asked for paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mgmt/cm_outbox.h"
#include "two_hosts.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_ip.h"
#include "wire/cm_refuse.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint8_t kLmc = 2;
constexpr std::uint16_t kFirstLid = 16;
constexpr std::uint8_t kAskedFor = 77;  // of an address that only the administrator knows

Gid gid_of(std::uint8_t number) {
  return Gid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, number}};
}

// A node: its port has an IP address, a GID and four LIDs.
class Node final : public Interfaces, public mgmt::MadSink, public EventSignal, public Routes {
 public:
  struct Asked {
    std::uint32_t identifier;
    RouteQuestion question;
  };

  Node(Wire& wire, std::uint8_t number)
      : address(ipv4(number)),
        gid(gid_of(number)),
        lid(static_cast<std::uint16_t>(kFirstLid * number)),
        wire_(wire),
        entropy_(number) {
    core.emplace(CoreConfig{}, *this, entropy_, *this, *this, this);
    wire.give_lids(gid, lid, kLmc);
    wire.attach(gid, [this](Bytes mad, const hca::Path& from) {
      core->receive(mad, from, kDefaultPKey, now);
    });
  }

  std::optional<mgmt::LocalEnd> find(const Gid& wanted) const override {
    const auto known = describe(wanted, 0);
    return known ? std::optional(known->end) : std::nullopt;
  }
  std::optional<LocalAddress> describe(const Gid& wanted, std::uint32_t) const override {
    if (wanted != address && wanted != gid) return std::nullopt;
    LocalAddress out;
    out.end = {.ca_guid = Guid{lid.value()},
               .port = 2,
               .on_fabric = true,
               .lid = has_lid ? lid : Lid{},
               .lmc = kLmc};
    out.gid = gid;
    out.path_mtu = 4096;
    return out;
  }
  std::optional<std::uint16_t> pkey_index(const mgmt::LocalEnd&, PKey pkey) const override {
    if (pkey.value() == 0x8007) return std::uint16_t{5};
    return pkey == kDefaultPKey ? std::optional<std::uint16_t>(0) : std::nullopt;
  }
  tl::expected<Gid, std::errc> source_for(const Gid&, std::uint32_t) const override {
    return address;
  }
  tl::expected<Gid, std::errc> peer(const Gid& wanted) const override {
    for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}}) {
      if (wanted == ipv4(number)) return gid_of(number);
    }
    return tl::unexpected(wanted == ipv4(kAskedFor) ? std::errc::operation_in_progress
                                                    : std::errc::host_unreachable);
  }
  void send(const hca::Path& to, PKey, std::span<const std::byte, mgmt::kMadSize> mad) override {
    wire_.send(to, mad);
  }
  void raised(ChannelId channel) override { ++waiting[channel]; }
  void withdrawn(ChannelId channel, std::size_t count) override { waiting[channel] -= count; }
  void agreed(const hca::Agreement&) override {}
  std::errc ask(std::uint32_t identifier, const RouteQuestion& question) override {
    if (!has_manager) return std::errc::network_unreachable;
    asked.push_back({identifier, question});
    return {};
  }
  std::errc find_host(std::uint32_t identifier, const HostQuestion& question) override {
    if (!has_manager) return std::errc::network_unreachable;
    hosts_asked.emplace_back(identifier, question);
    return {};
  }
  std::errc join(std::uint32_t membership, const GroupQuestion& question) override {
    if (!has_manager) return std::errc::network_unreachable;
    joining.emplace_back(membership, question);
    return {};
  }
  void leave(const GroupQuestion& question) override { left.push_back(question.mgid); }
  void forget(std::uint32_t identifier) override { forgotten.push_back(identifier); }

  Gid address;
  Gid gid;
  Lid lid;
  bool has_lid = true;
  bool has_manager = true;
  Time now{};
  std::map<ChannelId, std::size_t> waiting;
  std::vector<Asked> asked;
  std::vector<std::pair<std::uint32_t, HostQuestion>> hosts_asked;
  std::vector<std::uint32_t> forgotten;
  std::vector<std::pair<std::uint32_t, GroupQuestion>> joining;
  std::vector<Gid> left;
  std::optional<CommandCore> core;

 private:
  Wire& wire_;
  DrawnEntropy entropy_;
};

class OnFabric : public TwoEnds<Node> {
 protected:
  static PathRecord path_to_server() {
    PathRecord path;
    path.sgid = gid_of(2);
    path.dgid = gid_of(1);
    path.dlid = Lid{kFirstLid + 1};
    path.slid = Lid{2 * kFirstLid + 3};
    path.pkey = PKey{0x8007};
    path.sl = Sl{4};
    path.mtu = 2048;
    path.rate = 7;
    path.packet_life = 13;
    path.hop_limit = 0;
    return path;
  }
  std::uint32_t start_listener(ProgramOf<Node>& program) {
    const auto id = program.create(wire::PortSpace::kTcp, 0xA1).value();
    EXPECT_EQ(program.bind(id, Address::ip(server.address, 7000)), std::errc{});
    EXPECT_EQ(program.listen(id), std::errc{});
    return id;
  }
  std::uint32_t start_client(ProgramOf<Node>& program,
                             wire::PortSpace space = wire::PortSpace::kTcp) {
    const auto id = program.create(space, 0xB1).value();
    EXPECT_EQ(program.resolve(id, Address::ip(server.address, 7000)), std::errc{});
    program.expect(abi::Event::kAddrResolved);
    return id;
  }
  std::uint32_t start_routed_client(ProgramOf<Node>& program) {
    const auto id = start_client(program);
    EXPECT_EQ(program.resolve_route(id), std::errc{});
    client.core->route_found(id, path_to_server());
    program.expect(abi::Event::kRouteResolved);
    return id;
  }

  ProgramOf<Node> listening{server};
  ProgramOf<Node> connecting{client};
};

TEST_F(OnFabric, AsksForThePathBetweenTheGidsOfBothPorts) {
  const auto id = start_client(connecting);
  ASSERT_EQ(connecting.resolve_route(id), std::errc{});
  ASSERT_EQ(client.asked.size(), 1u);
  EXPECT_EQ(client.asked[0].identifier, id);
  EXPECT_EQ(client.asked[0].question.sgid, client.gid);
  EXPECT_EQ(client.asked[0].question.dgid, server.gid);
  EXPECT_EQ(client.asked[0].question.port, 2);
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

// What the client would ask for, from the LID that its path says and from others.
class HostileOnFabric : public OnFabric {
 protected:
  wire::CmReq request() const {
    return {.local_comm_id = wire::CommId{0xC0FFEE},
            .service_id = wire::ip_service_id(wire::PortSpace::kTcp, 7000),
            .local_qpn = Qpn{0x500},
            .pkey = kDefaultPKey,
            .path_mtu = 3,
            .primary = {.local_lid = client.lid,
                        .remote_lid = server.lid,
                        .local_gid = client.gid,
                        .remote_gid = server.gid,
                        .subnet_local = true}};
  }
  hca::Path from(Lid lid) const {
    hca::Path path;
    path.sgid = server.gid;
    path.dlid = lid;
    path.global = false;
    return path;
  }
  template <class Message>
  void send(const Message& message, Lid lid) {
    server.core->receive(mgmt::make_mad(message, ++transaction_), from(lid), kDefaultPKey,
                         server.now);
  }
  // Why the server refuses; nothing when it does not.
  std::optional<mgmt::RejectReason> refusal(const wire::CmReq& req, Lid lid) {
    std::optional<mgmt::RejectReason> out;
    wire.sees = [&](Bytes mad) {
      const auto header = wire::MadHeader::parse(mad);
      if (header->attribute_id != static_cast<std::uint16_t>(wire::CmMessage::kRej)) return;
      out = wire::CmRej::parse(mad.subspan(wire::MadHeader::kSize))->reason;
    };
    send(req, lid);
    settle();
    wire.sees = {};
    return out;
  }

 private:
  std::uint64_t transaction_ = 0;
};

TEST_F(HostileOnFabric, PathsMustLeadToUsAndBackToTheirSender) {
  using Reason = mgmt::RejectReason;
  start_listener(listening);
  wire::CmReq bad = request();
  bad.primary.remote_lid = Lid{static_cast<std::uint16_t>(server.lid.value() + 4)};
  EXPECT_EQ(refusal(bad, client.lid), Reason::kPrimaryLidRejected) << "none of the four";
  for (const unsigned lid : {0U, 0xC000U, 0xFFFFU}) {
    bad = request();
    bad.primary.local_lid = Lid{static_cast<std::uint16_t>(lid)};
    EXPECT_EQ(refusal(bad, client.lid), Reason::kPrimaryLidRejected) << lid;
  }
  EXPECT_EQ(refusal(request(), Lid{99}), Reason::kUnsupportedRequest) << "somebody else's LID";
  bad = request();
  bad.primary.remote_gid = gid_of(9);
  EXPECT_EQ(refusal(bad, client.lid), Reason::kPrimaryGidRejected);
  bad = request();
  bad.alternate = bad.primary;
  bad.alternate.remote_lid = Lid{1};
  EXPECT_EQ(refusal(bad, client.lid), Reason::kAlternateLidRejected);
  bad = request();
  bad.pkey = PKey{0x8123};
  EXPECT_EQ(refusal(bad, client.lid), Reason::kUnsupportedRequest) << "not a member";
  server.has_lid = false;
  EXPECT_EQ(refusal(request(), client.lid), Reason::kPrimaryLidRejected) << "it has lost its LID";
  server.has_lid = true;
  EXPECT_FALSE(listening.event().has_value());

  wire::CmReq good = request();
  wire::CmIpHeader::between(client.address, 1, server.address)
      .write(MutableBytes(good.private_data).first(wire::CmIpHeader::kSize));
  EXPECT_EQ(refusal(good, client.lid), std::nullopt);
  listening.expect(abi::Event::kConnectRequest);
}

TEST_F(HostileOnFabric, NobodyElseMayAnswerForAPeer) {
  start_listener(listening);
  const auto id = start_routed_client(connecting);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto asked = listening.expect(abi::Event::kConnectRequest);
  ASSERT_EQ(listening.accept(asked.id, parameters(0x222), 0xA2), std::errc{});
  settle();
  connecting.expect(abi::Event::kConnectResponse);
  wire::CommId ours{};
  wire::CommId theirs{};
  wire.sees = [&](Bytes mad) {
    const auto rtu = wire::CmRtu::parse(mad.subspan(wire::MadHeader::kSize));
    theirs = rtu->local_comm_id;
    ours = rtu->remote_comm_id;
  };
  ASSERT_EQ(connecting.accept(id, {}, 0), std::errc{});
  settle();
  wire.sees = {};
  listening.expect(abi::Event::kEstablished);

  const wire::CmDreq dreq{
      .local_comm_id = theirs, .remote_comm_id = ours, .remote_qpn = Qpn{0x222}};
  const auto strangers = [&] {
    return server.core->manager().counters().get(mgmt::CmCounter::kRxWrongPeer);
  };
  const auto before = strangers();
  send(dreq, Lid{99});
  EXPECT_EQ(strangers(), before + 1);
  EXPECT_FALSE(listening.event().has_value());
  send(dreq, Lid{2 * kFirstLid + 3});
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

// Hosts of other subnets, behind one router.
class RoutedToFabric : public HostileOnFabric {
 protected:
  static constexpr Lid kRouter{99};
  static Gid far(std::uint8_t number) {
    return Gid{{0xFD, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, number}};
  }
  wire::CmReq routed_request(std::uint8_t host) const {
    wire::CmReq req = request();
    req.primary = {.local_lid = Lid{wire::CmPath::kPermissiveLid},
                   .remote_lid = Lid{wire::CmPath::kPermissiveLid},
                   .local_gid = far(host),
                   .remote_gid = server.gid,
                   .hop_limit = 60};
    wire::CmIpHeader::between(far(host), 1, server.address)
        .write(MutableBytes(req.private_data).first(wire::CmIpHeader::kSize));
    return req;
  }
  void arrive(const wire::CmReq& req, const Gid& source) {
    hca::Path by = from(kRouter);
    by.global = true;
    by.dgid = source;
    by.sl = Sl{3};
    by.source_path_bits = 2;
    server.core->receive(mgmt::make_mad(req, ++transaction_), by, kDefaultPKey, server.now);
    settle();
  }
  std::uint64_t refused() const {
    return server.core->manager().counters().get(mgmt::CmCounter::kRefusedInvalid);
  }

 private:
  std::uint64_t transaction_ = 100;
};

TEST_F(RoutedToFabric, AnswersByTheWayThatARequestCame) {
  start_listener(listening);
  arrive(routed_request(1), far(1));
  const auto asked = listening.expect(abi::Event::kConnectRequest);
  const auto path = listening.attributes(asked.id, hca::QpState::kRtr).value().ah_attr;
  EXPECT_EQ(path.dlid, kRouter.value());
  EXPECT_EQ(path.src_path_bits, 2);
  EXPECT_EQ(path.sl, 3);
  EXPECT_EQ(path.is_global, 1);
  EXPECT_EQ(path.grh.hop_limit, 60);
  EXPECT_EQ(std::memcmp(path.grh.dgid, far(1).bytes().data(), 16), 0);
}

TEST_F(RoutedToFabric, TellsHostsBehindARouterApart) {
  start_listener(listening);
  arrive(routed_request(1), far(1));
  arrive(routed_request(2), far(2));  // with the same communication ID, and the same queue pair
  const auto first = listening.expect(abi::Event::kConnectRequest);
  const auto second = listening.expect(abi::Event::kConnectRequest);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(refused(), 0u);
}

TEST_F(RoutedToFabric, IsNotMadeToSendToSomebodyWhoHasNotAsked) {
  start_listener(listening);
  arrive(routed_request(1), far(2));
  EXPECT_EQ(refused(), 1u);
  EXPECT_EQ(refusal(routed_request(1), kRouter), mgmt::RejectReason::kUnsupportedRequest)
      << "without a GRH";
  EXPECT_FALSE(listening.event().has_value());
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

class GroupsOnFabric : public OnFabric {
 protected:
  std::uint32_t bound() {
    const auto id = connecting.create(wire::PortSpace::kUdp, 0xB1).value();
    EXPECT_EQ(connecting.bind(id, Address::ip(client.address, 0)), std::errc{});
    return id;
  }
  tl::expected<std::uint32_t, std::errc> join(std::uint32_t id) {
    rdma_ucm_join_ip_mcast command{};
    command.uid = 0xC1;
    command.id = id;
    std::array<std::byte, Address::kStorage> raw{};
    Address::ip(Gid::from_ipv4(0xEF010203), 0).write(raw);
    std::memcpy(&command.addr, raw.data(), sizeof command.addr);
    const auto joined =
        connecting.run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_IP_MCAST, command);
    if (!joined) return tl::unexpected(joined.error());
    return joined->id;
  }
  std::errc leave(std::uint32_t membership) {
    rdma_ucm_destroy_id command{};
    command.id = membership;
    const auto left =
        connecting.run<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_LEAVE_MCAST, command);
    return left ? std::errc{} : left.error();
  }
  GroupRecord group() const {
    return {.mgid = kMgid,
            .mlid = Lid{0xC005},
            .qkey = QKey{77},
            .sl = Sl{3},
            .rate = 6,
            .flow_label = 9,
            .hop_limit = 0,
            .traffic_class = 2};
  }
  // RFC 4391, with rdma_cm's signature: 239.1.2.3 without its first four bits.
  static constexpr Gid kMgid{{0xFF, 0x12, 0x40, 0x01, 0xFF, 0xFF, 0, 0,  //
                              0, 0, 0, 0, 0x0F, 0x01, 0x02, 0x03}};
};

TEST_F(GroupsOnFabric, AreJoinedThroughTheSubnetAdministrator) {
  const auto membership = join(bound());
  ASSERT_TRUE(membership);
  ASSERT_EQ(client.joining.size(), 1u);
  const GroupQuestion& question = client.joining[0].second;
  EXPECT_EQ(question.mgid, kMgid) << question.mgid.to_string();
  EXPECT_EQ(question.port_gid, client.gid);
  EXPECT_EQ(question.qkey, QKey{0x01234567});
  EXPECT_FALSE(connecting.event().has_value());
  client.core->group_joined(*membership, group());
  const auto event = connecting.expect(abi::Event::kMulticastJoin);
  EXPECT_EQ(event.uid, 0xC1u);
  EXPECT_EQ(event.param.ud.qkey, 77u);
  EXPECT_EQ(event.param.ud.qp_num, 0xFFFFFFu);
  const auto& ah = event.param.ud.ah_attr;
  EXPECT_EQ(ah.dlid, 0xC005);
  EXPECT_EQ(ah.is_global, 1);
  EXPECT_EQ(ah.sl, 3);
  EXPECT_EQ(ah.static_rate, 6);
  EXPECT_EQ(ah.grh.flow_label, 9u);
  EXPECT_TRUE(std::equal(std::begin(ah.grh.dgid), std::end(ah.grh.dgid), kMgid.bytes().begin()));
  client.core->group_joined(*membership, group());
  EXPECT_FALSE(connecting.event().has_value()) << "nothing was asked";
}

TEST_F(GroupsOnFabric, AreLeftWithTheLastWhoHasJoined) {
  const auto first = bound();
  const auto second = bound();
  const auto one = join(first);
  const auto other = join(second);
  ASSERT_TRUE(one && other);
  client.core->group_joined(*one, group());
  EXPECT_EQ(leave(*one), std::errc{});
  EXPECT_TRUE(client.left.empty());
  ASSERT_TRUE(connecting.destroy(second));
  EXPECT_EQ(client.left, std::vector{kMgid});
  EXPECT_EQ(client.forgotten, std::vector{*other});
}

TEST_F(GroupsOnFabric, AreLostWhenThePortHasToJoinThemAnew) {
  const auto joined = join(bound());
  ASSERT_TRUE(joined);
  client.core->group_joined(*joined, group());
  connecting.expect(abi::Event::kMulticastJoin);
  const auto asks = join(bound());
  ASSERT_TRUE(asks);
  client.core->groups_lost(1);
  EXPECT_FALSE(connecting.event().has_value()) << "that is another port";
  client.core->groups_lost(2);
  const auto event = connecting.expect(abi::Event::kMulticastError);
  EXPECT_EQ(event.uid, 0xC1u);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -ENETRESET);
  EXPECT_FALSE(connecting.event().has_value()) << "the other one is still asking";
  client.core->groups_lost(2);
  EXPECT_FALSE(connecting.event().has_value()) << "once";
  EXPECT_EQ(leave(*joined), std::errc{});
  EXPECT_TRUE(client.left.empty()) << "there is nobody to tell";
  client.core->group_joined(*asks, group());
  connecting.expect(abi::Event::kMulticastJoin);
}

TEST_F(GroupsOnFabric, SayWhyTheyAreNotJoined) {
  const auto id = bound();
  client.has_manager = false;
  EXPECT_EQ(join(id).error(), std::errc::network_unreachable);
  client.has_manager = true;
  const auto membership = join(id);
  ASSERT_TRUE(membership) << "what failed has left nothing";
  client.core->group_failed(*membership, std::errc::timed_out);
  const auto event = connecting.expect(abi::Event::kMulticastError);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -ETIMEDOUT);
  EXPECT_EQ(leave(*membership), std::errc{});
  EXPECT_TRUE(client.left.empty()) << "it never was a member";
}

}  // namespace
}  // namespace weft::rdmacm

// SPDX-License-Identifier: Apache-2.0
// A service GID in front of three servers: what they and their client see of each other.
#include "service/balancer/balancer.h"

#include <set>

#include "runtime_fixture.h"
#include "wire/cm_alternate.h"
#include "wire/cm_ip.h"

namespace weft::service::test {
namespace {

using wire::CommId;

class BalancerTest : public RuntimeTest {
 protected:
  static constexpr Qpn kQpA{0xAAA};
  static constexpr Qpn kQpServer{0x555};  // of each server
  const Gid service = gid(0x5E);
  const std::vector<Gid> gids{gid(0xB1), gid(0xB2), gid(0xB3)};

  BalancerTest() { begin({}); }
  void begin(const Balancer::Options& options) {
    restart({});
    balancer = std::make_unique<Balancer>(options, entropy);
    balancer->set_service(service);
    use({0, 1, 2});
    runtime->set_chain(kService, {.services = {balancer.get()}});
    for (std::size_t i = 0; i < gids.size(); ++i)
      runtime->pin_path(gids[i], {.dlid = lid_of(i), .slid = kService});
    runtime->pin_path(a, {.dlid = kA, .slid = kService});
  }
  static Lid lid_of(std::size_t server) { return Lid{static_cast<std::uint16_t>(0xB1 + server)}; }
  static Gid address_of(std::size_t server) {
    return Gid::from_ipv4(0x0A000001 + static_cast<std::uint32_t>(server));
  }
  void use(const std::vector<std::size_t>& which) {
    std::vector<Balancer::Server> servers;
    for (const std::size_t i : which)
      servers.push_back({.name = "s", .gid = gids[i], .address = address_of(i)});
    balancer->set_servers(servers);
  }
  [[nodiscard]] std::optional<std::size_t> index_of(const Gid& server) const {
    const auto found = std::ranges::find(gids, server);
    if (found == gids.end()) return std::nullopt;
    return static_cast<std::size_t>(found - gids.begin());
  }

  Made from_client(Made made) const {
    made = from_a(std::move(made));
    made.gids->second = service;
    return made;
  }
  Made from_server(std::size_t server, Made made) const {
    made.slid = lid_of(server);
    made.dlid = kService;
    made.gids = {gids[server], a};
    return made;
  }
  Made request(std::uint32_t id) const {
    wire::CmReq req{.local_comm_id = CommId{id}, .local_qpn = kQpA, .pkey = kDefaultPKey};
    req.primary = {.local_lid = kA, .remote_lid = kService, .local_gid = a, .remote_gid = service};
    return from_client(cm(req));
  }
  template <class Message>
  static Message message_of(const Buffer& packet) {
    const Fields fields = Fields::parse(packet);
    return *Message::parse(
        Bytes(packet).subspan(fields.payload_at + wire::MadHeader::kSize, wire::kCmBodySize));
  }
  struct Connected {
    std::size_t server = 0;
    Qpn client_sees{};
    Qpn server_sees{};
  };
  Connected connect(std::uint32_t id) {
    const Buffer req = through(request(id));
    EXPECT_FALSE(req.empty());
    if (req.empty()) return {};
    Connected out{.server = *index_of(Fields::parse(req).dgid),
                  .server_sees = message_of<wire::CmReq>(req).local_qpn};
    const Buffer rep =
        through(from_server(out.server, cm(wire::CmRep{.local_comm_id = CommId{id + 0x1000},
                                                       .remote_comm_id = CommId{id},
                                                       .local_qpn = kQpServer})));
    EXPECT_EQ(Fields::parse(rep).sgid, service);
    out.client_sees = message_of<wire::CmRep>(rep).local_qpn;
    const Buffer rtu = through(from_client(
        cm(wire::CmRtu{.local_comm_id = CommId{id}, .remote_comm_id = CommId{id + 0x1000}})));
    EXPECT_EQ(Fields::parse(rtu).dgid, gids[out.server]);
    return out;
  }
  static Made data(Qpn to) {
    Made made;
    made.bth.dest_qp = to;
    made.payload = Buffer(64);
    return made;
  }
  void expect_data_passes(const Connected& connected) {
    const Fields there = Fields::parse(through(from_client(data(connected.client_sees))));
    EXPECT_EQ(there.dgid, gids[connected.server]);
    EXPECT_EQ(there.dlid, lid_of(connected.server));
    EXPECT_EQ(there.slid, kService);
    EXPECT_EQ(there.sgid, a);
    EXPECT_EQ(there.dest_qp, kQpServer);
    const Fields back =
        Fields::parse(through(from_server(connected.server, data(connected.server_sees))));
    EXPECT_EQ(back.sgid, service);
    EXPECT_EQ(back.dgid, a);
    EXPECT_EQ(back.dlid, kA);
    EXPECT_EQ(back.dest_qp, kQpA);
  }
  std::uint64_t dropped(BalancerDrop why) const {
    return runtime->drops(*balancer)[static_cast<std::size_t>(why)].value;
  }

  std::unique_ptr<Balancer> balancer;
};

TEST_F(BalancerTest, SpreadsConnectionsAndKeepsEachWithItsServer) {
  std::set<std::size_t> used;
  std::vector<Connected> all;
  for (std::uint32_t id = 1; id <= 40; ++id) {
    all.push_back(connect(id));
    used.insert(all.back().server);
  }
  EXPECT_EQ(used.size(), 3u);
  for (const Connected& connected : all)
    expect_data_passes(connected);
}

TEST_F(BalancerTest, RequestFindsTheServerAsIfItHadBeenMeant) {
  begin({.address = Gid::from_ipv4(0x0A0000FE)});
  Made made = request(1);
  auto req = message_of<wire::CmReq>(make(made));
  req.service_id = wire::ip_service_id(wire::PortSpace::kTcp, 5432);
  wire::CmIpHeader::between(Gid::from_ipv4(0x0A000063), 77, Gid::from_ipv4(0x0A0000FE))
      .write(req.private_data);
  const Buffer got = through(from_client(cm(req)));
  const Fields fields = Fields::parse(got);
  const std::size_t server = *index_of(fields.dgid);
  const auto seen = message_of<wire::CmReq>(got);
  EXPECT_EQ(seen.primary.remote_gid, gids[server]);
  EXPECT_EQ(seen.primary.local_gid, a);
  EXPECT_EQ(seen.primary.local_lid, kService);
  EXPECT_EQ(seen.primary.remote_lid, lid_of(server));
  EXPECT_NE(seen.local_qpn, kQpA);
  EXPECT_EQ(fields.ip.destination, address_of(server));
  EXPECT_EQ(fields.ip.source, Gid::from_ipv4(0x0A000063));
  // One that names somebody else goes on as it is.
  wire::CmIpHeader::between(Gid::from_ipv4(0x0A000063), 77, Gid::from_ipv4(0x0A0000FD))
      .write(req.private_data);
  req.local_comm_id = CommId{2};
  EXPECT_EQ(Fields::parse(through(from_client(cm(req)))).ip.destination,
            Gid::from_ipv4(0x0A0000FD));
}

TEST_F(BalancerTest, RequestThatIsSentAgainGoesToTheSameServer) {
  for (std::uint32_t id = 1; id <= 20; ++id) {
    const Gid first = Fields::parse(through(request(id))).dgid;
    use({2, 1, 0});
    EXPECT_EQ(Fields::parse(through(request(id))).dgid, first);
  }
  EXPECT_EQ(balancer->mapper().connections(), 20u);
}

TEST_F(BalancerTest, ConnectionsStayWhenTheSetChangesAndNewOnesDoNotGoToWhoHasLeft) {
  std::vector<Connected> all;
  for (std::uint32_t id = 1; id <= 20; ++id)
    all.push_back(connect(id));
  use({1});
  for (const Connected& connected : all)
    expect_data_passes(connected);
  for (std::uint32_t id = 21; id <= 40; ++id)
    EXPECT_EQ(connect(id).server, 1u);
  use({});
  EXPECT_TRUE(through(request(50)).empty());
  EXPECT_EQ(dropped(BalancerDrop::kNoServer), 1u);
  for (const Connected& connected : all)
    expect_data_passes(connected);
}

TEST_F(BalancerTest, FewMoveWhenAServerComes) {
  use({0, 1});
  std::vector<Gid> before;
  for (std::uint32_t id = 1; id <= 200; ++id)
    before.push_back(Fields::parse(through(request(id))).dgid);
  now += 31s;  // nobody has answered: they are forgotten
  runtime->run(now);
  ASSERT_EQ(balancer->mapper().connections(), 0u);
  use({0, 1, 2});
  for (std::uint32_t id = 1; id <= 200; ++id) {
    const Gid after = Fields::parse(through(request(id))).dgid;
    EXPECT_TRUE(after == before[id - 1] || after == gids[2]) << id;
  }
}

TEST_F(BalancerTest, LeastGivesToWhoHasTheFewest) {
  begin({.spread = Balancer::Spread::kLeast});
  std::map<std::size_t, int> has;
  for (std::uint32_t id = 1; id <= 30; ++id)
    ++has[connect(id).server];
  for (const auto& [server, count] : has)
    EXPECT_EQ(count, 10) << server;
}

TEST_F(BalancerTest, ServerWithoutAPathIsLeftOutForAWhile) {
  begin({});
  restart({});
  runtime->set_chain(kService, {.services = {balancer.get()}});
  // Nobody is there but the second one.
  const auto answer = [this] {
    while (!questions.empty()) {
      const auto [number, question] = questions.front();
      questions.pop_front();
      EXPECT_EQ(question.sgid, Gid{});
      EXPECT_EQ(question.port, 1);
      std::optional<Path> path;
      if (question.dgid == gids[1]) path = Path{.dlid = lid_of(1), .slid = kService};
      runtime->path_answered(number, path, now);
    }
  };
  // As a client does that hears nothing.
  std::size_t tries = 0;
  for (; out.empty() && tries < 4; ++tries) {
    Buffer packet = make(request(7));
    handle(packet);
    answer();
  }
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(Fields::parse(out.front()).dgid, gids[1]);
  EXPECT_LE(tries, 3u);
}

TEST_F(BalancerTest, ServerThatDoesNotAnswerIsLeftOutForAWhile) {
  std::set<Gid> asked;
  for (int i = 0; i < 3; ++i) {
    asked.insert(Fields::parse(through(request(7))).dgid);
    now += 1s;
  }
  EXPECT_EQ(asked.size(), 3u) << "one after the other";
  // When all are silent, somebody is asked all the same.
  EXPECT_FALSE(through(request(7)).empty());
  now += 10s;
  use({0});
  const Connected connected = connect(8);
  EXPECT_EQ(connected.server, 0u);
  for (int i = 0; i < 3; ++i) {
    now += 2s;
    EXPECT_FALSE(through(request(9)).empty());
    expect_data_passes(connected);
  }
}

TEST_F(BalancerTest, NumbersAreNobodyElsesAndOthersAreTurnedAway) {
  const Connected connected = connect(1);
  Made stranger = from_client(data(connected.client_sees));
  stranger.gids->first = gid(0xEE);
  EXPECT_TRUE(through(stranger).empty());
  EXPECT_EQ(dropped(BalancerDrop::kForeignQp), 1u);
  // The server's own number is not what the client was told.
  EXPECT_TRUE(through(from_client(data(kQpServer))).empty());
  EXPECT_EQ(dropped(BalancerDrop::kNoMapping), 1u);
  // Another server has no part in it.
  EXPECT_TRUE(
      through(from_server((connected.server + 1) % 3, data(connected.server_sees))).empty());
  EXPECT_EQ(dropped(BalancerDrop::kForeignQp), 2u);
  // Neither to the service nor from a server.
  EXPECT_TRUE(through(from_a(data(connected.client_sees))).empty());
  EXPECT_EQ(dropped(BalancerDrop::kNotBalanced), 1u);
  EXPECT_TRUE(through(from_server(0, cm(wire::CmReq{.local_comm_id = CommId{9}}))).empty());
  EXPECT_EQ(dropped(BalancerDrop::kNotBalanced), 2u);
  EXPECT_TRUE(through(from_client(cm(wire::CmRtu{.local_comm_id = CommId{8}}))).empty());
  EXPECT_EQ(dropped(BalancerDrop::kUnknownConnection), 1u);
  EXPECT_TRUE(through(from_client(cm(wire::CmLap{.local_comm_id = CommId{1}}))).empty());
  EXPECT_EQ(dropped(BalancerDrop::kAlternatePath), 1u);
  Made local = from_client(data(connected.client_sees));
  local.gids.reset();
  EXPECT_TRUE(through(local).empty());
  EXPECT_EQ(dropped(BalancerDrop::kNoGrh), 1u);
}

TEST_F(BalancerTest, DatagramsGoToTheServerThatWasResolved) {
  const Buffer asked =
      through(from_client(cm(wire::CmSidrReq{.request_id = CommId{3}, .pkey = kDefaultPKey})));
  ASSERT_FALSE(asked.empty());
  const std::size_t server = *index_of(Fields::parse(asked).dgid);
  const Buffer told = through(from_server(
      server,
      cm(wire::CmSidrRep{.request_id = CommId{3}, .qpn = kQpServer, .qkey = QKey{0x4321}})));
  ASSERT_FALSE(told.empty());
  const auto rep = message_of<wire::CmSidrRep>(told);
  EXPECT_NE(rep.qpn, kQpServer);
  EXPECT_NE(rep.qkey, QKey{0x4321});
  Made made = datagram(Buffer(32), rep.qpn);
  made.deth = {.qkey = rep.qkey, .src_qp = kQpA};
  const Fields there = Fields::parse(through(from_client(made)));
  EXPECT_EQ(there.dgid, gids[server]);
  EXPECT_EQ(there.dest_qp, kQpServer);
  EXPECT_EQ(there.qkey, QKey{0x4321});
  made = datagram(Buffer(32), there.source_qp);
  made.deth = {.qkey = QKey{0x4321}, .src_qp = kQpServer};
  const Fields back = Fields::parse(through(from_server(server, made)));
  EXPECT_EQ(back.sgid, service);
  EXPECT_EQ(back.dest_qp, kQpA);
  EXPECT_EQ(back.source_qp, rep.qpn);
  // Also when it gets no new ones.
  use({});
  EXPECT_FALSE(through(from_server(server, made)).empty());
}

TEST_F(BalancerTest, AnotherInstanceGoesOnWithConnections) {
  const Connected connected = connect(1);
  Balancer other({}, entropy);
  other.set_service(service);
  std::vector<Balancer::Server> servers;
  for (const Gid& each : gids)
    servers.push_back({.name = "s", .gid = each});
  other.set_servers(servers);
  for (const Buffer& record : records)
    other.apply(record, now);
  runtime->set_chain(kService, {.services = {&other}});
  expect_data_passes(connected);
}

TEST_F(BalancerTest, StateIsBounded) {
  begin({.mapping = {.queue_pairs = {.entries = 8}, .connections = {.connections = 4}}});
  for (std::uint32_t id = 1; id <= 10; ++id)
    static_cast<void>(through(request(id)));
  EXPECT_EQ(balancer->mapper().connections(), 4u);
  EXPECT_EQ(dropped(BalancerDrop::kMapFull), 6u);
}

}  // namespace
}  // namespace weft::service::test

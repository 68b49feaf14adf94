// SPDX-License-Identifier: Apache-2.0
// rdma_cm on the nodes of a lab: programs that speak as the shim does, and as it never would.
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>

#include "../fabric/running_lab.h"
#include "agent_fixture.h"
#include "base/gid_text.h"
#include "daemon/lab/cm_server.h"
#include "daemon/lan/lan_subnet.h"
#include "rdmacm/path_record.h"
#include "sm/sa/subnet_view.h"
#include "wire/sa/member_record.h"
#include "wire/sa/sa_header.h"

namespace weft::daemon {
namespace {

constexpr const char* kLabCmLab = "[node.a]\n[node.b]\n[switch.s]\n[[link]]\nends = ['a', 'b']\n";

// A subnet administrator that knows the path between any two ports, and lets all into groups.
class Administrator final : private mgmt::MadClient {
 public:
  explicit Administrator(fabric::RunningLab& lab) : lab_(lab) {
    for (const char* name : {"a", "b"}) {
      fabric::Node& node = *lab.fabric.find_node(name);
      if (node.port_info(1).lid == Lid{1}) node_ = &node;
    }
    mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kSubnAdm,
                              .class_version = wire::kSaClassVersion};
    for (const auto method : {wire::MadMethod::kGet, wire::MadMethod::kSet})
      wanted.methods.set(static_cast<std::size_t>(method));
    agent_ = node_->management().mad_port(1).add_agent(wanted, *this).value();
  }

  std::atomic<bool> knows = true;
  std::atomic<bool> answers = true;
  // Of the group that there is; 0: there is none, and who joins makes one.
  std::atomic<std::uint8_t> hop_limit = 0;
  std::atomic<int> joins = 0;  // that were asked for

 private:
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    if (!answers) return;
    std::vector<std::byte> answer(mad.mad.begin(), mad.mad.end());
    auto header = *wire::MadHeader::parse(answer);
    header.method = wire::MadMethod::kGetResponse;
    header.status = knows ? 0 : 0x0300;
    const MutableBytes data = MutableBytes(answer).subspan(wire::SaHeader::kDataOffset);
    if (header.attribute_id == wire::MemberRecord::kAttributeId) {
      header.status = join(wire::SaHeader::parse(answer)->component_mask, data) ? 0 : 0x0200;
    } else {
      answer_path(data);
    }
    header.write(answer);
    auto to = mad.from;
    to.qkey = kGsiQKey;
    EXPECT_TRUE(node_->management().mad_port(1).send(agent_, {.to = to, .mad = answer}, lab_.now));
    node_->management_used();
  }
  // IBA 15.2.5.17: who names a component that the group has not is refused.
  bool join(std::uint64_t mask, MutableBytes data) {
    ++joins;
    wire::MemberRecord record = *wire::MemberRecord::parse(data);
    const bool named = (mask & wire::MemberRecord::kHasHopLimit) != 0;
    if (hop_limit != 0 && named && record.hop_limit != hop_limit) return false;
    if (hop_limit != 0 || !named) record.hop_limit = hop_limit;
    record.mlid = Lid{0xC001};
    record.write(data);
    return true;
  }
  void answer_path(MutableBytes data) const {
    rdmacm::PathRecord path(*wire::PathRecord::parse(data));
    path.slid = lid_of(path.sgid);
    path.dlid = lid_of(path.dgid);
    path.hop_limit = 0;
    path.mtu = 2048;
    path.pkey = kDefaultPKey;
    path.record().write(data);
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  Lid lid_of(const Gid& gid) const {
    const auto place = LabHosts(lab_.fabric).find(gid);
    return place ? lab_.fabric.node(place->node).port_info(place->port).lid : Lid{};
  }

  fabric::RunningLab& lab_;
  fabric::Node* node_ = nullptr;
  mgmt::AgentId agent_{};
};

// A LAN port that takes every connection, and tells when it has one.
class LanNeighbour final : public LanSubnetOwner {
 public:
  std::promise<void> made;
  std::atomic<bool> lost = false;

 private:
  void answered(std::uint64_t, const lan::Answer&) override {}
  void in_service(Guid) override {}
  void out_of_service(Guid) override {}
  std::optional<Qpn> asked(LanChannel, const lan::Sender&) override { return Qpn{0x301}; }
  bool modify(LanChannel, const mgmt::QpTransition&) override { return true; }
  void connected(LanChannel) override { made.set_value(); }
  void ended(LanChannel, LanChannelEnd) override { lost = true; }
};

class LabConnections : public ::testing::Test {
 protected:
  LabConnections() : lab_(fabric::lab_of(kLabCmLab)) {
    lab_.bring_up();
    administrator_ = std::make_unique<Administrator>(lab_);
    std::string pattern = testing::TempDir() + "weft-lab-cm-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    config_.socket = directory_ + "/rdma_cm";
    config_.max_connections = 8;
  }
  ~LabConnections() override {
    stopping_ = true;
    if (reactor_) reactor_->wake();
    if (running_.valid()) running_.get();
    lan_ports_.clear();
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  void serve() {
    reactor_ = std::move(*io::Reactor::create(0us));
    managers_ = std::make_unique<ConnectionManagers>(lab_.fabric, *reactor_, entropy_);
    auto server = CmServer::open(config_, *managers_, *reactor_, entropy_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    before_running_();
    running_ = std::async(std::launch::async, [this] {
      while (!stopping_) {
        lab_.now = io::now();
        const bool done = lab_.fabric.run(lab_.now);
        static_cast<void>(reactor_->run_once(done ? Duration{1ms} : Duration{0}));
      }
    });
  }
  static door::Hello hello(const std::string& node, door::Purpose purpose = door::kOpen) {
    door::Hello out = Client::hello(purpose, 1);
    node.copy(out.node, sizeof out.node);
    return out;
  }
  Client opened(const std::string& node) {
    Client out(config_.socket);
    const auto welcome = out.greet(hello(node));
    EXPECT_TRUE(welcome && welcome->error == 0) << (welcome ? welcome->message : "dropped");
    return out;
  }
  std::string refusal(const door::Hello& said) {
    Client client(config_.socket);
    const auto welcome = client.greet(said);
    if (!welcome) return "dropped";
    EXPECT_NE(welcome->error, 0);
    return welcome->message;
  }
  struct Pair {
    Client server;
    Client client;
  };
  // A connection that stands, from b to a.
  Pair connected() {
    Pair out{opened("a"), opened("b")};
    out.server.listen(out.server.create_id(1), kA, 7000);
    const auto id = out.client.create_id(2);
    out.client.resolve(id, kA, 7000);
    out.client.connect(id, 0x111);
    const auto request = out.server.await(abi::Event::kConnectRequest);
    out.server.accept(request.id, 0x222);
    out.client.await(abi::Event::kConnectResponse);
    rdma_ucm_accept ready{};
    ready.id = id;
    EXPECT_TRUE(out.client.run(RDMA_USER_CM_CMD_ACCEPT, ready));
    out.server.await(abi::Event::kEstablished);
    return out;
  }

  // The hop limit with which packets go to a group that b has joined.
  unsigned hops_to(const char* group) {
    Client client = opened("b");
    const auto id = client.create_id(3, RDMA_PS_UDP);
    client.bind(id, kB, 0);
    client.join(id, rdmacm::as_ib(*parse_gid(group), rdmacm::Address::ip(kB, 0), kDefaultPKey,
                                  wire::PortSpace::kUdp));
    return client.await(abi::Event::kMulticastJoin).param.ud.ah_attr.grh.hop_limit;
  }

  const Gid kA = Gid::from_ipv4(0x0AFE0001);
  const Gid kB = Gid::from_ipv4(0x0AFE0002);
  fabric::RunningLab lab_;
  std::unique_ptr<Administrator> administrator_;
  std::string directory_;
  CmServerConfig config_;
  io::SystemEntropy entropy_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<ConnectionManagers> managers_;
  std::function<void()> before_running_ = [] {};
  std::array<LanNeighbour, 2> lan_owners_;
  std::vector<std::unique_ptr<LanSubnet>> lan_ports_;
  std::unique_ptr<CmServer> server_;
  std::atomic<bool> stopping_ = false;
  std::future<void> running_;
};

TEST_F(LabConnections, JoinProgramsByTheAddressesOfTheirNodes) {
  serve();
  const Pair pair = connected();
  EXPECT_NE(pair.server.fd(), pair.client.fd());
}

TEST_F(LabConnections, EndWithTheProgramThatDies) {
  serve();
  Pair pair = connected();
  pair.client.vanish();
  pair.server.await(abi::Event::kDisconnected);
}

TEST_F(LabConnections, AreMadeBesideThoseOfLanPorts) {
  before_running_ = [&] {
    const fabric::Node& a = *lab_.fabric.find_node("a");
    const fabric::Node& b = *lab_.fabric.find_node("b");
    for (const fabric::Node* node : {&a, &b}) {
      const auto place =
          managers_->hosts().find(sm::make_gid(0xFE80'0000'0000'0000, node->port(1).guid()));
      auto& connections = **managers_->open(place->node);
      LanNeighbour& owner = lan_owners_[lan_ports_.size()];
      lan_ports_.push_back(LanSubnet::open(connections, 1, *reactor_, owner).value());
      ASSERT_TRUE(lan_ports_.back()->offer({.qpn = Qpn{0x300}, .qkey = QKey{1}}));
    }
    const lan::PeerPath path{
        .slid = a.port_info(1).lid, .dlid = b.port_info(1).lid, .sl = Sl{}, .mtu = 2048};
    ASSERT_TRUE(lan_ports_[0]->connect(b.port(1).guid(), path, Qpn{0x300}));
  };
  serve();
  Pair pair = connected();
  for (LanNeighbour& owner : lan_owners_)
    ASSERT_EQ(owner.made.get_future().wait_for(30s), std::future_status::ready);
  pair.client.vanish();
  pair.server.await(abi::Event::kDisconnected);
  EXPECT_FALSE(lan_owners_[0].lost || lan_owners_[1].lost);
}

TEST_F(LabConnections, AreRefusedWhereNobodyHasEverListened) {
  serve();
  Client client = opened("b");
  const auto id = client.create_id(2);
  client.resolve(id, kA, 7000);
  client.connect(id, 0x111);
  const auto event = client.await(abi::Event::kRejected);
  EXPECT_EQ(event.status, static_cast<std::uint32_t>(mgmt::RejectReason::kInvalidServiceId));
}

TEST_F(LabConnections, ReachTheirOwnNode) {
  serve();
  Client server = opened("b");
  server.listen(server.create_id(1), Gid{}, 7000);
  Client client = opened("b");
  for (const Gid& address : {kB, Gid::from_ipv4(0x7F000001)}) {
    const auto id = client.create_id(2);
    client.resolve(id, address, 7000);
    client.connect(id, 0x111);
    server.await(abi::Event::kConnectRequest);
  }
}

TEST_F(LabConnections, NameTheHopsOfGroupsThatLeaveTheSubnet) {
  serve();
  EXPECT_EQ(hops_to("ff15::1"), 255u);
  EXPECT_EQ(hops_to("ff12::1"), 0u);
  EXPECT_EQ(administrator_->joins, 2);
  administrator_->hop_limit = 64;
  EXPECT_EQ(hops_to("ff15::1"), 64u) << "there is such a group, with others";
  EXPECT_EQ(administrator_->joins, 4);
}

TEST_F(LabConnections, FailWhereTheAdministratorKnowsNoPathOrIsGone) {
  serve();
  administrator_->knows = false;
  Client client = opened("b");
  const auto id = client.create_id(2);
  const auto resolve_address = [&](std::uint32_t which) {
    rdma_ucm_resolve_ip command{};
    command.id = which;
    std::array<std::byte, rdmacm::Address::kStorage> raw{};
    rdmacm::Address::ip(kA, 7000).write(raw);
    std::memcpy(&command.dst_addr, raw.data(), sizeof command.dst_addr);
    EXPECT_TRUE(client.run(RDMA_USER_CM_CMD_RESOLVE_IP, command));
    client.await(abi::Event::kAddrResolved);
  };
  resolve_address(id);
  ASSERT_TRUE(client.run(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}));
  EXPECT_EQ(static_cast<std::int32_t>(client.await(abi::Event::kRouteError).status), -EHOSTUNREACH);
  administrator_->answers = false;
  ASSERT_TRUE(client.run(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 1}));
  EXPECT_EQ(static_cast<std::int32_t>(client.await(abi::Event::kRouteError).status), -ETIMEDOUT);

  // An answer that is still to come when its identifier goes is nobody's.
  ASSERT_TRUE(client.run(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 100'000}));
  rdma_ucm_destroy_id destroy{};
  destroy.id = id;
  ASSERT_TRUE(client.run<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_DESTROY_ID, destroy));
  administrator_->answers = administrator_->knows = true;
  const auto next = client.create_id(3);
  client.resolve(next, kA, 7000);
}

TEST_F(LabConnections, TurnAwayWhoNamesNoNodeOfTheLab) {
  serve();
  EXPECT_EQ(refusal(hello("c")), "this lab has no channel adapter 'c'");
  EXPECT_EQ(refusal(hello("s")), "this lab has no channel adapter 's'");
  EXPECT_EQ(refusal(hello("")), "this lab has no channel adapter ''");
  door::Hello old = hello("a");
  old.version = 4;
  EXPECT_EQ(refusal(old), "the lab's daemon is of another version of Weft");
  door::Hello stranger = hello("a", door::kJoin);
  stranger.file = 1;
  EXPECT_EQ(refusal(stranger), "there is no such rdma_cm file");
}

TEST_F(LabConnections, TurnAwayWhoWantsTheClassThatAProgramHas) {
  class Nobody final : public mgmt::MadClient {
    void received(mgmt::AgentId, const mgmt::ReceivedMad&) override {}
    void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}
  } nobody;
  mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kCommMgt, .class_version = 2};
  wanted.methods.set(static_cast<std::size_t>(wire::MadMethod::kSend));
  mgmt::MadPort& port = lab_.fabric.find_node("a")->management().mad_port(1);
  const auto agent = port.add_agent(wanted, nobody);
  ASSERT_TRUE(agent);
  serve();
  EXPECT_NE(refusal(hello("a")), "dropped");
  Client other = opened("b");
  EXPECT_NE(other.create_id(1), 0u);
}

TEST_F(LabConnections, DropWhatMakesNoSenseAndServeOthers) {
  serve();
  Pair pair = connected();
  door::Hello endless = hello("a");
  std::fill(std::begin(endless.node), std::end(endless.node), 'a');
  EXPECT_EQ(refusal(endless), "dropped");
  door::Hello other = hello("a");
  other.magic = 1;
  EXPECT_EQ(refusal(other), "dropped");
  EXPECT_EQ(refusal(hello("a", door::kSlot)), "dropped");
  EXPECT_EQ(refusal(hello("a", static_cast<door::Purpose>(99))), "dropped");
  for (std::size_t length = 1; length < sizeof(door::Hello); length += 7) {
    Client client(config_.socket);
    EXPECT_EQ(client.say(abi::bytes_of(endless).first(length)), 0);
    EXPECT_TRUE(client.is_dropped()) << length;
  }
  // Requests that are shorter or longer than they say.
  for (const std::uint32_t size : {0U, 1U, 7U, 1024U, 1025U, ~0U}) {
    Client client = opened("a");
    EXPECT_EQ(client.say(door::Request{.command_size = size, .extra_size = 1, .other = 0}), 0);
    EXPECT_TRUE(client.is_dropped()) << size;
  }
  pair.client.vanish();
  pair.server.await(abi::Event::kDisconnected);
}

// An rdma_cm file of a user's, by a connection that is his. Of threads the one that asks alone
// becomes him.
struct FileOf {
  FileOf(uid_t user, const std::string& socket, const door::Hello& hello) {
    constexpr long kSame = -1;
    EXPECT_EQ(syscall(SYS_setresuid, kSame, static_cast<long>(user), kSame), 0);
    EXPECT_EQ(client.connect(socket), 0);
    EXPECT_EQ(syscall(SYS_setresuid, kSame, 0L, kSame), 0);
    const auto welcome = client.greet(hello);
    EXPECT_TRUE(welcome && welcome->error == 0);
    number = welcome ? welcome->file : 0;
  }
  // errno, or 0: an identifier is moved from there to here.
  int migrate(const FileOf& from, std::uint32_t id) {
    const rdma_ucm_migrate_id command{0, id, 0};
    const auto done =
        client.run<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, command, from.number);
    return done ? 0 : static_cast<int>(done.error());
  }
  Client client;
  std::uint64_t number = 0;
};

// Files are numbered, so that anybody can name anybody's.
TEST_F(LabConnections, MoveBetweenFilesOfOneNodeAndUserOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root, to be several users";
  constexpr uid_t kOwner = 65533;
  constexpr uid_t kStranger = 65531;
  constexpr mode_t kPassable = 0711;
  ASSERT_EQ(chmod(directory_.c_str(), kPassable), 0);
  config_.shared = Entrance{directory_ + "/everyone", {Admission::Who::kEveryone}};
  serve();
  const std::string& socket = config_.shared->path;
  FileOf first(kOwner, socket, hello("a"));
  FileOf second(kOwner, socket, hello("a"));
  FileOf elsewhere(kOwner, socket, hello("b"));
  FileOf strange(kStranger, socket, hello("a"));
  const std::uint32_t id = first.client.create_id(1);
  EXPECT_EQ(strange.migrate(first, id), EINVAL);
  EXPECT_NE(elsewhere.migrate(first, id), 0);
  EXPECT_EQ(second.migrate(first, id), 0);
  // Who could not have it has not moved it.
  first.client.listen(first.client.create_id(2), kA, 7000);
  second.client.listen(id, kA, 7001);
}

TEST_F(LabConnections, AreBounded) {
  serve();
  std::vector<Client> all;
  for (std::size_t i = 0; i < config_.max_connections; ++i)
    all.push_back(opened("a"));
  Client more(config_.socket);
  EXPECT_TRUE(more.is_dropped());
}

}  // namespace
}  // namespace weft::daemon

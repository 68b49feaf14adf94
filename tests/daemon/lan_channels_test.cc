// SPDX-License-Identifier: Apache-2.0
// Connections of LAN ports, through the connection managers of their nodes.
#include "daemon/lan/lan_service.h"
#include "lan_subnet_fixture.h"

namespace weft::daemon {
namespace {

using Link = Owner::Link;

struct LanChannels : SubnetLab {
  // The only channel of a member.
  static Link& only(Member& member) {
    EXPECT_EQ(member.owner.links.size(), 1u);
    return member.owner.links.begin()->second;
  }
  static LanChannel only_id(Member& member) { return member.owner.links.begin()->first; }
  bool ended(const Link& link, LanChannelEnd why) {
    return until([&] { return link.end.has_value(); }) && *link.end == why;
  }
  void connect_both(Member& from, Member& to) {
    from.connect(to);
    ASSERT_TRUE(until([&] { return from.owner.connected() == 1 && to.owner.connected() == 1; }));
  }

  std::unique_ptr<Member> a = offering("a");
  std::unique_ptr<Member> b = offering("b");
};

TEST_F(LanChannels, TakeTheQueuePairsOfBothEndsThroughTheirStates) {
  connect_both(*a, *b);
  const Link& asking = only(*a);
  const Link& asked = only(*b);
  EXPECT_EQ(asked.asker, a->lid());
  for (const Link* each : {&asking, &asked}) {
    ASSERT_EQ(each->steps.size(), 3u);
    EXPECT_EQ(each->steps[0].attributes.state, hca::QpState::kInit);
    EXPECT_EQ(each->steps[1].attributes.state, hca::QpState::kRtr);
    EXPECT_EQ(each->steps[2].attributes.state, hca::QpState::kRts);
    EXPECT_EQ(each->steps[1].attributes.path_mtu, 2048u);
    EXPECT_EQ(each->steps[1].attributes.peer, Qpn{0x100});
  }
  EXPECT_EQ(asking.steps[1].attributes.path.dlid, b->lid());
  EXPECT_EQ(asked.steps[1].attributes.path.dlid, a->lid());
  EXPECT_EQ(asking.steps[1].attributes.rq_psn, asked.steps[2].attributes.sq_psn);
  EXPECT_EQ(asked.steps[1].attributes.rq_psn, asking.steps[2].attributes.sq_psn);
}

// All paths lead through a pair of firewalls, of which the first is in use.
struct LanBehindAService : SubnetLab {
  LanBehindAService()
      : SubnetLab(std::string(fabric::kFourNodes) + "[service.firewall]\nat = [[\"c\", \"d\"]]\n") {
  }
};

TEST_F(LanBehindAService, FindsItsPeersAndConnectsToThemThroughIt) {
  const auto a = offering("a");
  const auto b = offering("b");
  const Heard paths = answer(*a, {.kind = Question::Kind::kPaths, .of = b->guid()});
  ASSERT_EQ(paths.paths.size(), 1u);
  const lan::PeerPath& path = paths.paths[0];
  EXPECT_TRUE(path.global);
  EXPECT_NE(path.dlid, b->lid());
  EXPECT_EQ(paths.lids, (lan::PortLids{.base = b->lid(), .lmc = 0}));
  EXPECT_EQ(a->count("sa_malformed"), 0u);
  const Heard end = answer(*a, {.kind = Question::Kind::kEnd, .of = b->guid(), .path = path});
  EXPECT_EQ(end.end, b->end());
  a->connect(b->guid(), path);
  ASSERT_TRUE(until([&] { return a->owner.connected() == 1 && b->owner.connected() == 1; }));
  const Link& asked = b->owner.links.begin()->second;
  EXPECT_EQ(asked.asker, path.dlid) << "others have it too";
  EXPECT_EQ(asked.asking_port, a->guid());
  EXPECT_EQ(asked.steps[1].attributes.path.dlid, path.dlid);
  EXPECT_TRUE(asked.steps[1].attributes.path.global);
  EXPECT_EQ(services.report({}, false)[0]["counters"].value("drop_no_gids", 0), 0);
}

TEST_F(LanBehindAService, IsForgottenThereWhenItsPortHasGone) {
  const auto a = offering("a");
  const auto b = offering("b");
  const Heard paths = answer(*a, {.kind = Question::Kind::kPaths, .of = b->guid()});
  answer(*a, {.kind = Question::Kind::kEnd, .of = b->guid(), .path = paths.paths.at(0)});
  const auto known = [&] { return services.report({}, false)[0]["paths"].get<int>(); };
  EXPECT_GT(known(), 0);
  lab.fabric.link(0).set_plugged(false, io::now());
  EXPECT_TRUE(until([&] { return known() == 0; }));
}

TEST_F(LanBehindAService, IsToldThatPathsAreOthers) {
  const auto a = offering("a");
  const std::size_t before = a->owner.re_paths;
  lab.fabric.link(2).set_plugged(false, io::now());
  EXPECT_TRUE(until([&] { return a->owner.re_paths > before; }));
}

TEST_F(LanChannels, EndAtBothEndsWhenOneDisconnects) {
  connect_both(*a, *b);
  b->subnet->disconnect(only_id(*b));
  EXPECT_TRUE(ended(only(*a), LanChannelEnd::kDisconnected));
  EXPECT_FALSE(only(*b).end) << "who ends it is not told";
  b->subnet->disconnect(only_id(*b));  // of what is no more, nothing
  a->connect(*b);
  EXPECT_TRUE(until([&] { return a->owner.connected() == 1; })) << "another one can follow";
}

TEST_F(LanChannels, EndWhenTheOtherLanPortGoes) {
  connect_both(*a, *b);
  b->subnet.reset();
  EXPECT_TRUE(ended(only(*a), LanChannelEnd::kDisconnected));
}

TEST_F(LanChannels, AreRefusedByWhoDoesNotWantThem) {
  b->owner.accepts = false;
  a->connect(*b);
  EXPECT_TRUE(ended(only(*a), LanChannelEnd::kRefused));
  EXPECT_TRUE(only(*a).steps.empty());
  EXPECT_FALSE(only(*b).end) << "nothing more is said of it";
  EXPECT_EQ(b->count("channel_requests_refused"), 1u);
}

TEST_F(LanChannels, AreRefusedWhereNobodyOffersTheService) {
  const auto c = member("c");
  a->connect(*c);
  EXPECT_TRUE(ended(only(*a), LanChannelEnd::kRefused));
  EXPECT_TRUE(c->owner.links.empty());
}

// Takes as long as the manager is patient: some seconds.
TEST_F(LanChannels, AreUnansweredWhereNobodyIs) {
  lan::PeerPath path = a->path_to(*b);
  path.dlid = lab.fabric.find_node("d")->port_info(1).lid;  // no connection manager there
  a->connect(Guid{0x77}, path);
  const auto question = a->ask({.kind = Question::Kind::kEnd, .of = Guid{0x77}, .path = path});
  EXPECT_TRUE(ended(only(*a), LanChannelEnd::kUnanswered));
  EXPECT_EQ(a->count("channels_unanswered"), 1u);
  ASSERT_TRUE(until([&] { return a->owner.answers.contains(question); }));
  EXPECT_TRUE(a->owner.answers[question].unanswered());
  EXPECT_EQ(a->count("sidr_unanswered"), 1u);
}

TEST_F(LanChannels, EndWhereAQueuePairCannotBeUsed) {
  b->owner.usable = false;
  a->connect(*b);
  ASSERT_TRUE(until([&] { return !b->owner.links.empty(); }));
  EXPECT_TRUE(ended(only(*b), LanChannelEnd::kUnusable));
  EXPECT_TRUE(ended(only(*a), LanChannelEnd::kRefused));
  a->owner.links.clear();
  b->owner.links.clear();
  std::swap(a->owner.usable, b->owner.usable);
  a->connect(*b);
  EXPECT_TRUE(ended(only(*a), LanChannelEnd::kUnusable));
  EXPECT_TRUE(ended(only(*b), LanChannelEnd::kRefused)) << "it has never been connected";
}

// As LanPort has it: that of the lower LID is made.
TEST_F(LanChannels, AreMadeOnceWhenBothEndsAskAtATime) {
  Member& low = a->lid() < b->lid() ? *a : *b;
  Member& high = a->lid() < b->lid() ? *b : *a;
  const LanChannel of_low = low.connect(high);
  const LanChannel of_high = high.connect(low);
  low.owner.accepts = false;
  high.owner.when_asked = [&](LanChannel) { high.subnet->disconnect(of_high); };
  ASSERT_TRUE(until([&] { return low.owner.connected() == 1 && high.owner.connected() == 1; }));
  run_for(50ms);
  EXPECT_TRUE(low.owner.links[of_low].connected);
  EXPECT_FALSE(high.owner.links[of_high].connected);
  EXPECT_FALSE(high.owner.links[of_high].end) << "it was given up here";
  EXPECT_EQ(low.owner.connected(), 1u);
  EXPECT_EQ(high.owner.connected(), 1u);
}

// Others of the node use the same manager.
class ChannelStranger final : public mgmt::EventSink {
 public:
  explicit ChannelStranger(NodeConnections& connections) : connections_(connections) {}
  mgmt::ConnectParameters to(const Member& peer, wire::ServiceId service, Lid source) {
    const auto& hosts = connections_.hosts();
    return {.path = {.sgid = hosts.gid_of({connections_.index(), 1}),
                     .dgid = hosts.gid_of({peer.connections.index(), 1}),
                     .dlid = peer.lid(),
                     .source_path_bits = static_cast<std::uint8_t>(
                         source.value() - connections_.node().port_info(1).lid.value()),
                     .global = false},
            .service_id = service,
            .qpn = Qpn{0x777},
            .path_mtu = 2048,
            .private_data = kLanGreeting,
            .events = this};
  }
  mgmt::CmId connect(const mgmt::ConnectParameters& wanted) {
    const auto id = connections_.manager().connect(wanted, io::now());
    connections_.manager_used();
    return id.value();
  }
  void listen(wire::ServiceId service) {
    EXPECT_TRUE(connections_.manager().listen({.service_id = service, .events = this}));
    connections_.manager_used();
  }
  template <class What>
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        events, [](const mgmt::CmEvent& each) { return std::holds_alternative<What>(each.what); }));
  }
  std::vector<mgmt::CmEvent> events;

 private:
  void on_event(const mgmt::CmEvent& event) override {
    events.push_back(event);
    mgmt::ConnectionManager& manager = connections_.manager();
    if (std::holds_alternative<mgmt::ConnectRequest>(event.what)) {
      EXPECT_TRUE(manager.accept(event.id, {.qpn = Qpn{0x778}}, event.now));
    } else if (std::holds_alternative<mgmt::ConnectResponse>(event.what)) {
      EXPECT_TRUE(manager.ready(event.id, {}, event.now));
    }
  }
  NodeConnections& connections_;
};

TEST_F(LanChannels, ShareTheManagersOfTheirNodesWithOthers) {
  constexpr wire::ServiceId kOther{0x0000'0000'0106'1C06};
  ChannelStranger at_a(a->connections);
  ChannelStranger at_b(b->connections);
  at_b.listen(kOther);
  const mgmt::CmId id = at_a.connect(at_a.to(*b, kOther, a->lid()));
  connect_both(*a, *b);
  ASSERT_TRUE(until([&] { return at_b.count<mgmt::Established>() == 1; }));
  EXPECT_EQ(at_b.events.size(), 2u);
  EXPECT_EQ(at_a.events.size(), 1u);
  a->subnet.reset();
  b->subnet.reset();
  run_for(20ms);
  EXPECT_EQ(a->connections.manager().state(id), mgmt::CmState::kEstablished);
  EXPECT_EQ(at_b.count<mgmt::Disconnected>(), 0u);
}

TEST_F(LanChannels, AreNotMadeWithProgramsThatAreNoLanPorts) {
  ChannelStranger stranger(a->connections);
  mgmt::ConnectParameters reliable = stranger.to(*b, kLanService, a->lid());
  mgmt::ConnectParameters nameless = reliable;
  nameless.type = hca::QpType::kUc;
  nameless.private_data = {};
  nameless.qpn = Qpn{0x779};
  stranger.connect(reliable);
  stranger.connect(nameless);
  EXPECT_TRUE(until([&] { return stranger.count<mgmt::Rejected>() == 2; }));
  EXPECT_TRUE(b->owner.links.empty()) << "its owner does not hear of them";
  EXPECT_EQ(b->count("channel_requests_not_lan"), 2u);
}

TEST_F(LanChannels, AreGivenUpWithTheQuestionsOfALanPortThatGoes) {
  a->connect(*b);
  a->ask({.kind = Question::Kind::kEnd, .of = b->guid(), .path = a->path_to(*b)});
  a->ask({.kind = Question::Kind::kMembers});
  a->subnet.reset();
  run_for(50ms);
  EXPECT_TRUE(a->owner.answers.empty());
  EXPECT_EQ(b->owner.connected(), 0u);
}

}  // namespace
}  // namespace weft::daemon

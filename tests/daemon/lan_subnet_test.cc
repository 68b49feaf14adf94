// SPDX-License-Identifier: Apache-2.0
// What LAN ports ask the subnet administrator and each other, and how they are known to it.
#include <gmock/gmock.h>

#include "daemon/lan/lan_service.h"
#include "daemon/sa_question.h"
#include "lan_subnet_fixture.h"
#include "wire/sa/service_record.h"

namespace weft::daemon {
namespace {

using QuestionKind = Question::Kind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

using LanQuestionsAsked = SubnetLab;
using LanService = SubnetLab;

TEST_F(LanQuestionsAsked, AreAnsweredBySubnetAdministratorAndPeer) {
  const auto a = offering("a");
  const auto b = offering("b");
  const auto d = member("d");
  const Heard ports = answer(*a, {.kind = QuestionKind::kPorts});
  EXPECT_EQ(ports.guids.size(), 4u) << "each port of an adapter once";
  EXPECT_TRUE(ports.has(b->guid()));
  EXPECT_EQ(a->subnet->name_of(b->guid()), "b");
  EXPECT_EQ(a->subnet->name_of(Guid{0x77}), "");
  EXPECT_THAT(answer(*a, {.kind = QuestionKind::kMembers}).guids,
              UnorderedElementsAre(a->guid(), b->guid()));
  EXPECT_THAT(answer(*a, {.kind = QuestionKind::kPorts, .of = b->guid()}).guids,
              ElementsAre(b->guid()));
  EXPECT_THAT(answer(*a, {.kind = QuestionKind::kMembers, .of = b->guid()}).guids,
              ElementsAre(b->guid()));
  EXPECT_THAT(answer(*a, {.kind = QuestionKind::kPortAt, .path = {.dlid = b->lid()}}).guids,
              ElementsAre(b->guid()));
  const Heard paths = answer(*a, {.kind = QuestionKind::kPaths, .of = b->guid()});
  EXPECT_EQ(paths.lids, (lan::PortLids{.base = b->lid(), .lmc = 0}));
  ASSERT_EQ(paths.paths.size(), 1u);
  EXPECT_EQ(paths.paths[0].slid, a->lid());
  EXPECT_EQ(paths.paths[0].dlid, b->lid());
  EXPECT_EQ(paths.paths[0].mtu, 4096);
  const Heard end =
      answer(*a, {.kind = QuestionKind::kEnd, .of = b->guid(), .path = paths.paths[0]});
  EXPECT_EQ(end.end, b->end());
  EXPECT_EQ(b->count("sidr_told"), 1u);
  EXPECT_EQ(a->count("sa_malformed"), 0u);
}

TEST_F(LanQuestionsAsked, AreAnsweredWithNothingWhereThereIsNothing) {
  const auto a = offering("a");
  const auto d = member("d");  // which offers nothing
  const Heard ports = answer(*a, {.kind = QuestionKind::kPorts, .of = Guid{0x77}});
  EXPECT_TRUE(ports.absent() || (!ports.unanswered() && ports.guids.empty()));
  EXPECT_THAT(answer(*a, {.kind = QuestionKind::kMembers}).guids, ElementsAre(a->guid()));
  const Heard member = answer(*a, {.kind = QuestionKind::kMembers, .of = d->guid()});
  EXPECT_TRUE(member.absent() || (!member.unanswered() && member.guids.empty()));
  EXPECT_FALSE(
      answer(*a, {.kind = QuestionKind::kPortAt, .path = {.dlid = Lid{0x777}}}).has(d->guid()));
  EXPECT_NE(answer(*a, {.kind = QuestionKind::kPaths, .of = Guid{0x77}}).kind, 3u);
  const Question to_d{.kind = QuestionKind::kEnd, .of = d->guid(), .path = a->path_to(*d)};
  EXPECT_TRUE(answer(*a, to_d).absent());
  EXPECT_EQ(d->count("sidr_refused"), 1u);
  // And where there is no LAN port.
  d->subnet.reset();
  EXPECT_TRUE(answer(*a, to_d).absent());
}

TEST_F(LanQuestionsAsked, AreUnansweredWithoutAnAdministrator) {
  const auto b = offering("b");
  manager.reset();
  for (const QuestionKind kind : {QuestionKind::kMembers, QuestionKind::kPorts,
                                  QuestionKind::kPortAt, QuestionKind::kPaths}) {
    EXPECT_TRUE(answer(*b, {.kind = kind, .of = b->guid()}).unanswered());
  }
  EXPECT_EQ(b->count("sa_unanswered"), 4u);
  lab.fabric.link(1).set_plugged(false, io::now());
  ASSERT_TRUE(until([&] { return b->node.port_info(1).state == wire::PortState::kDown; }));
  EXPECT_EQ(b->ask({.kind = QuestionKind::kMembers}), 0u) << "nobody can be asked";
  const Question end{
      .kind = QuestionKind::kEnd, .of = Guid{5}, .path = {.slid = Lid{99}, .dlid = Lid{1}}};
  EXPECT_EQ(b->ask(end), 0u) << "from a LID that is not the port's";
}

// The administrator as a peer of it sees it.
struct Witness {
  explicit Witness(SubnetLab& lab) : lab(lab), asker(lab.member("d")) {}
  bool knows(const Member& member) {
    return lab.answer(*asker, {.kind = QuestionKind::kMembers}).has(member.guid());
  }
  SubnetLab& lab;
  std::unique_ptr<Member> asker;
};

TEST_F(LanService, IsKnownFromWhenItIsOfferedUntilItIsWithdrawn) {
  Witness witness(*this);
  const auto b = member("b");
  run_for(50ms);
  EXPECT_FALSE(witness.knows(*b));
  ASSERT_TRUE(b->subnet->offer(b->end()));
  ASSERT_TRUE(until([&] { return b->subnet->offered(); }));
  EXPECT_TRUE(witness.knows(*b));
  const std::size_t subscriptions = known("subscriptions");
  b->subnet.reset();
  EXPECT_TRUE(until([&] { return known("services") == 0; })) << "long before its lease has ended";
  EXPECT_TRUE(until([&] { return known("subscriptions") == subscriptions - 3; }));
  EXPECT_FALSE(witness.knows(*b));
}

TEST_F(LanService, IsOfferedAgainToAnAdministratorThatHasForgottenIt) {
  const auto b = offering("b");
  manager.reset();
  manager = std::move(*LabManager::open(lab.fabric));
  manager->start(io::now());
  ASSERT_TRUE(until([&] { return !b->subnet->offered(); })) << "it asks for it";
  ASSERT_TRUE(until([&] { return b->subnet->offered() && b->subnet->told(); }));
  EXPECT_TRUE(Witness(*this).knows(*b));
}

TEST_F(LanService, IsToldOfPortsThatComeAndGo) {
  const auto b = offering("b");
  const Guid c = lab.fabric.find_node("c")->port(1).guid();
  lab.fabric.link(2).set_plugged(false, io::now());
  EXPECT_TRUE(until([&] { return !b->owner.gone.empty(); }));
  EXPECT_THAT(b->owner.gone, ElementsAre(c));
  lab.fabric.link(2).set_plugged(true, io::now());
  EXPECT_TRUE(until([&] { return !b->owner.came.empty(); }));
  EXPECT_THAT(b->owner.came, ElementsAre(c));
  EXPECT_EQ(b->count("sa_notices"), 2u);
}

TEST_F(LanService, GoesOnWithoutReportsThatAProgramHas) {
  class Nobody final : public mgmt::MadClient {
    void received(mgmt::AgentId, const mgmt::ReceivedMad&) override {}
    void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}
  } nobody;
  mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kSubnAdm,
                            .class_version = wire::kSaClassVersion};
  wanted.methods.set(static_cast<std::size_t>(wire::MadMethod::kReport));
  auto& port = lab.fabric.find_node("b")->management().mad_port(1);
  ASSERT_TRUE(port.add_agent(wanted, nobody));
  const auto b = member("b");
  ASSERT_TRUE(b->subnet->offer(b->end()));
  EXPECT_TRUE(until([&] { return b->subnet->offered(); }));
  EXPECT_FALSE(b->subnet->told());
  EXPECT_EQ(b->count("sa_notices_taken"), 1u);
}

TEST_F(LanService, IsOneOfEachPort) {
  const auto b = member("b");
  Owner owner;
  const auto second = LanSubnet::open(b->connections, 1, *reactor, owner);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::address_in_use);
  const auto nowhere = LanSubnet::open(b->connections, 2, *reactor, owner);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "node b has no port 2");
}

// What anybody can ask of a port by SIDR, and gets.
TEST_F(LanService, TellsItsQueuePairToLanPortsAlone) {
  struct Asker final : mgmt::EventSink {
    void on_event(const mgmt::CmEvent& event) override {
      if (const auto* const reply = std::get_if<mgmt::SidrReply>(&event.what))
        replies.push_back(*reply);
    }
    std::vector<mgmt::SidrReply> replies;
  } asker;
  const auto a = offering("a");
  const auto b = offering("b");
  const auto ask = [&](wire::ServiceId service, Bytes greeting) {
    const hca::Path path{.sgid = a->connections.hosts().gid_of({a->connections.index(), 1}),
                         .dgid = a->connections.hosts().gid_of({b->connections.index(), 1}),
                         .dlid = b->lid(),
                         .global = false};
    const std::size_t before = asker.replies.size();
    EXPECT_TRUE(a->connections.manager().sidr_request(
        {.path = path, .service_id = service, .private_data = greeting, .events = &asker},
        io::now()));
    a->connections.manager_used();
    EXPECT_TRUE(until([&] { return asker.replies.size() > before; }));
    return asker.replies.back();
  };
  EXPECT_EQ(ask(kLanService, kLanGreeting).qpn, b->end().qpn);
  auto newer = kLanGreeting;
  newer[2] = std::byte{0x20};
  EXPECT_EQ(ask(kLanService, newer).status, mgmt::SidrStatus::kVersionNotSupported);
  EXPECT_EQ(ask(kLanService, {}).status, mgmt::SidrStatus::kVersionNotSupported);
  EXPECT_EQ(ask(wire::ServiceId{kLanService.value() + 1}, kLanGreeting).status,
            mgmt::SidrStatus::kServiceNotSupported);
  EXPECT_EQ(b->count("sidr_refused"), 2u);
}

using LanGroupOfFabric = SubnetLab;

TEST_F(LanGroupOfFabric, IsMadeByTheFirstAndJoinedByOthers) {
  const std::size_t before = known("groups");
  const auto a = member("a");
  const auto b = member("b");
  ASSERT_TRUE(a->subnet->join_group());
  ASSERT_TRUE(b->subnet->join_group());
  ASSERT_TRUE(until([&] { return a->owner.group && b->owner.group; }));
  EXPECT_EQ(*a->owner.group, *b->owner.group);
  EXPECT_EQ(a->owner.group->mgid, kLanGroup);
  EXPECT_GE(a->owner.group->mlid, Lid{0xC000});
  EXPECT_EQ(a->owner.group->mtu, 2048) << "what administrators give groups";
  EXPECT_EQ(known("groups"), before + 1);
  a->subnet.reset();
  b->subnet.reset();
  EXPECT_TRUE(until([&] { return known("groups") == before; })) << "nobody is in it";
}

TEST_F(LanGroupOfFabric, IsJoinedAgainWhereItWasLost) {
  const auto b = member("b");
  ASSERT_TRUE(b->subnet->join_group());
  ASSERT_TRUE(until([&] { return b->owner.group.has_value(); }));
  lab.fabric.link(1).set_plugged(false, io::now());
  ASSERT_TRUE(until([&] { return !b->owner.group; }));
  lab.fabric.link(1).set_plugged(true, io::now());
  ASSERT_TRUE(until([&] { return b->owner.group.has_value(); }));
}

}  // namespace
}  // namespace weft::daemon

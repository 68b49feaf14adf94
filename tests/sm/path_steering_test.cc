// SPDX-License-Identifier: Apache-2.0
// Which rule answers a query for a path, and what it comes to.
#include "sm/policy/path_steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Ports are called by numbers, and have the GID of that number and the LID of its last digit.
PathEnd end(std::uint16_t number) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return {.gid = Gid(bytes),
          .port = Guid{number},
          .lid = Lid{static_cast<std::uint16_t>(number & 0xF)}};
}

EndMatch steering_gid(std::uint16_t number) {
  return {.gids = {GidPrefix(end(number).gid, 128)}};
}
EndMatch port(std::uint16_t number) {
  return {.ports = {Guid{number}}};
}

PathQuery query(std::uint16_t from, std::uint16_t to, std::uint16_t asker) {
  return {
      .source = end(from), .destination = end(to), .requester = end(asker), .pkey = kDefaultPKey};
}
PathQuery query(std::uint16_t from, std::uint16_t to) {
  return query(from, to, from);
}

// A service with one instance at a port.
DataService service(const std::string& name, std::uint16_t at, std::vector<Lid> lids) {
  return {.name = name, .instances = {{{.port = Guid{at}, .lids = std::move(lids)}}}};
}

PathRule through(std::vector<std::string> services, EndMatch from = {}, EndMatch to = {}) {
  return {.from = std::move(from),
          .to = std::move(to),
          .action = PathAction::kThrough,
          .through = std::move(services)};
}

std::vector<Lid> lids_of(const PathDecision& decision) {
  std::vector<Lid> lids;
  for (const ServiceHop& hop : decision.hops)
    lids.push_back(hop.lids.front());
  return lids;
}

// Three rules: A to B by the LID of D, C to B directly, what D asks for A to B directly.
TEST(PathSteering, AnswersAsTheExampleSays) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("d", 0xDDDD, {Lid{0xD}})}));
  ASSERT_TRUE(steering.add(through({"d"}, steering_gid(0xAAAA), steering_gid(0xBBBB))));
  ASSERT_TRUE(steering.add({.from = steering_gid(0xCCCC), .to = steering_gid(0xBBBB)}));
  ASSERT_TRUE(steering.add({.from = steering_gid(0xAAAA),
                            .to = steering_gid(0xBBBB),
                            .requester = steering_gid(0xDDDD)}));
  steering.set_default(PathAction::kNone);

  const PathDecision a = steering.decide(query(0xAAAA, 0xBBBB), true);
  EXPECT_EQ(a.rule, 0u);
  EXPECT_EQ(a.action, PathAction::kThrough);
  EXPECT_THAT(lids_of(a), ElementsAre(Lid{0xD}));

  const PathDecision c = steering.decide(query(0xCCCC, 0xBBBB), true);
  EXPECT_EQ(c.rule, 1u);
  EXPECT_EQ(c.action, PathAction::kDirect);

  PathQuery of_service = query(0xAAAA, 0xBBBB, 0xDDDD);
  of_service.slid = Lid{0xD};  // by which the packet came
  const PathDecision as_service = steering.decide(of_service, false);
  EXPECT_EQ(as_service.action, PathAction::kDirect);
  EXPECT_EQ(as_service.service, 0u) << "or the SLID would be taken for the source's";
  const PathDecision d = steering.decide(query(0xAAAA, 0xBBBB, 0xDDDD), true);
  EXPECT_EQ(d.rule, 2u);
  EXPECT_EQ(d.action, PathAction::kDirect);

  // Rules are per direction.
  const PathDecision back = steering.decide(query(0xBBBB, 0xAAAA), true);
  EXPECT_EQ(back.rule, std::nullopt);
  EXPECT_EQ(back.action, PathAction::kNone);
}

TEST(PathSteering, TakesTheFirstRuleThatFits) {
  PathSteering steering;
  EXPECT_TRUE(steering.is_idle());
  EXPECT_EQ(steering.decide(query(1, 2), true).action, PathAction::kDirect);
  ASSERT_TRUE(steering.add({.to = port(2), .action = PathAction::kNone}));
  ASSERT_TRUE(steering.add({.from = port(1)}));
  EXPECT_EQ(steering.decide(query(1, 2), true).rule, 0u);
  EXPECT_EQ(steering.decide(query(1, 3), true).rule, 1u);
  EXPECT_EQ(steering.decide(query(3, 1), true).rule, std::nullopt);
  EXPECT_EQ(steering.decide(query(3, 2), false).rule, 0u);
  EXPECT_EQ(steering.hits(0), 1u) << "who only looks does not count";
  EXPECT_EQ(steering.hits(std::nullopt), 2u);
  const std::uint64_t before = steering.generation();
  ASSERT_TRUE(steering.insert(0, {.from = port(1), .to = port(2)}));
  EXPECT_GT(steering.generation(), before);
  EXPECT_EQ(steering.decide(query(1, 2), true).action, PathAction::kDirect);
  ASSERT_TRUE(steering.remove(0));
  EXPECT_EQ(steering.decide(query(1, 2), true).action, PathAction::kNone);
}

TEST(PathSteering, LooksAtEachConditionThatARuleHas) {
  PathQuery asked = query(1, 2, 3);
  asked.service_id = 0x1005;
  asked.pkey = PKey{0x8001};
  asked.sl = Sl{3};
  asked.qos_class = 7;
  const auto unmet = [&](PathRule rule) { return std::string(try_rule(rule, asked).unmet); };
  EXPECT_EQ(unmet({}), "");
  EXPECT_EQ(unmet({.from = port(2)}), "from");
  EXPECT_EQ(unmet({.from = {.ports = {Guid{4}, Guid{1}}}}), "");
  EXPECT_EQ(unmet({.to = steering_gid(1)}), "to");
  EXPECT_EQ(unmet({.to = {.gids = {GidPrefix(0xFE80'0000'0000'0000)}}}), "");
  EXPECT_EQ(unmet({.requester = port(1)}), "requester");
  EXPECT_EQ(unmet({.requester = {.lids = {Lid{4}, Lid{3}}}}), "");
  EXPECT_EQ(unmet({.requester = {.lids = {Lid{4}}}}), "requester");
  EXPECT_EQ(unmet({.service_ids = ServiceIdRange{0x1000, 0x1004}}), "service_id");
  EXPECT_EQ(unmet({.service_ids = ServiceIdRange{0x1005, 0x1005}}), "");
  EXPECT_EQ(unmet({.service_ids = ServiceIdRange{0x1006, 0x1FFF}}), "service_id");
  EXPECT_EQ(unmet({.pkey = PKey{0x0001}}), "") << "a limited member of the same partition";
  EXPECT_EQ(unmet({.pkey = PKey{0x8002}}), "pkey");
  EXPECT_EQ(unmet({.sl = Sl{3}}), "");
  EXPECT_EQ(unmet({.sl = Sl{0}}), "sl");
  EXPECT_EQ(unmet({.qos_class = 7}), "");
  EXPECT_EQ(unmet({.qos_class = 0}), "qos_class");
  asked.service_id.reset();
  asked.qos_class.reset();
  asked.pkey = PKey{};
  EXPECT_EQ(unmet({.service_ids = ServiceIdRange{0, ~std::uint64_t{0}}}), "service_id");
  EXPECT_EQ(unmet({.qos_class = 0}), "qos_class");
  EXPECT_EQ(unmet({.pkey = PKey{0x8000}}), "pkey") << "0 is no partition";
  // What is of another subnet has no port here, which nobody can name.
  asked.destination.port = Guid{};
  EXPECT_EQ(unmet({.to = {.ports = {Guid{}}}}), "to");
}

// One port, several GIDs: each virtual machine behind it has its own.
TEST(PathSteering, TellsTheGidsOfAPortApart) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 9, {Lid{99}})}));
  ASSERT_TRUE(steering.add(through({"fw"}, steering_gid(0x101))));
  PathQuery asked = query(1, 2);
  EXPECT_EQ(steering.decide(asked, true).action, PathAction::kDirect);
  asked.source.gid = end(0x101).gid;
  EXPECT_EQ(steering.decide(asked, true).action, PathAction::kThrough);
}

TEST(PathSteering, GivesAServiceTheWayOnAndSaysWhereAnswersComeBack) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}}), service("mon", 9, {Lid{99}})}));
  PathRule rule = through({"fw", "mon"}, port(1), port(2));
  rule.symmetric = true;
  ASSERT_TRUE(steering.add(rule));
  EXPECT_THAT(lids_of(steering.decide(query(1, 2), true)), ElementsAre(Lid{88}, Lid{99}));
  const PathDecision on = steering.decide(query(1, 2, 8), true);
  EXPECT_EQ(on.service, 0u);
  EXPECT_THAT(lids_of(on), ElementsAre(Lid{99}));
  EXPECT_EQ(on.returns_to, Lid{88});
  const PathDecision last = steering.decide(query(1, 2, 9), true);
  EXPECT_EQ(last.action, PathAction::kDirect);
  EXPECT_EQ(last.returns_to, Lid{99});
  // Back by the same ones.
  EXPECT_THAT(lids_of(steering.decide(query(2, 1), true)), ElementsAre(Lid{99}, Lid{88}));
  EXPECT_THAT(lids_of(steering.decide(query(2, 1, 9), true)), ElementsAre(Lid{88}));
  EXPECT_EQ(steering.decide(query(2, 1, 8), true).action, PathAction::kDirect);
}

TEST(PathSteering, LetsAnswersReturnDirectlyWhereTheRuleIsNotSymmetric) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}})}));
  ASSERT_TRUE(steering.add(through({"fw"}, port(1), port(2))));
  EXPECT_EQ(steering.decide(query(1, 2, 8), true).returns_to, Lid{});
  EXPECT_EQ(steering.decide(query(2, 1), true).action, PathAction::kDirect);
}

// A node may be source, destination and service at once.
TEST(PathSteering, TellsAServiceFromApplicationsOfItsNodeByTheLidThatItAsksFrom) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}})}));
  ASSERT_TRUE(steering.add(through({"fw"})));
  PathQuery own = query(8, 2);
  EXPECT_EQ(steering.decide(own, true).action, PathAction::kThrough) << "an application";
  own.slid = Lid{88};
  EXPECT_EQ(steering.decide(own, true).action, PathAction::kDirect) << "the service";
  // Nobody else gets the way on by naming that LID.
  PathQuery other = query(1, 2);
  other.slid = Lid{88};
  EXPECT_EQ(steering.decide(other, true).action, PathAction::kThrough);
  // By policy, applications of the node bypass it.
  ASSERT_TRUE(steering.insert(0, {.from = port(8)}));
  EXPECT_EQ(steering.decide(query(8, 2), true).rule, 0u);
}

TEST(PathSteering, TellsServicesOfOneNodeApartByTheirLids) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}}), service("mon", 8, {Lid{89}})}));
  ASSERT_TRUE(steering.add(through({"fw", "mon"})));
  PathQuery asked = query(1, 2, 8);
  asked.slid = Lid{88};
  EXPECT_THAT(lids_of(steering.decide(asked, true)), ElementsAre(Lid{89}));
  asked.slid = Lid{89};
  EXPECT_EQ(steering.decide(asked, true).action, PathAction::kDirect);
}

// What leads to a service must not lead it back to itself, or in a circle, by other rules.
TEST(PathSteering, AnswersServicesByTheRuleThatLeadsThroughThem) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}}), service("mon", 9, {Lid{99}})}));
  ASSERT_TRUE(steering.add(through({"fw"}, port(1))));
  ASSERT_TRUE(steering.add(through({"mon"})));
  EXPECT_EQ(steering.decide(query(1, 2, 8), true).action, PathAction::kDirect);
  EXPECT_EQ(steering.decide(query(1, 2, 8), true).rule, 0u);
}

// ServiceID, QoSClass and SL are in the query of the source alone.
TEST(PathSteering, LeadsOnWhatAQueryOfACertainSortHasLedToAService) {
  for (const int which : {0, 1, 2}) {
    PathSteering steering;
    ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}}), service("mon", 9, {Lid{99}})}));
    PathRule rule = through({"fw", "mon"}, port(1), port(2));
    rule.symmetric = true;
    PathQuery asked = query(1, 2);
    if (which == 0) {
      rule.service_ids = ServiceIdRange{5, 5};
      asked.service_id = 5;
    } else if (which == 1) {
      rule.qos_class = 5;
      asked.qos_class = 5;
    } else {
      rule.sl = Sl{5};
      asked.sl = Sl{5};
    }
    ASSERT_TRUE(steering.add(rule));
    EXPECT_THAT(lids_of(steering.decide(asked, true)), ElementsAre(Lid{88}, Lid{99})) << which;
    EXPECT_EQ(steering.decide(query(1, 2), true).rule, std::nullopt) << which;
    PathQuery on = query(1, 2, 8);
    on.slid = Lid{88};
    const PathDecision to_next = steering.decide(on, true);
    EXPECT_THAT(lids_of(to_next), ElementsAre(Lid{99})) << which;
    EXPECT_EQ(to_next.returns_to, Lid{88});
    EXPECT_EQ(to_next.sl, which == 2 ? std::optional(Sl{5}) : std::nullopt) << "as the first leg";
    on = query(1, 2, 9);
    on.slid = Lid{99};
    EXPECT_EQ(steering.decide(on, true).action, PathAction::kDirect);
    EXPECT_EQ(steering.decide(on, true).service, 1u);
    on = query(2, 1, 9);
    on.slid = Lid{99};
    EXPECT_THAT(lids_of(steering.decide(on, true)), ElementsAre(Lid{88})) << "and back";
    // Nobody else is taken for one whose query said so.
    on = query(1, 2, 3);
    on.slid = Lid{88};
    EXPECT_EQ(steering.decide(on, true).rule, std::nullopt);
  }
}

TEST(PathSteering, TellsByTheServiceThatAsksWhichRuleHasLedThere) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}}), service("mon", 9, {Lid{99}})}));
  PathRule web = through({"fw"}, port(1));
  web.service_ids = ServiceIdRange{80, 80};
  PathRule data = through({"mon"}, port(1));
  data.service_ids = ServiceIdRange{90, 90};
  PathRule open{.from = port(1), .service_ids = ServiceIdRange{100, 100}};
  PathRule slow{.from = port(1), .sl = Sl{0}};
  for (const PathRule& rule : {open, slow, web, data})
    ASSERT_TRUE(steering.add(rule));
  steering.set_default(PathAction::kNone);
  for (const auto& [at, rule] : {std::pair(8, 2u), std::pair(9, 3u)}) {
    PathQuery on = query(1, 2, static_cast<std::uint16_t>(at));
    on.slid = Lid{static_cast<std::uint16_t>(11 * at)};
    const PathDecision decision = steering.decide(on, true);
    EXPECT_EQ(decision.rule, rule) << "none of those that lead elsewhere";
    EXPECT_EQ(decision.action, PathAction::kDirect);
    EXPECT_TRUE(decision.service.has_value());
  }
  // A service that knows what it is about says so.
  PathQuery told = query(1, 2, 9);
  told.slid = Lid{99};
  told.service_id = 80;
  EXPECT_EQ(steering.decide(told, true).action, PathAction::kNone);
}

TEST(PathSteering, LeadsPastNoServiceThatARuleHasForWhatCannotBeToldApart) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services(
      {service("fw", 8, {Lid{88}}), service("mon", 9, {Lid{99}}), service("cap", 7, {Lid{77}})}));
  PathRule web = through({"fw"}, port(1));
  web.service_ids = ServiceIdRange{80, 80};
  ASSERT_TRUE(steering.add(web));
  ASSERT_TRUE(steering.add(through({"fw", "mon"}, port(1))));
  ASSERT_TRUE(steering.add(through({"fw", "cap"})));
  PathQuery on = query(1, 2, 8);
  on.slid = Lid{88};
  EXPECT_THAT(lids_of(steering.decide(on, true)), ElementsAre(Lid{99}))
      << "other services than 80 go through it, and the third rule is for other sources";
  PathRule data = through({"fw", "cap"}, port(1));
  data.qos_class = 1;
  ASSERT_TRUE(steering.insert(0, data));
  const PathDecision refused = steering.decide(on, true);
  EXPECT_EQ(refused.action, PathAction::kNone);
  EXPECT_THAT(refused.reason, HasSubstr("rules 1, 2, 3 lead to service fw"));
}

TEST(PathSteering, LeadsBothWaysOfASymmetricRuleThroughOneInstance) {
  PathSteering steering;
  DataService fw{.name = "fw"};
  for (std::uint16_t i = 0; i < 4; ++i) {
    const auto lid = static_cast<std::uint16_t>(50 + i);
    fw.instances.push_back({{.port = Guid{100u + i}, .lids = {Lid{lid}}}});
  }
  ASSERT_TRUE(steering.set_services({fw}));
  PathRule rule = through({"fw"});
  rule.symmetric = true;
  ASSERT_TRUE(steering.add(rule));
  std::set<Lid> used;
  for (std::uint16_t i = 1; i < 30; ++i) {
    const auto there = lids_of(steering.decide(query(i, 40), true));
    EXPECT_EQ(there, lids_of(steering.decide(query(40, i), true)));
    used.insert(there.front());
  }
  EXPECT_EQ(used.size(), 4u);
}

// To the source, to each service that asks for the way on, and back.
TEST(PathSteering, GivesEachLegTheSlOfTheRule) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}}), service("mon", 9, {Lid{99}})}));
  PathRule rule = through({"fw", "mon"}, port(1), port(2));
  rule.symmetric = true;
  rule.answer_sl = Sl{3};
  ASSERT_TRUE(steering.add(rule));
  for (const PathQuery& asked :
       {query(1, 2), query(1, 2, 8), query(1, 2, 9), query(2, 1), query(2, 1, 9), query(2, 1, 8)}) {
    EXPECT_EQ(steering.decide(asked, true).sl, Sl{3});
  }
  EXPECT_EQ(steering.decide(query(1, 3), true).sl, std::nullopt);
  // Who has a rule of its own has the SL of that.
  ASSERT_TRUE(steering.add({.requester = port(8), .answer_sl = Sl{4}}));
  ASSERT_TRUE(steering.add({.requester = port(9)}));
  EXPECT_EQ(steering.decide(query(1, 2, 8), true).sl, Sl{4});
  EXPECT_EQ(steering.decide(query(1, 2, 9), true).sl, std::nullopt);
  EXPECT_EQ(steering.decide(query(1, 2), true).sl, Sl{3});
  // What is not there has none.
  steering.services().set_ports(std::vector<PresentPort>{{.port = Guid{9}}});
  EXPECT_EQ(steering.decide(query(1, 2), true).action, PathAction::kNone);
  EXPECT_EQ(steering.decide(query(1, 2), true).sl, std::nullopt);
}

TEST(PathSteering, RefusesPathsWhileNoInstanceIsWellUnlessTheServiceMayBeBypassed) {
  PathSteering steering;
  DataService monitor = service("mon", 9, {Lid{99}});
  monitor.bypass = true;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}}), monitor}));
  ASSERT_TRUE(steering.add(through({"fw"}, {}, port(2))));
  ASSERT_TRUE(steering.add(through({"mon"})));
  steering.services().set_health(Guid{8}, false);
  steering.services().set_health(Guid{9}, false);
  // Before anybody knows which ports there are, nobody is missed.
  steering.services().set_ports(std::vector<PresentPort>{{.port = Guid{8}}, {.port = Guid{9}}});
  const PathDecision refused = steering.decide(query(1, 2), true);
  EXPECT_EQ(refused.action, PathAction::kNone);
  EXPECT_EQ(refused.rule, 0u);
  EXPECT_THAT(refused.reason, HasSubstr("service fw"));
  EXPECT_EQ(steering.decide(query(1, 3), true).action, PathAction::kDirect);
  steering.services().set_health(Guid{8}, true);
  EXPECT_EQ(steering.decide(query(1, 2), true).action, PathAction::kThrough);
}

// One list of rules for several subnets, each with the services that have a port there.
TEST(PathSteering, LeadsPastServicesOfOtherSubnets) {
  PathSteering steering;
  ASSERT_TRUE(
      steering.set_services({{.name = "fw", .elsewhere = true}, service("router", 9, {Lid{99}})}));
  PathRule across = through({"fw", "router"}, {}, {.gids = {GidPrefix(0xFD00'0000'0000'0002)}});
  ASSERT_TRUE(steering.add(across));
  ASSERT_TRUE(steering.add(through({"fw"})));
  ASSERT_TRUE(steering.add({.to = port(3), .action = PathAction::kNone}));
  PathQuery beyond = query(1, 2);
  beyond.destination = {.gid = Gid{{0xFD, 0, 0, 0, 0, 0, 0, 2}}};
  EXPECT_THAT(lids_of(steering.decide(beyond, true)), ElementsAre(Lid{99}));
  EXPECT_EQ(steering.decide(query(1, 2), true).rule, std::nullopt) << "not this subnet's rule";
  EXPECT_EQ(steering.decide(query(1, 3), true).rule, 2u);
  EXPECT_TRUE(steering.is_elsewhere(steering.rules().all()[1]));
  EXPECT_FALSE(steering.is_elsewhere(steering.rules().all()[0]));
  EXPECT_THAT(DataServices().set({{.name = "fw"}}).error().message, HasSubstr("has no port"));
}

TEST(PathSteering, RefusesRulesThatContradictThemselves) {
  PathSteering steering;
  ASSERT_TRUE(steering.set_services({service("fw", 8, {Lid{88}})}));
  const auto refused = [&](PathRule rule) {
    const auto added = steering.add(std::move(rule));
    return added ? std::string() : added.error().message;
  };
  EXPECT_THAT(refused({.action = PathAction::kThrough}), HasSubstr("one at least"));
  EXPECT_THAT(refused({.through = {"fw"}}), HasSubstr("leads through them"));
  EXPECT_THAT(refused(through({"fw", "fw"})), HasSubstr("twice"));
  EXPECT_THAT(refused(through({"mon"})), HasSubstr("no service mon; there are fw"));
  EXPECT_THAT(refused({.service_ids = ServiceIdRange{2, 1}}), HasSubstr("ends before"));
  EXPECT_THAT(refused({.action = PathAction::kNone, .answer_sl = Sl{3}}), HasSubstr("no SL"));
  EXPECT_EQ(refused({.name = "x"}), "");
  EXPECT_THAT(refused({.name = "x"}), HasSubstr("already"));
  EXPECT_THAT(steering.remove(1).error().message, HasSubstr("there are 1 to 1"));
  EXPECT_EQ(refused(through({"fw"})), "");
  EXPECT_THAT(steering.set_services({}).error().message, HasSubstr("no service fw"));
}

}  // namespace
}  // namespace weft::sm

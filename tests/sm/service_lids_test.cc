// SPDX-License-Identifier: Apache-2.0
// LIDs that no port has, and that lead to the one that is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "administered_lab.h"
#include "fabric/lab_generate.h"
#include "sm/sa/explain.h"
#include "wire/sa/path_record.h"

namespace weft::sm {
namespace {

using ::testing::HasSubstr;

constexpr Lid kService{40};

Guid service_guid_of(ManagedLab& lab, const std::string& name) {
  return lab.running.fabric.find_node(name)->node_info(1).port_guid;
}

// Packets for a LID arrive at a port; what it does with them is its own business.
bool leads(ManagedLab& lab, Lid lid, const std::string& to) {
  const auto arrived = [&] { return lab.running.count(to, fabric::NodeCounter::kNotMine); };
  const std::uint64_t before = arrived();
  lab.running.inject("b", {.slid = lab.lid("b"), .dlid = lid});
  return arrived() == before + 1;
}

TEST(ServiceLids, LeadToThePortThatIsNamed) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  ASSERT_TRUE(lab.manager->set_service_lids(
      std::vector<ServiceLid>{{kService, service_guid_of(lab, "c")}}));
  lab.sweep();
  EXPECT_TRUE(leads(lab, kService, "c"));
  EXPECT_EQ(lab.sweep().writes, 0u);
}

TEST(ServiceLids, AreMovedWithoutASweep) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  const auto lead = [&](std::vector<ServiceLid> lids) {
    ASSERT_TRUE(lab.manager->set_service_lids(lids));
    lab.run_for(1ms);
    EXPECT_EQ(lab.manager->sweeps(), 1u);
  };
  const std::uint64_t revision = lab.manager->revision();
  lead({{kService, service_guid_of(lab, "c")}});
  EXPECT_TRUE(leads(lab, kService, "c"));
  EXPECT_EQ(lab.manager->revision(), revision + 1);
  // Both are at one switch: the other one's table stays as it is.
  const std::uint64_t before = lab.manager->smps().sent;
  lead({{kService, service_guid_of(lab, "d")}});
  EXPECT_EQ(lab.manager->smps().sent, before + 1);
  EXPECT_TRUE(leads(lab, kService, "d"));
  EXPECT_FALSE(leads(lab, kService, "c"));
  lead({});
  EXPECT_FALSE(leads(lab, kService, "d"));
  EXPECT_EQ(lab.sweep().writes, 2u) << "LinearFDBTop is what ports need again";
  EXPECT_TRUE(lab.reaches("b", "d"));
}

TEST(ServiceLids, ArePortsLidsNever) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.setup = {.lmc = 1}});
  std::vector<ServiceLid> lids;
  for (std::uint16_t lid = 1; lid < 20; lid = static_cast<std::uint16_t>(lid + 3))
    lids.push_back({Lid{lid}, service_guid_of(lab, "c")});
  ASSERT_TRUE(lab.manager->set_service_lids(lids));
  lab.sweep();
  for (const ServiceLid& each : lids) {
    for (const char* node : {"a", "b", "c", "d"}) {
      const unsigned first = lab.lid(node).value();
      EXPECT_FALSE(each.lid.value() == first || each.lid.value() == first + 1) << node;
    }
    EXPECT_NE(each.lid, lab.lid("s1"));
    EXPECT_NE(each.lid, lab.lid("s2"));
    EXPECT_TRUE(leads(lab, each.lid, "c")) << each.lid.value();
  }
}

TEST(ServiceLids, AreNotTakenFromPorts) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.setup = {.lmc = 1}});
  lab.sweep();
  const Guid c = service_guid_of(lab, "c");
  const auto refused = [&](std::vector<ServiceLid> lids) {
    const auto set = lab.manager->set_service_lids(lids);
    return set ? std::string() : set.error().message;
  };
  const Lid second{static_cast<std::uint16_t>(lab.lid("d").value() + 1)};
  EXPECT_THAT(refused({{lab.lid("d"), c}}), HasSubstr("is a port's own"));
  EXPECT_THAT(refused({{second, c}}), HasSubstr("is a port's own"));
  EXPECT_THAT(refused({{Lid{}, c}}), HasSubstr("no unicast LID"));
  EXPECT_THAT(refused({{Lid{0xC000}, c}}), HasSubstr("no unicast LID"));
  EXPECT_THAT(refused({{kService, c}, {kService, c}}), HasSubstr("twice"));
  // Of a port that is away too.
  const std::size_t cable = *lab.running.fabric.find_link("d:1");
  lab.running.fabric.link(cable).set_plugged(false, lab.running.now);
  lab.running.settle();
  lab.sweep();
  EXPECT_THAT(refused({{second, c}}), HasSubstr("is a port's own"));
  EXPECT_EQ(refused({{kService, c}}), "");
}

TEST(ServiceLids, LeadNowhereWhileTheirPortIsAway) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  const std::size_t cable = *lab.running.fabric.find_link("d:1");
  const auto plug = [&](bool plugged) {
    lab.running.fabric.link(cable).set_plugged(plugged, lab.running.now);
    lab.running.run_for(10ms);
    lab.sweep();
  };
  plug(false);
  ASSERT_TRUE(lab.manager->set_service_lids(
      std::vector<ServiceLid>{{kService, service_guid_of(lab, "d")}}));
  lab.run_for(1ms);
  EXPECT_EQ(lab.manager->routes().port(0, kService), kNoPort);
  plug(true);
  EXPECT_TRUE(leads(lab, kService, "d"));
  plug(false);
  EXPECT_EQ(lab.manager->routes().port(0, kService), kNoPort);
}

TEST(ServiceLids, AreNotRoutedWhereSwitchesHaveNoEntriesForThem) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  std::vector<std::string> problems;
  lab.manager->on_event([&](const ManagerEvent& event) {
    if (event.kind == ManagerEvent::Kind::kProblem) problems.push_back(event.text);
  });
  ASSERT_TRUE(lab.manager->set_service_lids(
      std::vector<ServiceLid>{{Lid{0xBFFF}, service_guid_of(lab, "c")}}));
  const bool fits = lab.running.fabric.find_node("s1")->switch_info().linear_cap > 0xBFFF;
  EXPECT_EQ(lab.sweep().failures, 0u);
  EXPECT_EQ(problems.empty(), fits);
  EXPECT_EQ(leads(lab, Lid{0xBFFF}, "c"), fits);
}

TEST(ServiceLids, HaveWaysAndArePathsIfThePolicySaysSo) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const auto lead = [&](const std::string& to) {
    ASSERT_TRUE(sa.lab.manager->set_service_lids(
        std::vector<ServiceLid>{{kService, service_guid_of(sa.lab, to)}}));
    sa.lab.run_for(1ms);
    sa.publish();
  };
  const auto arrives_at = [&]() -> std::string {
    const SubnetView& view = sa.administrator->view();
    const ViewEnd& b = view.ends()[view.end_of(sa.lab.lid("b"))];
    const auto way = view.way(b, kService);
    const Explanation hops = explain(view, b, kService);
    EXPECT_EQ(way.has_value(), hops.arrives);
    if (!way || !hops.arrives) return "";
    EXPECT_EQ(way->links, hops.hops.size());
    return view.subnet().nodes[hops.hops.back().in.node].description;
  };
  EXPECT_EQ(arrives_at(), "");
  lead("c");
  EXPECT_EQ(arrives_at(), "c");
  lead("d");
  EXPECT_EQ(arrives_at(), "d");
  // Nobody has it: it names no port, and no packet comes from it.
  EXPECT_EQ(sa.administrator->view().end_of(kService), SubnetView::kNobody);
  sa.administrator->set_policy([&](const SaRequest&, wire::PathRecord& path) {
    path.dlid = kService;
    return true;
  });
  std::vector<std::byte> data(200);
  wire::PathRecord{.dgid = sa.gid("a"), .sgid = sa.gid("b")}.write(data);
  const Answer answer =
      sa.ask("b", {.method = wire::MadMethod::kGet,
                   .attribute = wire::SaAttribute::kPathRecord,
                   .mask = wire::PathRecord::kHasSgid | wire::PathRecord::kHasDgid,
                   .data = data});
  EXPECT_EQ(wire::PathRecord::parse(answer.records.at(0))->dlid, kService);
  EXPECT_TRUE(leads(sa.lab, kService, "d"));
}

// On any fabric, with whatever engine: from everywhere to the port, on lanes that cannot block.
TEST(ServiceLids, GoTheWaysOfTheirPort) {
  const auto ring = fabric::generate_torus({6}, 1, "ring");
  const std::string host = ring->nodes.back().name;
  AdministeredLab sa(*ring, host, {.engine = Engine::kLayered});
  ASSERT_TRUE(sa.lab.manager->set_service_lids(
      std::vector<ServiceLid>{{kService, service_guid_of(sa.lab, host)}}));
  sa.sweep();
  const SubnetView& view = sa.administrator->view();
  for (const ViewEnd& end : view.ends()) {
    EXPECT_TRUE(view.way(end, kService));
    EXPECT_EQ(view.level(end, kService), view.level(end, sa.lab.lid(host)));
  }
}

}  // namespace
}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
// Lanes in whole fabrics: those that routing needs, and those that QoS asks for.
#include "sm/lane_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/lab_generate.h"
#include "graphs.h"
#include "managed_lab.h"

namespace weft::sm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> switches_of(const fabric::Lab& lab) {
  std::vector<std::string> names;
  for (const fabric::LabNode& node : lab.nodes) {
    if (node.kind == fabric::NodeKind::kSwitch) names.push_back(node.name);
  }
  return names;
}

std::string some_host(const fabric::Lab& lab) {
  return lab.nodes.back().name;
}

// What the manager knows is what the switches have, of all that leaves by ports that are up.
std::size_t expect_known(ManagedLab& lab) {
  std::size_t compared = 0;
  for (const SubnetNode& node : lab.manager->subnet().nodes) {
    if (!node.is_switch()) continue;
    const fabric::Node& real = *lab.running.fabric.find_node(node.description);
    for (std::size_t out = 1; out < node.ports.size(); ++out) {
      if (!node.ports[out].peer) continue;
      const auto& tables = node.ports[out].tables.sl_to_vl;
      for (std::size_t in = 0; in < tables.size(); ++in) {
        if (!tables[in]) continue;
        ++compared;
        EXPECT_EQ(real.sl_to_vl(static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(out)),
                  *tables[in])
            << node.description << ' ' << in << ' ' << out;
      }
    }
  }
  return compared;
}

TEST(SubnetLanes, AreThoseOfTheRoutes) {
  const auto lab = *fabric::generate_torus({5, 5}, 1, "torus");
  const SwitchGraph graph = graph_of(lab);
  const Routes routes = *route(Engine::kDimensionOrder, graph, {});
  ASSERT_EQ(routes.lanes, 2);
  Subnet subnet;
  std::vector<SwitchIndex> index;
  for (SwitchIndex at = 0; at < graph.switches(); ++at) {
    SubnetNode node;
    node.info.type = wire::NodeType::kSwitch;
    node.ports.resize(graph.ports(at) + 1u);
    subnet.nodes.push_back(node);
    index.push_back(at);
  }
  const SubnetLanes plan = lane_plan(subnet, graph, routes, index);
  HopIndex number = 0;
  for (const Hop& hop : graph.hops()) {
    for (std::uint8_t sl = 0; sl < 16; ++sl)
      EXPECT_EQ(plan.switches[hop.from][hop.port].vls[sl], routes.lane(number, Sl{sl}));
    ++number;
  }
}

TEST(LaneTables, AreLeftAloneWhereNobodyNeedsThem) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  EXPECT_EQ(expect_known(lab), 0u);
  for (const SubnetNode& node : lab.manager->subnet().nodes) {
    for (const SubnetPort& port : node.ports)
      EXPECT_THAT(port.tables.vl_arbitration, IsEmpty());
  }
}

TEST(LaneTables, AreThoseThatRoutingNeeds) {
  const auto torus = *fabric::generate_torus({5, 5}, 1, "torus");
  for (const Engine engine : {Engine::kDimensionOrder, Engine::kLayered}) {
    for (const bool optimized : {true, false}) {
      SCOPED_TRACE(to_string(engine));
      ManagedLab lab(torus, some_host(torus), {.engine = engine});
      for (const std::string& name : switches_of(torus)) {
        fabric::Node& node = *lab.running.fabric.find_node(name);
        wire::SwitchInfo info = node.switch_info();
        info.optimized_sl_to_vl = optimized ? 1 : 0;
        node.set_switch_info(info);
      }
      EXPECT_THAT(lab.sweep().problems, IsEmpty());
      EXPECT_THAT(lab.manager->report().warnings, IsEmpty());
      ASSERT_GT(lab.manager->routes().lanes, 1);
      EXPECT_GT(expect_known(lab), 25u * 5u);
      EXPECT_EQ(lab.sweep().writes, 0u);
      // Every lane that is used gets its turn.
      const fabric::Node& any = *lab.running.fabric.find_node(switches_of(torus)[0]);
      EXPECT_EQ(any.vl_arbitration(1, 1).entries[1].vl, Vl{1});
      EXPECT_GT(any.vl_arbitration(1, 1).entries[1].weight, 0);
    }
  }
}

TEST(LaneTables, CostFewPacketsWhereSwitchesTakeManyAtOnce) {
  const auto torus = *fabric::generate_torus({3, 3}, 1, "torus");
  std::uint64_t writes[2] = {};
  for (const bool optimized : {false, true}) {
    ManagedLab lab(torus, some_host(torus), {.engine = Engine::kLayered});
    for (const std::string& name : switches_of(torus)) {
      fabric::Node& node = *lab.running.fabric.find_node(name);
      wire::SwitchInfo info = node.switch_info();
      info.optimized_sl_to_vl = optimized ? 1 : 0;
      node.set_switch_info(info);
    }
    writes[optimized ? 1 : 0] = lab.sweep().writes;
  }
  // One for each switch, instead of one for each pair of ports.
  EXPECT_GE(writes[0], writes[1] + 9 * (5 * 6 - 1));
}

TEST(LaneTables, SayWhereThereAreTooFewLanes) {
  const auto torus = *fabric::generate_torus({3, 3}, 1, "torus");
  ManagedLab lab(torus, some_host(torus), {.engine = Engine::kLayered, .setup = {.lanes = 1}});
  EXPECT_THAT(lab.sweep().warnings, ::testing::Contains(HasSubstr("has 1 lanes, routing needs")));
}

constexpr const char* kOptions =
    "qos_max_vls 4\n"
    "qos_high_limit 3\n"
    "qos_vlarb_high 0:64,9:1\n"
    "qos_vlarb_low 1:8,2:16\n"
    "qos_sl2vl 0,1,2,3,4,15\n"
    "qos_ca_sl2vl 3\n";

TEST(LaneTables, AreThoseThatQosAsksFor) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                 {.setup = {.qos = *Qos::parse(kOptions, "qos.conf")}});
  EXPECT_THAT(lab.sweep().problems, IsEmpty());
  EXPECT_GT(expect_known(lab), 0u);
  const fabric::Node& node = *lab.running.fabric.find_node("s1");
  const wire::SlToVl map = node.sl_to_vl(1, 4);
  EXPECT_EQ(map.vls[3], Vl{3});
  EXPECT_EQ(map.vls[4], Vl{0});  // the link has four lanes
  EXPECT_EQ(map.vls[5], Vl{15});
  EXPECT_EQ(lab.running.fabric.find_node("a")->sl_to_vl(0, 1).vls[0], Vl{3});
  EXPECT_EQ(node.port_info(4).operational_vls, 3);
  EXPECT_EQ(node.port_info(4).vl_high_limit, 3);
  const auto high = node.vl_arbitration(4, 3);
  EXPECT_EQ(high.entries[0].weight, 64);
  EXPECT_EQ(high.entries[1].weight, 0);  // of a lane that is not there
  EXPECT_EQ(node.vl_arbitration(4, 1).entries[1].weight, 16);
  EXPECT_EQ(lab.sweep().writes, 0u);
}

TEST(LaneTables, AreLeftAloneWhereQosIsSwitchedOff) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                 {.setup = {.qos = *Qos::parse(std::string(kOptions) + "qos no\n", "qos.conf")}});
  lab.sweep();
  EXPECT_EQ(expect_known(lab), 0u);
  EXPECT_EQ(lab.running.fabric.find_node("s1")->port_info(4).vl_high_limit, 0);
}

TEST(LaneTables, OfManyPortsCannotBeReadAtOnce) {
  fabric::RunningLab lab(fabric::lab_of(fabric::kFourNodes));
  for (const std::uint32_t modifier : {0x3'0000u, 0x2'0001u, 0x1'0100u, 0x4'0000u}) {
    const auto answer =
        lab.directed(wire::MadMethod::kGet, wire::SmAttribute::kSlToVl, modifier, {1});
    ASSERT_TRUE(answer);
    EXPECT_NE(lab.status(*answer), 0) << modifier;
  }
}

}  // namespace
}  // namespace weft::sm

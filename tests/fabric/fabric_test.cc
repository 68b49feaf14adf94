// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fabric/lab_generate.h"
#include "running_lab.h"

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;
using wire::SmAttribute;

constexpr const char* kTwoSwitches = R"(
[switch]
s1 = { ports = 4 }
s2 = { ports = 4, enhanced_port0 = true }
[node]
a = { description = "a HCA-1" }
b = { description = "b HCA-1" }
[[link]]
ends = ["a:1", "s1:1"]
[[link]]
name = "trunk"
ends = ["s1:4", "s2:3"]
[[link]]
ends = ["b:1", "s2:1"]
)";

TEST(Fabric, BringsItsLinksToInitializeWithoutASubnetManager) {
  RunningLab lab(lab_of(kTwoSwitches));
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(lab.fabric.find_node(name)->port(1).link().state(), link::PortState::kInitialize);
  }
  Node& s1 = *lab.fabric.find_node("s1");
  EXPECT_EQ(s1.port(4).link().physical_state(), link::PortPhysicalState::kLinkUp);
  EXPECT_EQ(s1.port(2).link().state(), link::PortState::kDown) << "nothing is plugged in";
  EXPECT_EQ(s1.port(2).link().physical_state(), link::PortPhysicalState::kPolling);
}

TEST(Fabric, IsIdleOnceItsLinksAreUp) {
  RunningLab lab(lab_of(kTwoSwitches));
  lab.run_for(1s);
  EXPECT_EQ(lab.fabric.deadline(), std::nullopt);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST(Fabric, AnswersByDirectedRouteAtEachHop) {
  RunningLab lab(lab_of(kTwoSwitches));
  const auto own = lab.get<wire::NodeInfo>(SmAttribute::kNodeInfo, 0, {});
  ASSERT_TRUE(own);
  EXPECT_EQ(own->node_guid, lab.fabric.lab().find_node("a")->guid);
  EXPECT_EQ(own->type, wire::NodeType::kChannelAdapter);
  const auto s1 = lab.get<wire::NodeInfo>(SmAttribute::kNodeInfo, 0, {1});
  ASSERT_TRUE(s1);
  EXPECT_EQ(s1->type, wire::NodeType::kSwitch);
  EXPECT_EQ(s1->ports, 4);
  EXPECT_EQ(s1->local_port, 1);
  const auto s2 = lab.get<wire::NodeInfo>(SmAttribute::kNodeInfo, 0, {1, 4});
  ASSERT_TRUE(s2);
  EXPECT_EQ(s2->node_guid, lab.fabric.lab().find_node("s2")->guid);
  EXPECT_EQ(s2->local_port, 3);
  const auto b = lab.get<wire::NodeDescription>(SmAttribute::kNodeDescription, 0, {1, 4, 1});
  ASSERT_TRUE(b);
  EXPECT_EQ(b->to_string(), "b HCA-1");
}

TEST(Fabric, DoesNotAnswerWhereARouteLeadsNowhere) {
  RunningLab lab(lab_of(kTwoSwitches));
  EXPECT_FALSE(lab.directed(wire::MadMethod::kGet, SmAttribute::kNodeInfo, 0, {1, 2}));
  EXPECT_FALSE(lab.directed(wire::MadMethod::kGet, SmAttribute::kNodeInfo, 0, {1, 9}));
  EXPECT_FALSE(lab.directed(wire::MadMethod::kGet, SmAttribute::kNodeInfo, 0, {1, 4, 1, 1}))
      << "through an adapter";
  lab.run_for(10s);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

// The lab that management finds is the lab that was built.
void expect_found(RunningLab& lab) {
  const auto found = lab.discover();
  const Lab& built = lab.fabric.lab();
  ASSERT_EQ(found.size(), built.nodes.size());
  const auto port_guid = [&](const LabEnd& end) {
    const LabNode& node = built.nodes[end.node];
    if (node.kind == NodeKind::kSwitch) return node.port_guids.at(0).value();
    return node.port_guids.at(end.port - 1u).value();
  };
  std::set<std::array<std::uint64_t, 4>> links, found_links;
  for (const LabLink& link : built.links) {
    for (const std::size_t side : {0, 1}) {
      const LabEnd &a = link.ends[side], &b = link.ends[1 - side];
      if (built.nodes[a.node].kind != NodeKind::kSwitch) continue;
      links.insert({port_guid(a), a.port, port_guid(b), b.port});
    }
  }
  for (const auto& [guid, node] : found) {
    if (node.info.type != wire::NodeType::kSwitch) continue;
    for (const auto& [port, other] : node.neighbours)
      found_links.insert({guid, port, other.first, other.second});
  }
  EXPECT_EQ(found_links, links);
}

TEST(Fabric, IsDiscoveredAsItWasBuilt) {
  RunningLab two(lab_of(kTwoSwitches));
  expect_found(two);
  RunningLab tree(*generate_fat_tree({2, 3, 2}, "tree"));
  expect_found(tree);
  RunningLab torus(*generate_torus({3, 3}, 1, "torus"));
  expect_found(torus);
}

TEST(Fabric, AnswersByLidOnceItHasLidsAndRoutes) {
  RunningLab lab(lab_of(kTwoSwitches));
  lab.bring_up();
  for (const auto& [guid, node] : lab.nodes) {
    const auto answer = lab.routed(wire::MadMethod::kGet, SmAttribute::kNodeInfo, 0, node.lid);
    ASSERT_TRUE(answer) << node.description;
    EXPECT_EQ(RunningLab::status(*answer), 0);
    const auto info = wire::NodeInfo::parse(wire::smp::data(wire::MadBytes(*answer)));
    EXPECT_EQ(info->node_guid, node.info.node_guid);
  }
}

TEST(Fabric, TrainsLinksToTheBestOfBothEndsAndTheCable) {
  RunningLab lab(lab_of(R"(
[switch.s]
speed = "edr"
width = "12x"
[node]
a = {}
b = { speed = "hdr" }
c = { width = "12x", speed = "fdr" }
[[link]]
ends = ["a", "s:1"]
[[link]]
ends = ["b", "s:2"]
width = "1x"
[[link]]
ends = ["c", "s:3"]
speed = "ddr"
)"));
  const auto info = [&](std::uint8_t port) { return lab.fabric.find_node("s")->port_info(port); };
  EXPECT_EQ(info(1).link_width_active, width_bit(LinkWidth::k4x));
  EXPECT_EQ(info(1).link_speed_active, speed_bit(LinkSpeed::kQdr).speed);
  EXPECT_EQ(info(1).link_speed_ext_active, 0);
  EXPECT_EQ(info(2).link_width_active, width_bit(LinkWidth::k1x));
  EXPECT_EQ(info(2).link_speed_ext_active, speed_bit(LinkSpeed::kEdr).extended);
  EXPECT_EQ(info(3).link_width_active, width_bit(LinkWidth::k12x));
  EXPECT_EQ(info(3).link_speed_active, speed_bit(LinkSpeed::kDdr).speed);
  EXPECT_EQ(lab.fabric.find_node("c")->port_info(1).link_speed_active,
            speed_bit(LinkSpeed::kDdr).speed);
}

TEST(Fabric, ForwardsByLidOnceLinksAreActive) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  lab.inject("a", {.slid = lab.node("a").lid, .dlid = lab.node("d").lid});
  EXPECT_EQ(lab.count("s1", NodeCounter::kForwarded, 1), 1u);
  EXPECT_EQ(lab.count("s2", NodeCounter::kForwarded, 4), 1u);
  EXPECT_EQ(lab.count("d", NodeCounter::kNoQueuePair), 1u) << "arrived; nobody has the number";
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST(Fabric, ForwardsNoDataBeforeLinksAreActive) {
  RunningLab lab(lab_of(kFourNodes));
  lab.inject("a", {.slid = Lid{1}, .dlid = Lid{4}});
  EXPECT_EQ(
      lab.fabric.find_node("a")->port(1).link().counters().get(link::PortCounter::kTxInactive), 1u);
}

TEST(Fabric, CountsWhatHasNoRouteAndWhatWouldTurnBack) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  lab.inject("a", {.slid = lab.node("a").lid, .dlid = Lid{77}});
  EXPECT_EQ(lab.count("s1", NodeCounter::kNoRoute, 1), 1u);
  lab.inject("a", {.slid = lab.node("a").lid, .dlid = lab.node("a").lid});
  EXPECT_EQ(lab.count("s1", NodeCounter::kLoop, 1), 1u);
  EXPECT_EQ(lab.fabric.find_node("s1")->port_counts(1).receive_switch_relay_errors, 2u);
}

TEST(Fabric, DropsWhatSlToVlHasNoLaneFor) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  wire::SlToVl map;
  map.vls.fill(Vl{0});
  map.vls[3] = Vl{15};
  map.vls[4] = Vl{5};
  lab.set(SmAttribute::kSlToVl, 1u << 8 | 4u, lab.node("s1").path, map);
  const RunningLab::Spec to_d{.slid = lab.node("a").lid, .dlid = lab.node("d").lid};
  RunningLab::Spec spec = to_d;
  spec.sl = Sl{3};
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("s1", NodeCounter::kNoVl, 1), 1u);
  spec.sl = Sl{4};
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("d", NodeCounter::kNoQueuePair), 1u);
  spec.slid = lab.node("b").lid;
  spec.sl = Sl{3};
  lab.inject("b", spec);
  EXPECT_EQ(lab.count("d", NodeCounter::kNoQueuePair), 2u) << "the map is of port 1's packets only";
}

TEST(Fabric, KeepsPartitionsApartAtThePortsThatEnforceThem) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  wire::PKeyBlock keys;
  keys.pkeys[0] = PKey{0x7FFF};
  keys.pkeys[1] = PKey{0x8001};
  const Path s1 = lab.node("s1").path;
  lab.set(SmAttribute::kPKeyTable, 1u << 16, s1, keys);
  auto info = *lab.get<wire::PortInfo>(SmAttribute::kPortInfo, 1, s1);
  info.state = wire::PortState::kNoChange;
  info.physical_state = wire::PortPhysicalState::kNoChange;
  info.enforce_partition_inbound = true;
  info.enforce_partition_outbound = true;
  lab.set(SmAttribute::kPortInfo, 1, s1, info);
  RunningLab::Spec spec{.slid = lab.node("a").lid, .dlid = lab.node("b").lid};
  spec.pkey = PKey{0x8002};
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("s1", NodeCounter::kInboundPKey, 1), 1u);
  // What a limited member sends has the limited key, as the port's table has.
  for (const PKey pkey : {PKey{0x7FFF}, PKey{0xFFFF}, PKey{0x0001}, PKey{0x8001}}) {
    spec.pkey = pkey;
    lab.inject("a", spec);
  }
  EXPECT_EQ(lab.count("b", NodeCounter::kNoQueuePair), 4u);
  spec = {.slid = lab.node("b").lid, .dlid = lab.node("a").lid, .pkey = PKey{0x8002}};
  lab.inject("b", spec);
  EXPECT_EQ(lab.count("s1", NodeCounter::kOutboundPKey, 1), 1u);
  const mgmt::PortCounts counts = lab.fabric.find_node("s1")->port_counts(1);
  EXPECT_EQ(counts.receive_constraint_errors, 1u);
  EXPECT_EQ(counts.transmit_constraint_errors, 1u);
  EXPECT_EQ(lab.get<wire::PortInfo>(SmAttribute::kPortInfo, 1, s1)->pkey_violations, 2);
}

TEST(Fabric, FiltersRawPacketsWhereItWasTold) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  const Path s1 = lab.node("s1").path;
  const auto filter = [&](std::uint32_t port, bool inbound, bool outbound) {
    auto info = *lab.get<wire::PortInfo>(SmAttribute::kPortInfo, port, s1);
    info.state = wire::PortState::kNoChange;
    info.physical_state = wire::PortPhysicalState::kNoChange;
    info.filter_raw_inbound = inbound;
    info.filter_raw_outbound = outbound;
    lab.set(SmAttribute::kPortInfo, port, s1, info);
  };
  const RunningLab::Spec spec{.slid = lab.node("a").lid, .dlid = lab.node("b").lid, .raw = true};
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("b", NodeCounter::kNoQueuePair), 1u);
  filter(2, false, true);
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("s1", NodeCounter::kOutboundRaw, 2), 1u);
  filter(1, true, false);
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("s1", NodeCounter::kInboundRaw, 1), 1u);
  EXPECT_EQ(lab.count("b", NodeCounter::kNoQueuePair), 1u);
}

TEST(Fabric, CopiesMulticastPacketsToEveryPortOfTheirGroupButTheirOwn) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  const auto join = [&](const char* name, std::uint16_t mask) {
    wire::MulticastBlock block;
    block.masks[5] = mask;
    lab.set(SmAttribute::kMulticastForwarding, 0, lab.node(name).path, block);
  };
  join("s1", 1u << 1 | 1u << 2 | 1u << 4);
  join("s2", 1u << 1 | 1u << 2 | 1u << 4);
  const RunningLab::Spec spec{
      .slid = lab.node("a").lid, .dlid = Lid{0xC005}, .dest_qp = kMulticastQpn};
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("a", NodeCounter::kNoQueuePair), 0u);
  for (const char* name : {"b", "c", "d"})
    EXPECT_EQ(lab.count(name, NodeCounter::kNoQueuePair), 1u) << name;
  EXPECT_EQ(lab.count("s1", NodeCounter::kReplicated, 1), 1u);
  EXPECT_EQ(lab.count("s2", NodeCounter::kReplicated, 4), 1u);
  EXPECT_EQ(lab.fabric.packets_in_use(), 0u);
}

TEST(Fabric, SendsUnknownMulticastToTheDefaultPorts) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  const RunningLab::Spec spec{.slid = Lid{1}, .dlid = Lid{0xC009}, .dest_qp = kMulticastQpn};
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("s1", NodeCounter::kNoRoute, 1), 1u) << "there is no default at first";
  auto info = *lab.get<wire::SwitchInfo>(SmAttribute::kSwitchInfo, 0, lab.node("s1").path);
  info.default_multicast_primary_port = 2;
  info.default_multicast_not_primary_port = 1;
  lab.set(SmAttribute::kSwitchInfo, 0, lab.node("s1").path, info);
  lab.inject("a", spec);
  EXPECT_EQ(lab.count("b", NodeCounter::kNoQueuePair), 1u);
  lab.inject("b", spec);
  EXPECT_EQ(lab.count("a", NodeCounter::kNoQueuePair), 1u) << "came by the primary port";
}

TEST(Fabric, AdaptersTakeOnlyTheirOwnLids) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  wire::LinearBlock block =
      *lab.get<wire::LinearBlock>(SmAttribute::kLinearForwarding, 0, lab.node("s1").path);
  block.ports[lab.node("d").lid.value()] = 2;  // to b
  lab.set(SmAttribute::kLinearForwarding, 0, lab.node("s1").path, block);
  lab.inject("a", {.slid = lab.node("a").lid, .dlid = lab.node("d").lid});
  EXPECT_EQ(lab.count("b", NodeCounter::kNotMine), 1u);
}

TEST(Fabric, SetsPortStateChangeWhenALinkGoesDownAndComesBack) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  const auto changed = [&] {
    return dynamic_cast<mgmt::ManagedNode*>(lab.fabric.find_node("s1"))
        ->switch_info()
        .port_state_change;
  };
  EXPECT_FALSE(changed());
  const auto trunk = lab.fabric.find_link("trunk");
  ASSERT_TRUE(trunk);
  lab.fabric.link(*trunk).set_plugged(false, lab.now);
  lab.settle();
  EXPECT_TRUE(changed());
  EXPECT_EQ(lab.fabric.find_node("s1")->port(4).link().state(), link::PortState::kDown);
  EXPECT_EQ(lab.fabric.find_node("s2")->port_counts(4).link_downed, 1u);
  lab.fabric.link(*trunk).set_plugged(true, lab.now);
  lab.settle();
  EXPECT_EQ(lab.fabric.find_node("s2")->port(4).link().state(), link::PortState::kInitialize);
}

TEST(Fabric, LosesAndCountsWhatItsPoolHasNoRoomFor) {
  RunningLab lab(lab_of(kFourNodes), {.packets = 0, .payload_blocks = 0});
  EXPECT_FALSE(lab.directed(wire::MadMethod::kGet, SmAttribute::kNodeInfo, 0, {1}));
  EXPECT_GE(lab.count("a", NodeCounter::kNoPacket), 1u);
}

TEST(Fabric, HoldsPacketsWhenItEndsInTheMiddleOfTraffic) {
  RunningLab lab(lab_of(kFourNodes));
  lab.bring_up();
  lab.fabric.find_node("a")->management_used();
  for (int i = 0; i < 10; ++i)
    lab.fabric.link(0).set_emulation({.delay = 1ms}, lab.now);
  lab.inject("a", {.slid = lab.node("a").lid, .dlid = lab.node("d").lid});
  EXPECT_GE(lab.fabric.packets_in_use(), 1u);
}

}  // namespace
}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
// The subnet management agent: what each attribute shows, what a Set changes, and what it refuses.
#include <gtest/gtest.h>

#include "mad_fixture.h"

namespace weft::mgmt::test {
namespace {

using wire::NodeType;
using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;

struct Adapter : ManagedFixture {
  Adapter() : ManagedFixture(NodeType::kChannelAdapter, 2) {
    for (PortInfo& info : node.infos)
      info.lid = Lid{5};
  }
};
struct Switch : ManagedFixture {
  Switch() : ManagedFixture(NodeType::kSwitch, 20) { node.infos[0].lid = Lid{5}; }
};

TEST(SubnetAgent, AnswersWhereItWasAskedFrom) {
  Adapter adapter;
  const SentMad answer = adapter.ask(make_smp(MadMethod::kGet, SmAttribute::kNodeInfo), {}, 2);
  EXPECT_EQ(answer.envelope,
            (MadEnvelope{.port = 2, .slid = Lid{5}, .dlid = Lid{7}, .pkey = kDefaultPKey}));
  EXPECT_EQ(answer.header(), (wire::MadHeader{.mgmt_class = MgmtClass::kSubnLid,
                                              .class_version = 1,
                                              .method = MadMethod::kGetResponse,
                                              .transaction_id = 0x1122'3344,
                                              .attribute_id = 0x11}));
  const auto info = *wire::NodeInfo::parse(answer.data());
  EXPECT_EQ(info.local_port, 2);
  EXPECT_EQ(info.port_guid, adapter.node.port_guid(2));
  EXPECT_EQ(info.ports, 2);
}

TEST(SubnetAgent, AnswersFromPort0OfASwitchWhateverPortWasReached) {
  Switch a_switch;
  const SentMad answer = a_switch.ask(make_smp(MadMethod::kGet, SmAttribute::kNodeInfo), {}, 13);
  EXPECT_EQ(answer.envelope.port, 0);
  EXPECT_EQ(wire::NodeInfo::parse(answer.data())->local_port, 13);
}

TEST(SubnetAgent, ShowsTheNameOfTheNode) {
  Adapter adapter;
  EXPECT_EQ(adapter.get<wire::NodeDescription>(SmAttribute::kNodeDescription).to_string(), "node");
}

TEST(SubnetAgent, RefusesToSetWhatOnlyTells) {
  Adapter adapter;
  for (const SmAttribute attribute : {SmAttribute::kNodeInfo, SmAttribute::kNodeDescription}) {
    EXPECT_EQ(adapter.ask(make_smp(MadMethod::kSet, attribute)).status(),
              MadStatus::kBadMethodAttribute);
  }
  EXPECT_EQ(adapter.node.sets, 0);
}

TEST(SubnetAgent, KnowsNoAttributesOfSwitchesOnAnAdapter) {
  Adapter adapter;
  for (const SmAttribute attribute :
       {SmAttribute::kSwitchInfo, SmAttribute::kLinearForwarding, SmAttribute::kRandomForwarding,
        SmAttribute::kMulticastForwarding, SmAttribute::kClassPortInfo, SmAttribute::kVendorDiag,
        static_cast<SmAttribute>(0xFF00)}) {
    EXPECT_EQ(adapter.ask(make_smp(MadMethod::kGet, attribute)).status(),
              MadStatus::kBadMethodAttribute);
  }
}

TEST(SubnetAgent, RefusesVersionsThatItDoesNotKnow) {
  Adapter adapter;
  MadBuffer mad = make_smp(MadMethod::kGet, SmAttribute::kNodeInfo);
  wire::store_u8(mad.data() + 2, 2);
  EXPECT_EQ(adapter.ask(mad).status(), MadStatus::kBadVersion);
  wire::store_u8(mad.data() + 2, 1);
  wire::store_u8(mad.data(), 2);
  EXPECT_EQ(adapter.ask(mad).status(), MadStatus::kBadVersion);
}

TEST(SubnetAgent, ShowsPortInfoOfThePortNamedOrReached) {
  Adapter adapter;
  adapter.node.infos[2].lid = Lid{99};
  EXPECT_EQ(adapter.get<PortInfo>(SmAttribute::kPortInfo, 0).lid, Lid{5});
  EXPECT_EQ(adapter.get<PortInfo>(SmAttribute::kPortInfo, 2).lid, Lid{99});
  EXPECT_EQ(adapter.get<PortInfo>(SmAttribute::kPortInfo, 2).local_port, 1);
  // With the bit by which a manager says that it knows extended speeds.
  EXPECT_EQ(adapter.get<PortInfo>(SmAttribute::kPortInfo, 1u << 31 | 2).lid, Lid{99});
  for (const std::uint32_t modifier : {3u, 0x100u, 0xFFFFu}) {
    EXPECT_EQ(adapter.ask(make_smp(MadMethod::kGet, SmAttribute::kPortInfo, modifier)).status(),
              MadStatus::kInvalidValue);
  }
}

TEST(SubnetAgent, BringsAPortUpStateByState) {
  Adapter adapter;
  PortInfo info = adapter.get<PortInfo>(SmAttribute::kPortInfo, 1);
  info.lid = Lid{17};
  info.lmc = 2;
  info.master_sm_lid = Lid{1};
  info.master_sm_sl = Sl{3};
  info.gid_prefix = 0xFE80'0000'0000'0000;
  info.operational_vls = 3;
  info.neighbor_mtu = 5;
  info.state = PortState::kArmed;
  info.physical_state = PortPhysicalState::kNoChange;
  info.subnet_timeout = 17;
  info.client_reregister = true;
  MadBuffer mad = make_smp(MadMethod::kSet, SmAttribute::kPortInfo, 1);
  info.write(data_of(mad));
  const SentMad answer = adapter.ask(mad);
  ASSERT_EQ(answer.status(), MadStatus::kOk);
  EXPECT_TRUE(PortInfo::parse(answer.data())->client_reregister);
  EXPECT_EQ(adapter.node.reregistered, 1);
  const PortInfo& now = adapter.node.infos[1];
  EXPECT_EQ(now.lid, Lid{17});
  EXPECT_EQ(now.lmc, 2);
  EXPECT_EQ(now.master_sm_sl, Sl{3});
  EXPECT_EQ(now.operational_vls, 3);
  EXPECT_EQ(now.neighbor_mtu, 5);
  EXPECT_EQ(now.state, PortState::kArmed);
  EXPECT_EQ(now.physical_state, PortPhysicalState::kLinkUp);
  EXPECT_FALSE(adapter.get<PortInfo>(SmAttribute::kPortInfo, 1).client_reregister);
  info.state = PortState::kActive;
  EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kOk);
  EXPECT_EQ(adapter.node.infos[1].state, PortState::kActive);
}

TEST(SubnetAgent, RefusesStatesThatCannotFollow) {
  struct Step {
    PortState from;
    PortState to;
    bool allowed;
  };
  for (const Step& step : std::initializer_list<Step>{
           {PortState::kDown, PortState::kArmed, false},
           {PortState::kDown, PortState::kActive, false},
           {PortState::kInitialize, PortState::kActive, false},
           {PortState::kInitialize, PortState::kInitialize, false},
           {PortState::kInitialize, PortState::kArmed, true},
           {PortState::kArmed, PortState::kArmed, true},
           {PortState::kArmed, PortState::kActive, true},
           {PortState::kActive, PortState::kActive, true},
           {PortState::kActive, PortState::kArmed, false},
           {PortState::kActive, PortState::kDown, true},
           {PortState::kActive, static_cast<PortState>(5), false},
           {PortState::kActive, static_cast<PortState>(15), false},
       }) {
    Adapter adapter;
    PortInfo info = adapter.node.infos[1];
    adapter.node.infos[1].state = step.from;
    info.state = step.to;
    info.physical_state = PortPhysicalState::kNoChange;
    info.vl_high_limit = 77;
    const MadStatus status = adapter.set(SmAttribute::kPortInfo, 1, info);
    EXPECT_EQ(status, step.allowed ? MadStatus::kOk : MadStatus::kInvalidValue)
        << static_cast<int>(step.from) << " to " << static_cast<int>(step.to);
    EXPECT_EQ(adapter.node.infos[1].state, step.allowed ? step.to : step.from);
    // All of it or nothing.
    EXPECT_EQ(adapter.node.infos[1].vl_high_limit, step.allowed ? 77 : 0);
  }
}

TEST(SubnetAgent, DisablesAPortWithItsLinkDownOnly) {
  Adapter adapter;
  PortInfo info = adapter.node.infos[1];
  info.physical_state = PortPhysicalState::kDisabled;
  info.state = PortState::kArmed;
  EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kInvalidValue);
  info.state = PortState::kDown;
  EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kOk);
  EXPECT_EQ(adapter.node.infos[1].physical_state, PortPhysicalState::kDisabled);
  EXPECT_EQ(adapter.node.infos[1].state, PortState::kDown);
  for (const auto state : {PortPhysicalState::kTraining, PortPhysicalState::kLinkUp,
                           PortPhysicalState::kLinkErrorRecovery, PortPhysicalState::kPhyTest,
                           static_cast<PortPhysicalState>(9)}) {
    info.physical_state = state;
    EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kInvalidValue);
  }
}

// One field that no port can take, each time in a PortInfo otherwise good.
TEST(SubnetAgent, RefusesFieldsOfPortInfoThatAreOutOfRange) {
  const std::initializer_list<void (*)(PortInfo&)> faults{
      [](PortInfo& info) { info.lid = Lid{0}; },
      [](PortInfo& info) { info.lid = Lid{0xC000}; },
      [](PortInfo& info) { info.lid = Lid{0xFFFF}; },
      [](PortInfo& info) { info.master_sm_lid = Lid{0xC001}; },
      [](PortInfo& info) { info.neighbor_mtu = 6; },
      [](PortInfo& info) { info.neighbor_mtu = 0; },
      [](PortInfo& info) { info.operational_vls = 5; },
      [](PortInfo& info) { info.operational_vls = 15; },
      [](PortInfo& info) { info.link_width_enabled = 4; },
      [](PortInfo& info) { info.link_speed_enabled = 8; },
      [](PortInfo& info) { info.link_speed_ext_enabled = 1; },
      [](PortInfo& info) { info.link_down_default = PortPhysicalState::kDisabled; },
  };
  for (const auto fault : faults) {
    Adapter adapter;
    PortInfo info = adapter.node.infos[1];
    info.state = PortState::kNoChange;
    info.physical_state = PortPhysicalState::kNoChange;
    ASSERT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kOk);
    fault(info);
    const PortInfo before = adapter.node.infos[1];
    EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kInvalidValue);
    EXPECT_EQ(adapter.node.infos[1], before);
  }
}

TEST(SubnetAgent, LeavesAloneWhatASetMayNotChange) {
  Adapter adapter;
  const PortInfo before = adapter.node.infos[1];
  PortInfo info = before;
  info.state = PortState::kNoChange;
  info.physical_state = PortPhysicalState::kNoChange;
  info.capability_mask = 0xFFFF'FFFF;
  info.mtu_cap = 1;
  info.vl_cap = 1;
  info.guid_cap = 200;
  info.link_width_supported = 0;
  info.link_speed_active = 1;
  info.diag_code = 7;
  info.enforce_partition_inbound = true;  // an adapter has no such thing
  EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kOk);
  EXPECT_EQ(adapter.node.infos[1], before);
}

TEST(SubnetAgent, EnablesAllThatIsSupportedByOneValue) {
  Adapter adapter;
  adapter.node.infos[1].link_width_enabled = 1;
  PortInfo info = adapter.node.infos[1];
  info.state = PortState::kNoChange;
  info.physical_state = PortPhysicalState::kNoChange;
  info.link_width_enabled = PortInfo::kAllSupportedWidths;
  info.link_speed_enabled = PortInfo::kAllSupportedSpeeds;
  info.link_speed_ext_enabled = PortInfo::kAllSupportedExtSpeeds;
  EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kOk);
  EXPECT_EQ(adapter.node.infos[1].link_width_enabled, 3);
  EXPECT_EQ(adapter.node.infos[1].link_speed_enabled, 7);
  EXPECT_EQ(adapter.node.infos[1].link_speed_ext_enabled, 0);
}

TEST(SubnetAgent, ResetsCountersOfViolationsByZero) {
  Adapter adapter;
  adapter.node.infos[1].pkey_violations = 4;
  adapter.node.infos[1].qkey_violations = 5;
  PortInfo info = adapter.node.infos[1];
  info.state = PortState::kNoChange;
  info.physical_state = PortPhysicalState::kNoChange;
  info.pkey_violations = 0;
  info.qkey_violations = 9;
  EXPECT_EQ(adapter.set(SmAttribute::kPortInfo, 1, info), MadStatus::kOk);
  EXPECT_EQ(adapter.node.infos[1].pkey_violations, 0);
  EXPECT_EQ(adapter.node.infos[1].qkey_violations, 5);
}

TEST(SubnetAgent, EnforcesPartitionsAtPortsOfSwitchesWhateverTheirLid) {
  Switch a_switch;
  PortInfo info = a_switch.node.infos[3];
  info.lid = Lid{0xFFFF};  // port 0 has the LID
  info.state = PortState::kNoChange;
  info.physical_state = PortPhysicalState::kNoChange;
  info.enforce_partition_inbound = info.filter_raw_outbound = true;
  EXPECT_EQ(a_switch.set(SmAttribute::kPortInfo, 3, info), MadStatus::kOk);
  EXPECT_TRUE(a_switch.node.infos[3].enforce_partition_inbound);
  EXPECT_FALSE(a_switch.node.infos[3].enforce_partition_outbound);
  EXPECT_TRUE(a_switch.node.infos[3].filter_raw_outbound);
  EXPECT_EQ(a_switch.node.infos[3].lid, Lid{0});
}

TEST(SubnetAgent, TakesALmcAtPort0OfASwitchOnlyWhereItIsEnhanced) {
  Switch a_switch;
  PortInfo info = a_switch.node.infos[0];
  info.lid = Lid{8};
  info.lmc = 1;
  EXPECT_EQ(a_switch.set(SmAttribute::kPortInfo, 0, info), MadStatus::kInvalidValue);
  a_switch.node.switches.enhanced_port0 = true;
  EXPECT_EQ(a_switch.set(SmAttribute::kPortInfo, 0, info), MadStatus::kOk);
  EXPECT_EQ(a_switch.node.infos[0].lid, Lid{8});
}

TEST(SubnetAgent, SetsWhatIsSettableOfSwitchInfo) {
  Switch a_switch;
  a_switch.node.switches.port_state_change = true;
  wire::SwitchInfo info = a_switch.get<wire::SwitchInfo>(SmAttribute::kSwitchInfo);
  info.linear_top = Lid{40};
  info.life_time = 18;
  info.linear_cap = 1;
  info.multicast_top = Lid{0xC000 + 999};
  info.port_state_change = false;  // ignored: 1 clears it
  EXPECT_EQ(a_switch.set(SmAttribute::kSwitchInfo, 0, info), MadStatus::kOk);
  EXPECT_EQ(a_switch.node.switches.linear_top, Lid{40});
  EXPECT_EQ(a_switch.node.switches.life_time, 18);
  EXPECT_EQ(a_switch.node.switches.linear_cap, 0xC000);
  EXPECT_TRUE(a_switch.node.switches.port_state_change);
  info.port_state_change = true;
  EXPECT_EQ(a_switch.set(SmAttribute::kSwitchInfo, 0, info), MadStatus::kOk);
  EXPECT_FALSE(a_switch.node.switches.port_state_change);
  info.multicast_top = Lid{0xC000 + 1000};
  EXPECT_EQ(a_switch.set(SmAttribute::kSwitchInfo, 0, info), MadStatus::kInvalidValue);
  info.multicast_top = Lid{0xBFFF};
  EXPECT_EQ(a_switch.set(SmAttribute::kSwitchInfo, 0, info), MadStatus::kOk);
  info.linear_top = Lid{0xC000};
  EXPECT_EQ(a_switch.set(SmAttribute::kSwitchInfo, 0, info), MadStatus::kInvalidValue);
  EXPECT_EQ(a_switch.ask(make_smp(MadMethod::kGet, SmAttribute::kSwitchInfo, 1)).status(),
            MadStatus::kInvalidValue);
}

TEST(SubnetAgent, KeepsTheFirstGuidOfAPort) {
  Adapter adapter;
  wire::GuidBlock block;
  for (std::size_t i = 0; i < 8; ++i)
    block.guids[i] = Guid{100 + i};
  EXPECT_EQ(adapter.set(SmAttribute::kGuidInfo, 0, block), MadStatus::kOk);
  block.guids[0] = adapter.node.port_guid(1);
  EXPECT_EQ(adapter.get<wire::GuidBlock>(SmAttribute::kGuidInfo, 0), block);
  // The table has 10 entries: 2 of the second block.
  EXPECT_EQ(adapter.set(SmAttribute::kGuidInfo, 1, block), MadStatus::kOk);
  const auto second = adapter.get<wire::GuidBlock>(SmAttribute::kGuidInfo, 1);
  EXPECT_EQ(second.guids[0], block.guids[0]);
  EXPECT_EQ(second.guids[1], Guid{101});
  EXPECT_EQ(second.guids[2], Guid{0});
  EXPECT_EQ(adapter.set(SmAttribute::kGuidInfo, 2, block), MadStatus::kInvalidValue);
}

TEST(SubnetAgent, HasATableOfPKeysForEachPort) {
  Switch a_switch;
  wire::PKeyBlock block;
  block.pkeys.fill(PKey{0x8123});
  // 40 entries at external ports: a block and 8 of the next.
  EXPECT_EQ(a_switch.set(SmAttribute::kPKeyTable, 7u << 16 | 1, block), MadStatus::kOk);
  const auto second = a_switch.get<wire::PKeyBlock>(SmAttribute::kPKeyTable, 7u << 16 | 1);
  EXPECT_EQ(second.pkeys[7], PKey{0x8123});
  EXPECT_EQ(second.pkeys[8], PKey{0});
  EXPECT_EQ(a_switch.set(SmAttribute::kPKeyTable, 7u << 16 | 2, block), MadStatus::kInvalidValue);
  EXPECT_EQ(a_switch.set(SmAttribute::kPKeyTable, 21u << 16, block), MadStatus::kInvalidValue);
  EXPECT_EQ(a_switch.get<wire::PKeyBlock>(SmAttribute::kPKeyTable, 0).pkeys[0], kDefaultPKey);
  Adapter adapter;
  EXPECT_EQ(adapter.set(SmAttribute::kPKeyTable, 1, block), MadStatus::kOk);
  EXPECT_EQ(adapter.set(SmAttribute::kPKeyTable, 2, block), MadStatus::kInvalidValue);
}

TEST(SubnetAgent, MapsServiceLevelsForEachPairOfPorts) {
  Switch a_switch;
  wire::SlToVl map;
  for (std::size_t sl = 0; sl < 16; ++sl) {
    map.vls[sl] = Vl{static_cast<std::uint8_t>((sl + 3) % 16)};
  }
  EXPECT_EQ(a_switch.set(SmAttribute::kSlToVl, 4u << 8 | 9, map), MadStatus::kOk);
  EXPECT_EQ(a_switch.get<wire::SlToVl>(SmAttribute::kSlToVl, 4u << 8 | 9), map);
  EXPECT_EQ(a_switch.get<wire::SlToVl>(SmAttribute::kSlToVl, 9u << 8 | 4), wire::SlToVl{});
  for (const std::uint32_t modifier : {21u, 21u << 8, 1u << 16}) {
    EXPECT_EQ(a_switch.set(SmAttribute::kSlToVl, modifier, map), MadStatus::kInvalidValue);
  }
  a_switch.node.infos[0].capability_mask &= ~std::uint32_t{wire::kCapSlMapping};
  EXPECT_EQ(a_switch.set(SmAttribute::kSlToVl, 4u << 8 | 9, map), MadStatus::kBadMethodAttribute);
  Adapter adapter;
  EXPECT_EQ(adapter.set(SmAttribute::kSlToVl, 0, map), MadStatus::kOk);
  EXPECT_EQ(adapter.node.sl_to_vl(0, 1), map);
}

TEST(SubnetAgent, KeepsAsMuchOfVlArbitrationAsThePortHas) {
  Switch a_switch;
  wire::VlArbitrationBlock block;
  for (std::size_t i = 0; i < 32; ++i)
    block.entries[i] = {Vl{3}, static_cast<std::uint8_t>(i + 1)};
  EXPECT_EQ(a_switch.set(SmAttribute::kVlArbitration, 3u << 16 | 4, block), MadStatus::kOk);
  const auto high =
      a_switch.get<wire::VlArbitrationBlock>(SmAttribute::kVlArbitration, 3u << 16 | 4);
  EXPECT_EQ(high.entries[7].weight, 8);
  EXPECT_EQ(high.entries[8].weight, 0);
  for (const std::uint32_t modifier :
       {0u, 2u << 16 | 4, 4u << 16 | 4, 5u << 16 | 4, 1u << 16 | 21}) {
    EXPECT_EQ(a_switch.set(SmAttribute::kVlArbitration, modifier, block), MadStatus::kInvalidValue);
  }
}

TEST(SubnetAgent, KeepsForwardingTablesBlockByBlock) {
  Switch a_switch;
  wire::LinearBlock linear;
  for (std::size_t i = 0; i < 64; ++i)
    linear.ports[i] = static_cast<std::uint8_t>(i % 21);
  EXPECT_EQ(a_switch.set(SmAttribute::kLinearForwarding, 2, linear), MadStatus::kOk);
  EXPECT_EQ(a_switch.get<wire::LinearBlock>(SmAttribute::kLinearForwarding, 2), linear);
  EXPECT_EQ(a_switch.get<wire::LinearBlock>(SmAttribute::kLinearForwarding, 3).ports[0], 255);
  for (const std::uint32_t modifier : {0xC000u / 64, 0x10000u, 0xFFFF'FFFFu}) {
    EXPECT_EQ(a_switch.set(SmAttribute::kLinearForwarding, modifier, linear),
              MadStatus::kInvalidValue);
  }
  wire::MulticastBlock multicast;
  multicast.masks[3] = 0x0021;
  EXPECT_EQ(a_switch.set(SmAttribute::kMulticastForwarding, 1u << 28 | 5, multicast),
            MadStatus::kOk);
  EXPECT_EQ(a_switch.get<wire::MulticastBlock>(SmAttribute::kMulticastForwarding, 1u << 28 | 5),
            multicast);
  EXPECT_EQ(a_switch.get<wire::MulticastBlock>(SmAttribute::kMulticastForwarding, 5),
            wire::MulticastBlock{});
  // 20 ports are two positions of 16; 1000 groups are 32 blocks of 32, the last of 8.
  for (const std::uint32_t modifier : {2u << 28, 32u, 0x200u, 1u << 27}) {
    EXPECT_EQ(a_switch.set(SmAttribute::kMulticastForwarding, modifier, multicast),
              MadStatus::kInvalidValue);
  }
}

TEST(SubnetAgent, SwitchesTheLampOfThePortReached) {
  Adapter adapter;
  MadBuffer mad = make_smp(MadMethod::kSet, SmAttribute::kLedInfo);
  wire::store_be32(data_of(mad).data(), 1u << 31);
  EXPECT_EQ(adapter.ask(mad).status(), MadStatus::kOk);
  EXPECT_TRUE(adapter.node.led(1));
  EXPECT_FALSE(adapter.node.led(2));
  for (PortInfo& info : adapter.node.infos)
    info.capability_mask = 0;
  EXPECT_EQ(adapter.ask(mad).status(), MadStatus::kBadMethodAttribute);
}

TEST(SubnetAgent, SaysThatASubnetManagerIsThere) {
  Adapter adapter;
  adapter.management.set_subnet_manager(1, true, {});
  EXPECT_TRUE(adapter.get<PortInfo>(SmAttribute::kPortInfo, 1).capability_mask & wire::kCapSm);
  EXPECT_FALSE(adapter.get<PortInfo>(SmAttribute::kPortInfo, 2).capability_mask & wire::kCapSm);
  adapter.management.set_subnet_manager(1, false, {});
  EXPECT_FALSE(adapter.get<PortInfo>(SmAttribute::kPortInfo, 1).capability_mask & wire::kCapSm);
}

TEST(SubnetAgent, AnswersADirectedRouteByTheWayItCame) {
  Adapter adapter;
  MadBuffer mad = make_directed(MadMethod::kGet, SmAttribute::kNodeInfo, 0, {1, 4});
  wire::smp::set_hop_pointer(mad, 2);
  wire::smp::set_return_path(mad, 1, 6);
  adapter.management.receive(
      {.port = 2, .slid = wire::kPermissiveLid, .dlid = wire::kPermissiveLid}, mad, {});
  const SentMad answer = adapter.outlet.take();
  EXPECT_EQ(answer.envelope.port, 2);
  EXPECT_EQ(answer.envelope.slid, wire::kPermissiveLid);
  EXPECT_EQ(answer.envelope.dlid, wire::kPermissiveLid);
  EXPECT_EQ(answer.header().status, wire::smp::kDirectionBit);
  EXPECT_EQ(wire::smp::hop_pointer(answer.mad), 2);
  EXPECT_EQ(wire::smp::return_path(answer.mad, 1), 6);
  EXPECT_EQ(wire::smp::return_path(answer.mad, 2), 2);
}

}  // namespace
}  // namespace weft::mgmt::test

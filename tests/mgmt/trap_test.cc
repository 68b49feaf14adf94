// SPDX-License-Identifier: Apache-2.0
// Traps: what they tell, how often, and until when.
#include <gtest/gtest.h>

#include "mad_fixture.h"

namespace weft::mgmt::test {
namespace {

using wire::NodeType;
using wire::Notice;
using wire::TrapNumber;

struct TrapSwitch : ManagedFixture {
  TrapSwitch() : ManagedFixture(NodeType::kSwitch, 4) {
    wire::PortInfo& info = node.infos[0];
    info.lid = Lid{5};
    info.master_sm_lid = Lid{7};
    info.master_sm_sl = Sl{2};
    info.subnet_timeout = 18;  // 1.07 s
    info.state = wire::PortState::kActive;
    info.mkey = 0;
  }
  void repress(std::uint64_t transaction_id) {
    give(make_mad(MgmtClass::kSubnLid, 1, MadMethod::kTrapRepress, 2, 0, transaction_id));
  }
};

constexpr Duration kPause{std::int64_t{4096} << 18};

Notice notice_of(const SentMad& trap) {
  EXPECT_EQ(trap.header().method, MadMethod::kTrap);
  EXPECT_EQ(trap.header().attribute_id, 2);
  return *Notice::parse(trap.data());
}

TEST(Trap, TellsTheManagerOfALinkThatChanged) {
  TrapSwitch node;
  node.management.link_state_changed(at(0s));
  const SentMad trap = node.outlet.take();
  EXPECT_EQ(trap.envelope, (MadEnvelope{.port = 0, .slid = Lid{5}, .dlid = Lid{7}, .sl = Sl{2}}));
  const Notice notice = notice_of(trap);
  EXPECT_TRUE(notice.generic);
  EXPECT_EQ(notice.trap, TrapNumber::kLinkStateChange);
  EXPECT_EQ(notice.type, wire::NoticeType::kUrgent);
  EXPECT_EQ(notice.producer, 2u);
  EXPECT_EQ(notice.issuer, Lid{5});
  EXPECT_EQ(wire::load_be16(notice.details.data()), 5);
}

TEST(Trap, IsSentAgainEachTimeLaterUntilItIsRepressed) {
  TrapSwitch node;
  node.management.link_state_changed(at(0s));
  const std::uint64_t id = node.outlet.take().header().transaction_id;
  EXPECT_EQ(node.management.deadline(), at(kPause));
  node.management.run(at(kPause - 1ns));
  EXPECT_TRUE(node.outlet.all.empty());
  node.management.run(at(kPause));
  EXPECT_EQ(node.outlet.take().header().transaction_id, id);
  EXPECT_EQ(node.management.deadline(), at(kPause * 3));
  node.repress(id + 1);
  EXPECT_TRUE(node.management.deadline());
  node.repress(id);
  EXPECT_FALSE(node.management.deadline());
  EXPECT_TRUE(node.outlet.all.empty());
  EXPECT_EQ(node.count(ManagementCounter::kTrapsSent), 2u);
  EXPECT_EQ(node.count(ManagementCounter::kTrapsRepressed), 1u);
}

TEST(Trap, StandsForAllOfItsKindWhileItIsOnItsWay) {
  TrapSwitch node;
  for (int i = 0; i < 100; ++i)
    node.management.link_state_changed(at(i * 1ms));
  const SentMad trap = node.outlet.take();
  node.repress(trap.header().transaction_id);
  node.management.link_state_changed(at(1s));
  EXPECT_NE(node.outlet.take().header().transaction_id, trap.header().transaction_id);
}

TEST(Trap, GoesToNobodyWhileThereIsNoManager) {
  TrapSwitch node;
  node.node.infos[0].master_sm_lid = Lid{0};
  node.management.link_state_changed(at(0s));
  EXPECT_TRUE(node.outlet.all.empty());
  EXPECT_FALSE(node.management.deadline());
  EXPECT_EQ(node.count(ManagementCounter::kDroppedTrap), 1u);
}

TEST(Trap, WaitsForThePortToBeActive) {
  TrapSwitch node;
  node.node.infos[0].state = wire::PortState::kArmed;
  node.management.link_state_changed(at(0s));
  EXPECT_TRUE(node.outlet.all.empty());
  node.node.infos[0].state = wire::PortState::kActive;
  node.management.run(at(kPause));
  EXPECT_EQ(notice_of(node.outlet.take()).trap, TrapNumber::kLinkStateChange);
}

TEST(Trap, OfManyKindsIsBounded) {
  TrapSwitch node;
  for (unsigned i = 0; i < 100; ++i) {
    node.management.key_violated(1, {.key = i, .slid = Lid{3}, .dlid = Lid{4}}, at(0s));
  }
  EXPECT_EQ(node.outlet.all.size(), TrapSender::kMaxPending);
  EXPECT_EQ(node.count(ManagementCounter::kDroppedTrap), 100 - TrapSender::kMaxPending);
}

TEST(Trap, NamesThePortWhereALinkIsInTrouble) {
  TrapSwitch node;
  node.management.link_integrity_lost(3, at(0s));
  node.management.buffer_overrun(2, at(0s));
  node.management.flow_control_timed_out(4, at(0s));
  ASSERT_EQ(node.outlet.all.size(), 3u);
  const std::initializer_list<std::pair<TrapNumber, std::uint8_t>> wanted{
      {TrapNumber::kLocalLinkIntegrity, 3},
      {TrapNumber::kBufferOverrun, 2},
      {TrapNumber::kFlowControlWatchdog, 4}};
  for (const auto& [trap, port] : wanted) {
    const Notice notice = notice_of(node.outlet.all.front());
    node.outlet.all.pop_front();
    EXPECT_EQ(notice.trap, trap);
    EXPECT_EQ(wire::load_be16(notice.details.data() + 2), 5);
    EXPECT_EQ(wire::load_u8(notice.details.data() + 4), port);
  }
}

TEST(Trap, TellsOfAManagerThatHasComeAndOfANewName) {
  TrapSwitch node;
  node.management.set_subnet_manager(0, true, at(0s));
  const Notice capability = notice_of(node.outlet.take());
  EXPECT_EQ(capability.trap, TrapNumber::kCapabilityChange);
  EXPECT_EQ(capability.type, wire::NoticeType::kInformational);
  EXPECT_EQ(wire::load_be32(capability.details.data() + 6),
            node.node.infos[0].capability_mask | wire::kCapSm);
  EXPECT_EQ(wire::load_u8(capability.details.data() + 5), 0);
  node.management.description_changed(at(0s));
  const Notice description = notice_of(node.outlet.take());
  EXPECT_EQ(wire::load_u8(description.details.data() + 5), 1);
  EXPECT_EQ(wire::load_be16(description.details.data() + 10), 1);
}

TEST(Trap, DescribesThePacketWhoseKeyWasWrong) {
  TrapSwitch node;
  const KeyViolation violation{.key = 0x8123,
                               .slid = Lid{11},
                               .dlid = Lid{12},
                               .sl = Sl{4},
                               .source_qp = Qpn{0x123456},
                               .dest_qp = Qpn{0x654321}};
  node.management.key_violated(3, violation, at(0s));
  const Notice at_switch = notice_of(node.outlet.take());
  EXPECT_EQ(at_switch.trap, TrapNumber::kBadPkeyAtSwitch);
  const std::byte* details = at_switch.details.data();
  EXPECT_EQ(wire::load_be16(details + 2), 11);
  EXPECT_EQ(wire::load_be16(details + 4), 12);
  EXPECT_EQ(wire::load_be16(details + 6), 0x8123);
  EXPECT_EQ(wire::load_u8(details + 8), 0x40);
  EXPECT_EQ(wire::load_be24(details + 9), 0x123456u);
  EXPECT_EQ(wire::load_be24(details + 13), 0x654321u);
  EXPECT_EQ(wire::load_be16(details + 48), 5);
  EXPECT_EQ(wire::load_u8(details + 50), 3);
  ManagedFixture adapter(NodeType::kChannelAdapter, 1);
  adapter.node.infos[1] = node.node.infos[0];
  KeyViolation of_qkey = violation;
  of_qkey.kind = KeyViolation::Kind::kQKey;
  of_qkey.key = 0x1111'2222;
  adapter.management.key_violated(1, of_qkey, at(0s));
  const Notice at_adapter = notice_of(adapter.outlet.take());
  EXPECT_EQ(at_adapter.trap, TrapNumber::kBadQkey);
  EXPECT_EQ(at_adapter.producer, 1u);
  details = at_adapter.details.data();
  EXPECT_EQ(wire::load_be32(details + 6), 0x1111'2222u);
  EXPECT_EQ(wire::load_be24(details + 11), 0x123456u);
  EXPECT_EQ(wire::load_be24(details + 15), 0x654321u);
}

}  // namespace
}  // namespace weft::mgmt::test

// SPDX-License-Identifier: Apache-2.0
// Traps of nodes, as those are told of them who have subscribed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "administered_lab.h"
#include "wire/endian.h"
#include "wire/sa/inform_info.h"

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::InformInfo;
using wire::TrapNumber;

constexpr std::uint16_t kInvalid = static_cast<std::uint16_t>(wire::SaStatus::kRequestInvalid);

std::uint16_t number(TrapNumber trap) {
  return static_cast<std::uint16_t>(trap);
}

// Adapters may talk to switches and the manager, but not to each other.
constexpr const char* kApart = "Default=0x7fff : ALL=limited, ALL_SWITCHES=full, SELF=full;";

struct Reports : ::testing::Test {
  static ManagerOptions apart() {
    return {.setup = {.partitions = *Partitions::parse(kApart, "apart")}};
  }

  static std::uint16_t subscribe(AdministeredLab& sa, const std::string& node, InformInfo info,
                                 std::uint64_t sm_key = 0) {
    info.subscribe = true;
    std::vector<std::byte> data(200);
    info.write(data);
    return sa
        .ask(node, {.method = wire::MadMethod::kSet,
                    .attribute = wire::SaAttribute::kInformInfo,
                    .data = data,
                    .sm_key = sm_key})
        .status;
  }
  static std::vector<TrapNumber> told(AdministeredLab& sa, const std::string& node) {
    sa.run_for(100ms);
    std::vector<TrapNumber> traps;
    for (const wire::Notice& notice : sa.notices(node))
      traps.push_back(notice.trap);
    return traps;
  }
  template <class What>
  static void at(AdministeredLab& sa, const std::string& name, What what) {
    fabric::Node& node = *sa.lab.running.fabric.find_node(name);
    what(node.management());
    node.management_used();
    sa.run_for(100ms);
  }
  static void overrun(AdministeredLab& sa, const std::string& name) {
    at(sa, name, [&](auto& management) { management.buffer_overrun(1, sa.lab.running.now); });
  }
  // One that has come to the manager already.
  static ReceivedTrap trap_of(AdministeredLab& sa, const std::string& name, std::uint64_t id) {
    return {.notice = {.type = wire::NoticeType::kUrgent,
                       .producer = 1,
                       .trap = TrapNumber::kLocalLinkIntegrity,
                       .issuer = sa.lab.lid(name)},
            .from = sa.lab.lid(name),
            .transaction_id = id};
  }
  static constexpr InformInfo kAll{.lid_begin = InformInfo::kAnyLid};
};

TEST_F(Reports, AreOfEveryTrapOfANode) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  const Time now = sa.lab.running.now;
  at(sa, "c", [&](auto& management) {
    management.link_integrity_lost(1, now);
    management.buffer_overrun(1, now);
    management.flow_control_timed_out(1, now);
    management.description_changed(now);
    management.key_violated(1, {.kind = mgmt::KeyViolation::Kind::kPKey}, now);
    management.key_violated(1, {.kind = mgmt::KeyViolation::Kind::kQKey}, now);
  });
  at(sa, "s2", [&](auto& management) {
    management.link_state_changed(now);
    management.key_violated(2, {.kind = mgmt::KeyViolation::Kind::kPKey}, now);
  });
  EXPECT_THAT(told(sa, "b"), ::testing::UnorderedElementsAre(
                                 TrapNumber::kLocalLinkIntegrity, TrapNumber::kBufferOverrun,
                                 TrapNumber::kFlowControlWatchdog, TrapNumber::kCapabilityChange,
                                 TrapNumber::kBadPkey, TrapNumber::kBadQkey,
                                 TrapNumber::kLinkStateChange, TrapNumber::kBadPkeyAtSwitch));
  for (std::size_t i = 0; i < sa.notices("b").size(); ++i) {
    const bool of_switch = sa.notices("b")[i].producer == 2;
    EXPECT_EQ(sa.notices("b")[i].issuer, sa.lab.lid(of_switch ? "s2" : "c"));
    EXPECT_EQ(sa.issuers("b")[i], of_switch ? sa.gid_of_switch("s2") : sa.gid("c"));
  }
  EXPECT_EQ(sa.administrator->counters().get(SaCounter::kReportsLost), 0u);
}

TEST_F(Reports, GoToThoseWhoWantThem) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Lid c = sa.lab.lid("c");
  InformInfo info{.lid_begin = c, .lid_end = c, .trap = number(TrapNumber::kBufferOverrun)};
  ASSERT_EQ(subscribe(sa, "b", info), 0);
  info = {.gid = sa.gid("d"), .type = static_cast<std::uint16_t>(wire::NoticeType::kUrgent)};
  ASSERT_EQ(subscribe(sa, "c", info), 0);
  ASSERT_EQ(subscribe(sa, "d", {.lid_begin = InformInfo::kAnyLid, .producer = 2}), 0);
  for (const char* node : {"c", "d"}) {
    overrun(sa, node);
    at(sa, node, [&](auto& to) { to.description_changed(sa.lab.running.now); });
  }
  at(sa, "s1", [&](auto& management) { management.link_state_changed(sa.lab.running.now); });
  EXPECT_THAT(told(sa, "b"), ElementsAre(TrapNumber::kBufferOverrun));
  EXPECT_THAT(told(sa, "c"), ElementsAre(TrapNumber::kBufferOverrun));
  EXPECT_EQ(sa.issuers("c").at(0), sa.gid("d"));
  EXPECT_THAT(told(sa, "d"), ElementsAre(TrapNumber::kLinkStateChange));
}

TEST_F(Reports, OfVendorsAreForThoseWhoAskForVendors) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  InformInfo vendor = kAll;
  vendor.generic = false;
  vendor.producer = 0x123456;
  ASSERT_EQ(subscribe(sa, "d", vendor), 0);
  ReceivedTrap trap = trap_of(sa, "c", 1);
  trap.notice.generic = false;
  trap.notice.producer = 0x123456;
  sa.administrator->take_trap(trap);
  EXPECT_THAT(told(sa, "b"), IsEmpty());
  EXPECT_THAT(told(sa, "d"), SizeIs(1));
}

TEST_F(Reports, SayWhereTheTrapCameFromWhateverItSays) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  ReceivedTrap trap = trap_of(sa, "c", 1);
  trap.notice.issuer = sa.lab.lid("d");
  sa.administrator->take_trap(trap);
  ASSERT_THAT(told(sa, "b"), SizeIs(1));
  EXPECT_EQ(sa.notices("b")[0].issuer, sa.lab.lid("c"));
  EXPECT_EQ(sa.issuers("b")[0], sa.gid("c"));
}

TEST_F(Reports, TellATrapOnceThatComesAgain) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  sa.administrator->take_trap(trap_of(sa, "c", 1));
  sa.run_for(2s);
  sa.administrator->take_trap(trap_of(sa, "c", 1));
  EXPECT_THAT(told(sa, "b"), SizeIs(1));
  EXPECT_EQ(sa.administrator->counters().get(SaCounter::kTrapsRepeated), 1u);
  sa.administrator->take_trap(trap_of(sa, "c", 2));
  sa.run_for(TrapIntake::kForgetAfter);
  sa.administrator->take_trap(trap_of(sa, "c", 2));
  EXPECT_THAT(told(sa, "b"), SizeIs(3)) << "c may have started anew";
}

TEST_F(Reports, WaitForTheSweepThatFindsTheirPort) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  InformInfo info = kAll;
  info.trap = number(TrapNumber::kLocalLinkIntegrity);
  ASSERT_EQ(subscribe(sa, "b", info), 0);
  const ReceivedTrap trap = trap_of(sa, "d", 1);
  const std::size_t cable = *sa.lab.running.fabric.find_link("d:1");
  sa.lab.running.fabric.link(cable).set_plugged(false, sa.lab.running.now);
  sa.settle();
  sa.sweep();
  sa.administrator->take_trap(trap);
  EXPECT_THAT(told(sa, "b"), IsEmpty());
  sa.lab.running.fabric.link(cable).set_plugged(true, sa.lab.running.now);
  sa.run_for(10ms);
  sa.sweep();
  EXPECT_THAT(told(sa, "b"), SizeIs(1));
  // Of a port that is not found, nothing is told, and nothing is kept.
  ReceivedTrap stranger = trap;
  stranger.from = Lid{0x1234};
  sa.administrator->take_trap(stranger);
  sa.sweep();
  EXPECT_THAT(told(sa, "b"), SizeIs(1));
  EXPECT_EQ(sa.administrator->counters().get(SaCounter::kDroppedNotices), 1u);
}

TEST_F(Reports, OfOthersDoNotWaitBehindAFlood) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", {},
                     {.reports = {.under_way = 4, .waiting_of_one = 16}});
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  for (std::uint64_t id = 0; id < 1000; ++id)
    sa.administrator->take_trap(trap_of(sa, "c", id));
  sa.administrator->take_trap(trap_of(sa, "d", 1));
  told(sa, "b");
  const auto place = std::find(sa.issuers("b").begin(), sa.issuers("b").end(), sa.gid("d"));
  EXPECT_LE(place - sa.issuers("b").begin(), 4);
  EXPECT_THAT(sa.issuers("b"), SizeIs(17));
  EXPECT_EQ(sa.administrator->counters().get(SaCounter::kDroppedNotices), 984u);
}

// Who does not confirm costs others nothing but time.
TEST_F(Reports, ComeToOthersWhenASubscriberIsDead) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", {}, {.reports = {.under_way = 2}});
  ASSERT_EQ(subscribe(sa, "d", kAll), 0);
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  const std::size_t cable = *sa.lab.running.fabric.find_link("d:1");
  sa.lab.running.fabric.link(cable).set_plugged(false, sa.lab.running.now);
  sa.notices("b").clear();
  for (std::uint64_t id = 0; id < 4; ++id)
    sa.administrator->take_trap(trap_of(sa, "c", id));
  sa.run_for(30s);
  EXPECT_GE(sa.notices("b").size(), 4u);
  EXPECT_GE(sa.administrator->counters().get(SaCounter::kReportsLost), 4u);
}

TEST_F(Reports, GoToNobodyWhoSharesNoPartitionWithTheirPort) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", apart());
  // Limited members do not know of each other.
  EXPECT_EQ(subscribe(sa, "b", {.gid = sa.gid("c")}), kInvalid);
  EXPECT_EQ(subscribe(sa, "b", {.lid_begin = sa.lab.lid("c"), .lid_end = sa.lab.lid("c")}),
            kInvalid);
  EXPECT_EQ(subscribe(sa, "b", kAll), 0);
  EXPECT_EQ(subscribe(sa, "d", {.gid = sa.gid_of_switch("s2")}), 0);
  overrun(sa, "c");
  EXPECT_THAT(told(sa, "b"), IsEmpty());
  overrun(sa, "s2");
  EXPECT_THAT(told(sa, "b"), SizeIs(1));
  EXPECT_THAT(told(sa, "d"), SizeIs(1));
}

// o13-17.1.2
TEST_F(Reports, EndASubscriptionByLidsToWhatMayNotBeTold) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", apart());
  const Lid c = sa.lab.lid("c");
  const std::size_t cable = *sa.lab.running.fabric.find_link("c:1");
  sa.lab.running.fabric.link(cable).set_plugged(false, sa.lab.running.now);
  sa.settle();
  sa.sweep();
  ASSERT_EQ(subscribe(sa, "b", {.lid_begin = c, .lid_end = c}), 0) << "nobody has it";
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  sa.lab.running.fabric.link(cable).set_plugged(true, sa.lab.running.now);
  sa.run_for(10ms);
  sa.sweep();
  ASSERT_EQ(sa.lab.lid("c"), c);
  const AdministeredLab::Query all{.attribute = wire::SaAttribute::kInformInfoRecord};
  EXPECT_THAT(sa.ask("b", all).records, SizeIs(2));
  overrun(sa, "c");
  EXPECT_THAT(sa.ask("b", all).records, SizeIs(1));
}

TEST_F(Reports, ShowMKeysThatSomebodyTriedToTheTrustedAlone) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  ASSERT_EQ(subscribe(sa, "d", kAll, 1), 0);
  ReceivedTrap trap = trap_of(sa, "c", 1);
  trap.notice.trap = TrapNumber::kBadMkey;
  wire::store_be64(trap.notice.details.data() + 14, 0xABCD);
  sa.administrator->take_trap(trap);
  sa.run_for(100ms);
  ASSERT_THAT(sa.notices("b"), SizeIs(1));
  ASSERT_THAT(sa.notices("d"), SizeIs(1));
  EXPECT_EQ(wire::load_be64(sa.notices("b")[0].details.data() + 14), 0u);
  EXPECT_EQ(wire::load_be64(sa.notices("d")[0].details.data() + 14), 0xABCDu);
}

TEST_F(Reports, AreNotMadeOfTrapsWithAnotherMKey) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a",
                     {.setup = {.mkey = 0xABCD}, .smps = {.mkey = 0xABCD}});
  ASSERT_EQ(subscribe(sa, "b", kAll), 0);
  wire::PortInfo info = sa.lab.running.fabric.find_node("c")->port(1).port_info();
  overrun(sa, "c");
  EXPECT_THAT(told(sa, "b"), SizeIs(1));
  info.mkey = 0x1234;
  sa.lab.running.fabric.find_node("c")->set_port_info(1, info, sa.lab.running.now);
  overrun(sa, "c");
  EXPECT_THAT(told(sa, "b"), SizeIs(1));
  EXPECT_GE(sa.lab.manager->denied(), 1u);
}

}  // namespace
}  // namespace weft::sm

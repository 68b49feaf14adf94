// SPDX-License-Identifier: Apache-2.0
// M_Key: its protection levels, what a wrong key costs, and the lease.
#include <gtest/gtest.h>

#include "mad_fixture.h"

namespace weft::mgmt::test {
namespace {

using wire::NodeType;
using wire::PortInfo;

constexpr std::uint64_t kKey = 0xABCD'0123'4567'89EF;

struct Guarded : ManagedFixture {
  explicit Guarded(std::uint8_t protect, std::uint16_t lease = 0)
      : ManagedFixture(NodeType::kChannelAdapter, 2) {
    PortInfo& info = node.infos[1];
    info.mkey = kKey;
    info.mkey_protect = protect;
    info.mkey_lease_period = lease;
    info.lid = Lid{5};
    info.master_sm_lid = Lid{7};
    info.state = wire::PortState::kActive;
  }
  MadBuffer smp(MadMethod method, std::uint64_t key, std::uint32_t modifier = 0) {
    MadBuffer mad = make_smp(method, SmAttribute::kPortInfo, modifier);
    PortInfo info = node.infos[1];
    info.state = wire::PortState::kNoChange;
    info.physical_state = wire::PortPhysicalState::kNoChange;
    info.vl_high_limit = 9;
    info.write(data_of(mad));
    wire::smp::set_mkey(mad, key);
    return mad;
  }
  // Whether it was answered with success. A trap about it is left out.
  bool answered(const MadBuffer& mad, Time now = {}) {
    outlet.all.clear();
    give(mad, now);
    for (const SentMad& sent : outlet.all) {
      if (sent.header().method == MadMethod::kGetResponse) {
        last = sent;
        return sent.status() == MadStatus::kOk;
      }
    }
    return false;
  }
  SentMad last;
};

TEST(Mkey, OfZeroAdmitsEverybody) {
  Guarded node(3);
  node.node.infos[1].mkey = 0;
  EXPECT_TRUE(node.answered(node.smp(MadMethod::kGet, 123)));
  EXPECT_TRUE(node.answered(node.smp(MadMethod::kSet, 123)));
}

TEST(Mkey, ThatIsRightAdmitsAtEveryLevel) {
  for (const std::uint8_t protect : std::initializer_list<std::uint8_t>{0, 1, 2, 3}) {
    Guarded node(protect);
    EXPECT_TRUE(node.answered(node.smp(MadMethod::kGet, kKey)));
    EXPECT_EQ(PortInfo::parse(node.last.data())->mkey, kKey);
    EXPECT_TRUE(node.answered(node.smp(MadMethod::kSet, kKey)));
    EXPECT_EQ(node.count(ManagementCounter::kDroppedMkey), 0u);
  }
}

TEST(Mkey, ThatIsWrongMayReadAtLevels0And1AndSeesTheKeyAtLevel0Only) {
  Guarded open(0);
  EXPECT_TRUE(open.answered(open.smp(MadMethod::kGet, 1)));
  EXPECT_EQ(PortInfo::parse(open.last.data())->mkey, kKey);
  Guarded veiled(1);
  EXPECT_TRUE(veiled.answered(veiled.smp(MadMethod::kGet, 1)));
  EXPECT_EQ(PortInfo::parse(veiled.last.data())->mkey, 0u);
  for (const std::uint8_t protect : std::initializer_list<std::uint8_t>{2, 3}) {
    Guarded closed(protect);
    EXPECT_FALSE(closed.answered(closed.smp(MadMethod::kGet, 1)));
  }
}

TEST(Mkey, ThatIsWrongSetsNothingAtAnyLevelAndIsCounted) {
  for (const std::uint8_t protect : std::initializer_list<std::uint8_t>{0, 1, 2, 3}) {
    Guarded node(protect);
    EXPECT_FALSE(node.answered(node.smp(MadMethod::kSet, 1)));
    EXPECT_EQ(node.node.infos[1].vl_high_limit, 0);
    EXPECT_EQ(node.node.infos[1].mkey_violations, 1);
    EXPECT_EQ(node.count(ManagementCounter::kDroppedMkey), 1u);
  }
}

TEST(Mkey, ViolationsStayAtTheirHighestCount) {
  Guarded node(2);
  node.node.infos[1].mkey_violations = 0xFFFF;
  EXPECT_FALSE(node.answered(node.smp(MadMethod::kGet, 1)));
  EXPECT_EQ(node.node.infos[1].mkey_violations, 0xFFFF);
}

TEST(Mkey, OfAnotherPortGuardsThatPort) {
  Guarded node(2);
  node.node.infos[1].mkey = 0;
  node.node.infos[2].mkey = 77;
  node.node.infos[2].mkey_protect = 2;
  EXPECT_FALSE(node.answered(node.smp(MadMethod::kGet, 1, 2)));
  EXPECT_TRUE(node.answered(node.smp(MadMethod::kGet, 77, 2)));
}

TEST(Mkey, LosesItsProtectionWhenTheLeaseRunsOut) {
  Guarded node(2, 10);
  EXPECT_FALSE(node.answered(node.smp(MadMethod::kSet, 1), at(0s)));
  // The lease runs from the first violation; another one does not prolong it.
  EXPECT_FALSE(node.answered(node.smp(MadMethod::kGet, 1), at(6s)));
  node.management.run(at(9'999ms));
  EXPECT_EQ(node.node.infos[1].mkey_protect, 2);
  ASSERT_TRUE(node.management.deadline());
  node.management.run(at(10s));
  EXPECT_EQ(node.node.infos[1].mkey_protect, 0);
  EXPECT_EQ(node.node.infos[1].mkey, kKey);
  EXPECT_TRUE(node.answered(node.smp(MadMethod::kGet, 1), at(10s)));
}

TEST(Mkey, KeepsItsProtectionWhileItsManagerIsHeardOf) {
  Guarded node(2, 10);
  EXPECT_FALSE(node.answered(node.smp(MadMethod::kSet, 1), at(0s)));
  EXPECT_TRUE(node.answered(node.smp(MadMethod::kGet, kKey), at(9s)));
  node.management.run(at(30s));
  EXPECT_EQ(node.node.infos[1].mkey_protect, 2);
  // And without a lease for ever.
  Guarded endless(2, 0);
  EXPECT_FALSE(endless.answered(endless.smp(MadMethod::kSet, 1), at(0s)));
  endless.management.run(at(24h));
  EXPECT_EQ(endless.node.infos[1].mkey_protect, 2);
}

TEST(Mkey, ThatIsWrongIsToldToTheManager) {
  Guarded node(2);
  MadBuffer mad = node.smp(MadMethod::kSet, 0x1234, 1);
  EXPECT_FALSE(node.answered(mad));
  const SentMad trap = node.outlet.take();
  EXPECT_EQ(trap.header().method, MadMethod::kTrap);
  EXPECT_EQ(trap.envelope.dlid, Lid{7});
  const auto notice = *wire::Notice::parse(trap.data());
  EXPECT_EQ(notice.trap, wire::TrapNumber::kBadMkey);
  EXPECT_EQ(notice.type, wire::NoticeType::kSecurity);
  EXPECT_EQ(notice.issuer, Lid{5});
  const std::byte* details = notice.details.data();
  EXPECT_EQ(wire::load_be16(details + 2), 7);
  EXPECT_EQ(wire::load_u8(details + 6), 2);
  EXPECT_EQ(wire::load_be16(details + 8), 0x15);
  EXPECT_EQ(wire::load_be32(details + 10), 1u);
  EXPECT_EQ(wire::load_be64(details + 14), 0x1234u);
}

TEST(Mkey, IsNotAskedOfAManagersOwnInformation) {
  Guarded node(3);
  // Nobody has registered for it here: it is answered all the same.
  node.give(make_smp(MadMethod::kGet, SmAttribute::kSmInfo));
  EXPECT_EQ(node.outlet.take().status(), MadStatus::kBadMethodAttribute);
}

}  // namespace
}  // namespace weft::mgmt::test

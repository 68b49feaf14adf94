// SPDX-License-Identifier: Apache-2.0
// Multicast groups, services and subscriptions, as nodes ask for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "administered_lab.h"
#include "sa_records.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/member_record.h"
#include "wire/sa/path_record.h"
#include "wire/sa/service_record.h"
#include "wire/sm/switch_info.h"

namespace weft::sm {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::MadMethod;
using wire::MemberRecord;
using wire::SaAttribute;
using wire::SaStatus;
using wire::ServiceRecord;

constexpr std::uint64_t kToJoin =
    MemberRecord::kHasMgid | MemberRecord::kHasPortGid | MemberRecord::kHasJoinState;

Gid some_group() {
  return make_gid(0xFF12'401B'FFFF'0000, Guid{0x0000'0000'0000'0042});
}

struct Groups : ::testing::Test {
  AdministeredLab sa{fabric::lab_of(fabric::kFourNodes), "a"};

  [[nodiscard]] MemberRecord wish(const std::string& node, std::uint8_t state) {
    return {.mgid = some_group(),
            .port_gid = sa.gid(node),
            .qkey = QKey{0xB1B},
            .pkey = PKey{0xFFFF},
            .join_state = state};
  }
  Answer join(const std::string& node, std::uint64_t mask, const MemberRecord& record) {
    return sa.ask(node, {.method = MadMethod::kSet,
                         .attribute = SaAttribute::kMemberRecord,
                         .mask = mask,
                         .data = bytes_of(record)});
  }
  Answer leave(const std::string& node, const MemberRecord& record) {
    return sa.ask(node, {.method = MadMethod::kDelete,
                         .attribute = SaAttribute::kMemberRecord,
                         .mask = kToJoin,
                         .data = bytes_of(record)});
  }
  [[nodiscard]] const GroupTable::Group* group() {
    return sa.administrator->groups().find(some_group());
  }
};

TEST_F(Groups, AreMadeByTheFirstFullMember) {
  const Answer made = join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  ASSERT_EQ(made.status, 0);
  const auto record = *MemberRecord::parse(made.records.at(0));
  EXPECT_GE(record.mlid.value(), 0xC000);
  EXPECT_EQ(record.port_gid, sa.gid("b"));
  EXPECT_EQ(record.mtu.value, 4);
  EXPECT_EQ(record.scope, 2);
  const Answer joined = join("c", kToJoin, wish("c", MemberRecord::kSendOnlyNonMember));
  ASSERT_EQ(joined.status, 0);
  EXPECT_EQ(MemberRecord::parse(joined.records.at(0))->mlid, record.mlid);
  EXPECT_EQ(group()->members.size(), 2u);
}

TEST_F(Groups, AreNotMadeByHalf) {
  EXPECT_EQ(join("b", kToJoin, wish("b", MemberRecord::kFullMember)).status,
            status_of(SaStatus::kInsufficientComponents));
  EXPECT_EQ(join("b", kToMakeGroup, wish("b", MemberRecord::kNonMember)).status,
            status_of(SaStatus::kRequestInvalid));
  MemberRecord foreign = wish("b", MemberRecord::kFullMember);
  foreign.pkey = PKey{0x8123};
  EXPECT_EQ(join("b", kToMakeGroup, foreign).status, status_of(SaStatus::kRequestInvalid));
  // No scope, no such flag, and as the administrator's own are.
  for (const std::uint64_t prefix :
       {0xFF10'401B'FFFF'0000, 0xFF22'401B'FFFF'0000, 0xFF12'A01B'FFFF'0000}) {
    MemberRecord other = wish("b", MemberRecord::kFullMember);
    other.mgid = make_gid(prefix, Guid{0x42});
    EXPECT_EQ(join("b", kToMakeGroup, other).status, status_of(SaStatus::kRequestInvalid));
  }
  EXPECT_THAT(sa.administrator->groups().groups(), IsEmpty());
}

TEST_F(Groups, TakeNobodyWhoWantsAnotherOne) {
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  MemberRecord other = wish("c", MemberRecord::kFullMember);
  other.qkey = QKey{7};
  EXPECT_EQ(join("c", kToMakeGroup, other).status, status_of(SaStatus::kRequestInvalid));
  MemberRecord large = wish("c", MemberRecord::kFullMember);
  large.mtu = {.selector = wire::SaValue::Selector::kAbove, .value = 4};
  EXPECT_EQ(
      join("c", kToJoin | MemberRecord::kHasMtu | MemberRecord::kHasMtuSelector, large).status,
      status_of(SaStatus::kRequestInvalid));
  EXPECT_EQ(group()->members.size(), 1u);
}

TEST_F(Groups, EndWithTheirLastFullMember) {
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember | MemberRecord::kSendOnlyNonMember));
  join("c", kToJoin, wish("c", MemberRecord::kNonMember));
  EXPECT_EQ(leave("c", wish("c", MemberRecord::kFullMember)).status,
            status_of(SaStatus::kRequestInvalid));
  const Answer left = leave("b", wish("b", MemberRecord::kSendOnlyNonMember));
  ASSERT_EQ(left.status, 0);
  EXPECT_EQ(MemberRecord::parse(left.records.at(0))->join_state, MemberRecord::kFullMember);
  ASSERT_NE(group(), nullptr);
  EXPECT_EQ(leave("b", wish("b", MemberRecord::kFullMember)).status, 0);
  EXPECT_EQ(group(), nullptr);
  EXPECT_EQ(leave("b", wish("b", MemberRecord::kFullMember)).status,
            status_of(SaStatus::kRequestInvalid));
}

TEST_F(Groups, AreChangedByNobodyElse) {
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  EXPECT_EQ(leave("c", wish("b", MemberRecord::kFullMember)).status,
            status_of(SaStatus::kRequestInvalid));
  EXPECT_EQ(join("c", kToJoin, wish("b", MemberRecord::kNonMember)).status,
            status_of(SaStatus::kRequestInvalid));
  // But a port that has not joined by itself may be joined by another one, which may end that.
  const Answer proxy = join("c", kToJoin, wish("d", MemberRecord::kFullMember));
  ASSERT_EQ(proxy.status, 0);
  EXPECT_TRUE(MemberRecord::parse(proxy.records.at(0))->proxy_join);
  EXPECT_EQ(leave("b", wish("d", MemberRecord::kFullMember)).status, 0);
}

TEST_F(Groups, GiveMgidsToThoseWhoHaveNone) {
  MemberRecord record = wish("b", MemberRecord::kFullMember);
  record.mgid = Gid{};
  const Answer one = join("b", kToMakeGroup, record);
  const Answer two = join("b", kToMakeGroup, record);
  ASSERT_EQ(one.status, 0);
  ASSERT_EQ(two.status, 0);
  const auto first = *MemberRecord::parse(one.records.at(0));
  const auto second = *MemberRecord::parse(two.records.at(0));
  EXPECT_TRUE(first.mgid.is_multicast());
  EXPECT_NE(first.mgid, second.mgid);
  EXPECT_NE(first.mlid, second.mlid);
}

TEST_F(Groups, TellTheirMembersToTheTrustedAlone) {
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  join("c", kToJoin, wish("c", MemberRecord::kFullMember));
  AdministeredLab::Query query{.attribute = SaAttribute::kMemberRecord};
  const Answer veiled = sa.ask("d", query);
  ASSERT_THAT(veiled.records, SizeIs(1));
  EXPECT_TRUE(MemberRecord::parse(veiled.records[0])->port_gid.is_zero());
  query.sm_key = 1;
  EXPECT_THAT(sa.ask("d", query).records, SizeIs(2));
}

TEST_F(Groups, AreFoundByTheStateOfTheirMembers) {
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  join("c", kToJoin, wish("c", MemberRecord::kNonMember));
  const auto found = [&](std::uint8_t state, std::uint64_t sm_key) {
    return sa
        .ask("d", {.attribute = SaAttribute::kMemberRecord,
                   .mask = MemberRecord::kHasJoinState,
                   .data = bytes_of(MemberRecord{.join_state = state}),
                   .sm_key = sm_key})
        .records.size();
  };
  EXPECT_EQ(found(MemberRecord::kNonMember, 1), 1u);
  EXPECT_EQ(found(MemberRecord::kNonMember, 0), 1u);
  EXPECT_EQ(found(MemberRecord::kSendOnlyNonMember, 1), 0u);
  EXPECT_EQ(found(MemberRecord::kSendOnlyNonMember, 0), 0u);
}

TEST_F(Groups, ForgetPortsThatAreGone) {
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  join("d", kToJoin, wish("d", MemberRecord::kFullMember));
  const std::size_t cable = *sa.lab.running.fabric.find_link("d:1");
  sa.lab.running.fabric.link(cable).set_plugged(false, sa.lab.running.now);
  sa.settle();
  sa.sweep();
  ASSERT_NE(group(), nullptr);
  EXPECT_EQ(group()->members.size(), 1u);
}

TEST_F(Groups, AreInTheTablesThatAreShownWithoutASweep) {
  const auto shown = [&](SaAttribute attribute) {
    std::vector<std::byte> lid(200);
    wire::store_be16(lid.data(), sa.lab.lid("s1").value());
    return sa.ask("b", {.attribute = attribute, .mask = 1, .data = lid}).records;
  };
  const auto top = [&] {
    return wire::SwitchInfo::parse(Bytes(shown(SaAttribute::kSwitchInfoRecord).at(0)).subspan(4))
        ->multicast_top.value();
  };
  EXPECT_EQ(top(), 0xBFFF);
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  EXPECT_EQ(top(), 0xC01F);
  EXPECT_THAT(shown(SaAttribute::kMulticastRecord), SizeIs(1));
}

TEST_F(Groups, HavePaths) {
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  const Answer answer =
      sa.ask("c", {.method = MadMethod::kGet,
                   .attribute = SaAttribute::kPathRecord,
                   .mask = wire::PathRecord::kHasSgid | wire::PathRecord::kHasDgid,
                   .data = bytes_of(wire::PathRecord{.dgid = some_group(), .sgid = sa.gid("c")})});
  ASSERT_EQ(answer.status, 0);
  EXPECT_EQ(wire::PathRecord::parse(answer.records.at(0))->dlid, group()->like.mlid);
}

struct Services : Groups {
  [[nodiscard]] ServiceRecord offer(std::uint32_t lease) {
    ServiceRecord record{.id = 0x1234, .gid = sa.gid("b"), .lease = lease};
    record.name[0] = std::byte{'x'};
    return record;
  }
  static constexpr std::uint64_t kToSet = ServiceRecord::kHasId | ServiceRecord::kHasGid |
                                          ServiceRecord::kHasLease | ServiceRecord::kHasKey |
                                          ServiceRecord::kHasName;
  Answer say(MadMethod method, const ServiceRecord& record, std::uint64_t mask = kToSet) {
    return sa.ask("b", {.method = method,
                        .attribute = SaAttribute::kServiceRecord,
                        .mask = mask,
                        .data = bytes_of(record)});
  }
};

TEST_F(Services, AreFoundByWhatTheyAre) {
  ASSERT_EQ(say(MadMethod::kSet, offer(ServiceRecord::kForEver)).status, 0);
  EXPECT_THAT(say(MadMethod::kGetTable, offer(0), ServiceRecord::kHasName).records, SizeIs(1));
  ServiceRecord other = offer(0);
  other.name[1] = std::byte{'y'};
  EXPECT_THAT(say(MadMethod::kGetTable, other, ServiceRecord::kHasName).records, IsEmpty());
  EXPECT_EQ(say(MadMethod::kDelete, offer(0)).status, 0);
  EXPECT_THAT(say(MadMethod::kGetTable, offer(0), 0).records, IsEmpty());
}

TEST_F(Services, EndWithTheirLease) {
  ASSERT_EQ(say(MadMethod::kSet, offer(100)).status, 0);
  sa.run_for(49500ms);  // and a second for the question
  const Answer half = say(MadMethod::kGet, offer(0), ServiceRecord::kHasId);
  ASSERT_EQ(half.status, 0);
  EXPECT_EQ(ServiceRecord::parse(half.records.at(0))->lease, 50u)
      << "a second that has begun counts";
  sa.run_for(60s);
  EXPECT_THAT(say(MadMethod::kGetTable, offer(0), 0).records, IsEmpty());
}

TEST_F(Services, AreEndedByWhoHasTheirKey) {
  ServiceRecord locked = offer(ServiceRecord::kForEver);
  locked.key[3] = std::byte{9};
  ASSERT_EQ(say(MadMethod::kSet, locked).status, 0);
  EXPECT_EQ(say(MadMethod::kDelete, offer(0)).status, status_of(SaStatus::kDenied));
  const Answer shown = say(MadMethod::kGet, offer(0), ServiceRecord::kHasId);
  EXPECT_EQ(ServiceRecord::parse(shown.records.at(0))->key, offer(0).key) << "the key is told";
  EXPECT_EQ(say(MadMethod::kDelete, locked).status, 0);
}

struct Subscribed : Groups {
  Answer subscribe(const std::string& node, const wire::InformInfo& info) {
    return sa.ask(
        node,
        {.method = MadMethod::kSet, .attribute = SaAttribute::kInformInfo, .data = bytes_of(info)});
  }
  [[nodiscard]] std::size_t told(const std::string& node, wire::TrapNumber trap) {
    std::size_t count = 0;
    for (const wire::Notice& notice : sa.notices(node))
      count += notice.trap == trap;
    return count;
  }
};

TEST_F(Subscribed, AreToldOfGroupsThatComeAndGo) {
  ASSERT_EQ(subscribe("d", {.lid_begin = wire::InformInfo::kAnyLid, .subscribe = true}).status, 0);
  join("b", kToMakeGroup, wish("b", MemberRecord::kFullMember));
  sa.run_for(1s);
  EXPECT_EQ(told("d", wire::TrapNumber::kGroupCreated), 1u);
  EXPECT_EQ(gid_of(sa.notices("d").at(0)), some_group());
  leave("b", wish("b", MemberRecord::kFullMember));
  sa.run_for(1s);
  EXPECT_EQ(told("d", wire::TrapNumber::kGroupDeleted), 1u);
  EXPECT_EQ(sa.administrator->counters().get(SaCounter::kReportsLost), 0u);
}

TEST_F(Subscribed, AreToldOfPortsThatComeAndGo) {
  ASSERT_EQ(subscribe("d", {.lid_begin = wire::InformInfo::kAnyLid,
                            .subscribe = true,
                            .trap = static_cast<std::uint16_t>(wire::TrapNumber::kGidOutOfService)})
                .status,
            0);
  const std::size_t cable = *sa.lab.running.fabric.find_link("c:1");
  sa.lab.running.fabric.link(cable).set_plugged(false, sa.lab.running.now);
  sa.settle();
  sa.sweep();
  sa.run_for(1s);
  EXPECT_EQ(told("d", wire::TrapNumber::kGidOutOfService), 1u);
  EXPECT_EQ(gid_of(sa.notices("d").at(0)), sa.gid("c"));
  sa.lab.running.fabric.link(cable).set_plugged(true, sa.lab.running.now);
  sa.run_for(10ms);
  sa.sweep();
  sa.run_for(1s);
  EXPECT_THAT(sa.notices("d"), SizeIs(1)) << "did not subscribe to the other trap";
}

TEST_F(Subscribed, AreShownAndMayEndIt) {
  wire::InformInfo info{.lid_begin = wire::InformInfo::kAnyLid, .subscribe = true};
  subscribe("d", info);
  subscribe("d", info);
  EXPECT_THAT(sa.ask("b", {.attribute = SaAttribute::kInformInfoRecord}).records, SizeIs(1));
  info.subscribe = false;
  EXPECT_EQ(subscribe("b", info).status, status_of(SaStatus::kRequestInvalid));
  EXPECT_EQ(subscribe("d", info).status, 0);
  EXPECT_THAT(sa.ask("b", {.attribute = SaAttribute::kInformInfoRecord}).records, IsEmpty());
}

}  // namespace
}  // namespace weft::sm

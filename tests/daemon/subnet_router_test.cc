// SPDX-License-Identifier: Apache-2.0
// An extender that is a router, and what it says to its subnet's administrator, which is played by
// an adapter at the other end of its link.
#include "daemon/wan/subnet_router.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../fabric/running_lab.h"
#include "base/gid_text.h"
#include "io/clock.h"
#include "sm/sa/subscriptions.h"
#include "wire/rmpp.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/member_record.h"

namespace weft::daemon {
namespace {

using wire::MemberRecord;

constexpr const char* kSubnetRouterLab = R"(
[node]
a = { guid = "0x0002c90300000010" }
[router]
gate = { guid = "0x0002c90300000020" }
[[link]]
ends = ["a", "gate"]
)";
constexpr std::uint64_t kSubnet = 0xFD00'0000'0000'0001;
const Gid kGate = *parse_gid("fd00:0:0:1:2:c903:0:21");
const Gid kRouterGroup = *parse_gid("ff15::1");
const GidPrefix kSecond = *parse_gid_prefix("fd00:0:0:2::/64");
const GidPrefix kThird = *parse_gid_prefix("fd00:0:0:3::/64");

class SubnetRouterTest : public ::testing::Test, private mgmt::MadClient {
 protected:
  SubnetRouterTest() {
    lab.now = io::now();
    std::uint16_t lid = 0;
    for (const char* name : {"a", "gate"}) {
      fabric::Node& node = *lab.fabric.find_node(name);
      wire::PortInfo info = node.port_info(1);
      info.lid = Lid{++lid};
      info.master_sm_lid = Lid{1};
      info.gid_prefix = kSubnet;
      node.set_port_info(1, info, lab.now);
    }
    for (const auto state : {wire::PortState::kArmed, wire::PortState::kActive}) {
      for (const char* name : {"a", "gate"})
        lab.fabric.find_node(name)->set_port_state(1, state, lab.now);
      lab.settle();
    }
    mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kSubnAdm,
                              .class_version = wire::kSaClassVersion,
                              .rmpp = true};
    for (const auto method : {wire::MadMethod::kGetTable, wire::MadMethod::kSet})
      wanted.methods.set(static_cast<std::size_t>(method));
    agent_ = administrator().mad_port(1).add_agent(wanted, *this).value();
    EXPECT_TRUE(router.start());
  }
  ~SubnetRouterTest() override {
    router.stop();
    administrator().mad_port(1).remove_agent(agent_);
  }

  // What happens when so much time has passed.
  void run_after(Duration time) {
    lab.now += time;
    router.run(lab.now);
    lab.settle();
  }
  [[nodiscard]] std::uint64_t report(const char* what) const { return router.report().at(what); }

  fabric::RunningLab lab{fabric::lab_of(kSubnetRouterLab)};
  int woken = 0;
  SubnetRouter router{lab.fabric.router(1), {}, lab.fabric.pool(), [this] { ++woken; }};
  std::vector<Gid> groups;           // that there are
  std::vector<MemberRecord> joined;  // what was asked for
  std::uint16_t status = 0;          // of answers to who wants to join
  bool tells = false;                // takes subscriptions
  std::vector<wire::InformInfo> subscribed;
  int confirmed = 0;  // reports

  // As the administrator says it of a group.
  void tell(wire::TrapNumber trap, const Gid& mgid, const char* from = "a") {
    wire::MadBuffer mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                    .class_version = wire::kSaClassVersion,
                    .method = wire::MadMethod::kReport,
                    .transaction_id = 7,
                    .attribute_id = static_cast<std::uint16_t>(wire::SaAttribute::kNotice)}
        .write(mad);
    wire::Notice notice{.type = wire::NoticeType::kInformational, .trap = trap};
    sm::set_gid(notice, mgid);
    notice.write(MutableBytes(mad).subspan(wire::SaHeader::kDataOffset));
    mgmt::MadPort& port = lab.fabric.find_node(from)->management().mad_port(1);
    const mgmt::AgentId agent = std::string_view(from) == "a"
                                    ? agent_
                                    : port.add_agent({.mgmt_class = wire::MgmtClass::kSubnAdm,
                                                      .class_version = wire::kSaClassVersion},
                                                     *this)
                                          .value();
    EXPECT_TRUE(port.send(agent,
                          {.to = {.lid = Lid{2}, .qpn = kQp1, .qkey = kGsiQKey},
                           .mad = mad,
                           .timeout = 1s,
                           .cookie = 99},
                          lab.now));
    lab.fabric.find_node(from)->management_used();
    lab.settle();
  }

 private:
  mgmt::NodeManagement& administrator() { return lab.fabric.find_node("a")->management(); }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    std::vector<std::byte> answer(mad.mad.begin(), mad.mad.end());
    auto header = *wire::MadHeader::parse(answer);
    if (header.method == wire::MadMethod::kReportResponse) {
      ++confirmed;
      return;
    }
    constexpr std::size_t kStride = 56;
    const bool wants_all = header.method == wire::MadMethod::kGetTable;
    if (wants_all) answer.resize(wire::SaHeader::kDataOffset + groups.size() * kStride);
    const MutableBytes data = MutableBytes(answer).subspan(wire::SaHeader::kDataOffset);
    if (wants_all) {
      header.method = wire::MadMethod::kGetTableResponse;
      wire::RmppHeader{.type = wire::RmppType::kData, .flags = wire::kRmppActive}.write(answer);
      wire::SaHeader{.attribute_offset = kStride / 8}.write(answer);
      for (std::size_t i = 0; i < groups.size(); ++i)
        MemberRecord{.mgid = groups[i]}.write(data.subspan(i * kStride));
    } else if (header.attribute_id == static_cast<std::uint16_t>(wire::SaAttribute::kInformInfo)) {
      subscribed.push_back(*wire::InformInfo::parse(data));
      header.method = wire::MadMethod::kGetResponse;
      header.status = tells ? 0 : 0x0200;
    } else {
      MemberRecord record = *MemberRecord::parse(data);
      joined.push_back(record);
      record.mlid = Lid{0xC001};
      record.write(data);
      header.method = wire::MadMethod::kGetResponse;
      header.status = status;
    }
    header.write(answer);
    auto to = mad.from;
    to.qkey = kGsiQKey;
    EXPECT_TRUE(administrator().mad_port(1).send(agent_, {.to = to, .mad = answer}, lab.now));
    lab.fabric.find_node("a")->management_used();
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  mgmt::AgentId agent_{};
};

TEST_F(SubnetRouterTest, JoinsTheGroupsOfItsSubnetThatAreRouted) {
  groups = {kRouterGroup, *parse_gid("ff12::2")};
  run_after(10ms);
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].mgid, kRouterGroup);
  EXPECT_EQ(joined[0].port_gid, kGate);
  EXPECT_EQ(joined[0].join_state, MemberRecord::kNonMember) << "it keeps no group alive";
  EXPECT_EQ(report("groups"), 1u);
  groups.clear();
  run_after(2s);
  EXPECT_EQ(report("groups"), 0u);
}

TEST_F(SubnetRouterTest, IsToldWhenGroupsComeAndGo) {
  tells = true;
  run_after(10ms);
  EXPECT_TRUE(router.report().at("told"));
  ASSERT_EQ(subscribed.size(), 2u);
  for (const wire::InformInfo& wanted : subscribed) {
    EXPECT_TRUE(wanted.subscribe);
    EXPECT_TRUE(wanted.generic);
    EXPECT_EQ(wanted.lid_begin, wire::InformInfo::kAnyLid);
    EXPECT_EQ(wanted.qpn, kQp1);
  }
  EXPECT_EQ(subscribed[0].trap, 66);
  EXPECT_EQ(subscribed[1].trap, 67);
  groups = {kRouterGroup};
  run_after(5s);
  EXPECT_EQ(report("groups"), 0u) << "it asks though nobody has told it of a change";
  tell(wire::TrapNumber::kGroupCreated, kRouterGroup);
  run_after(100ms);
  EXPECT_EQ(report("groups"), 1u);
  groups.clear();
  tell(wire::TrapNumber::kGroupDeleted, kRouterGroup);
  EXPECT_EQ(report("groups"), 0u);
  EXPECT_EQ(report("reports"), 2u);
  EXPECT_EQ(confirmed, 2);
  // What it is not told, it finds by itself in the end, and subscribes again.
  groups = {kRouterGroup};
  run_after(16s);
  EXPECT_EQ(report("groups"), 1u);
  EXPECT_EQ(subscribed.size(), 4u);
}

TEST_F(SubnetRouterTest, JoinsAGroupAnewThatHasBegunAnew) {
  tells = true;
  groups = {kRouterGroup};
  run_after(10ms);
  ASSERT_EQ(joined.size(), 1u);
  // Nobody has told of its end.
  tell(wire::TrapNumber::kGroupCreated, kRouterGroup);
  run_after(100ms);
  EXPECT_EQ(joined.size(), 2u);
  EXPECT_EQ(report("groups"), 1u);
}

TEST_F(SubnetRouterTest, TriesAgainSoonWhatHasFailedThoughItIsTold) {
  tells = true;
  groups = {kRouterGroup};
  status = 0x0200;
  run_after(10ms);
  EXPECT_EQ(joined.size(), 1u);
  EXPECT_EQ(report("groups"), 0u);
  status = 0;
  run_after(1100ms);
  EXPECT_EQ(report("groups"), 1u);
}

TEST_F(SubnetRouterTest, JoinsMoreGroupsThanAtOnceWithoutWaitingForLong) {
  tells = true;
  for (std::uint8_t i = 0; i < 70; ++i)
    groups.push_back(*parse_gid("ff15::" + std::to_string(i)));
  run_after(10ms);
  EXPECT_EQ(report("groups"), 64u);
  run_after(1100ms);
  EXPECT_EQ(report("groups"), 70u);
}

TEST_F(SubnetRouterTest, BelievesNobodyElseWhoTellsOfGroups) {
  tells = true;
  groups = {kRouterGroup};
  run_after(10ms);
  EXPECT_EQ(report("groups"), 1u);
  tell(wire::TrapNumber::kGroupDeleted, kRouterGroup, "gate");
  EXPECT_EQ(report("groups"), 1u);
  EXPECT_EQ(report("reports"), 0u);
  EXPECT_EQ(confirmed, 0);
}

TEST_F(SubnetRouterTest, IsInNoGroupThatItIsNotLetInto) {
  groups = {kRouterGroup};
  status = 0x0200;
  run_after(10ms);
  EXPECT_EQ(joined.size(), 1u);
  EXPECT_EQ(report("groups"), 0u);
  status = 0;
  run_after(2s);
  EXPECT_GT(joined.size(), 1u);
  EXPECT_EQ(report("groups"), 1u);
}

TEST_F(SubnetRouterTest, IsInNoGroupWhenTheManagerHasForgottenIt) {
  groups = {kRouterGroup};
  run_after(10ms);
  EXPECT_EQ(report("groups"), 1u);
  fabric::Node& gate = *lab.fabric.find_node("gate");
  wire::PortInfo info = gate.port_info(1);
  info.client_reregister = true;
  gate.set_port_info(1, info, lab.now);
  lab.settle();
  EXPECT_EQ(report("groups"), 0u);
  run_after(10ms);
  EXPECT_EQ(report("groups"), 1u);
  EXPECT_EQ(joined.size(), 2u);
}

TEST_F(SubnetRouterTest, LearnsPrefixesBesideThoseThatItWasGiven) {
  link::Port& first = router.add_site({kSecond});
  link::Port& second = router.add_site({});
  router.set_learned({{kSecond, 1}, {kThird, 1}});
  EXPECT_EQ(router.learned(0), 0u);
  EXPECT_EQ(router.learned(1), 1u) << "what it was given goes first";
  EXPECT_EQ(report("prefixes"), 2u);
  router.set_learned({{kThird, 0}});
  EXPECT_EQ(router.learned(0), 1u);
  EXPECT_EQ(router.learned(1), 0u);
  router.set_learned({});
  EXPECT_EQ(report("prefixes"), 1u);
  first.connect(nullptr, lab.now);
  second.connect(nullptr, lab.now);
}

}  // namespace
}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// An extender that is a router, and what it says to its subnet's administrator, which is played by
// an adapter at the other end of its link.
#include "daemon/wan/subnet_router.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../fabric/running_lab.h"
#include "base/gid_text.h"
#include "io/clock.h"
#include "wire/sa/member_record.h"

namespace weft::daemon {
namespace {

using wire::MemberRecord;

constexpr const char* kLab = R"(
[node]
a = { guid = "0x0002c90300000010" }
[router]
gate = { guid = "0x0002c90300000020" }
[[link]]
ends = ["a", "gate"]
)";
constexpr std::uint64_t kSubnet = 0xFD00'0000'0000'0001;
const Gid kGate = *parse_gid("fd00:0:0:1:2:c903:0:21");
const Gid kGroup = *parse_gid("ff15::1");
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
                              .class_version = wire::kSaClassVersion};
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

  fabric::RunningLab lab{fabric::lab_of(kLab)};
  int woken = 0;
  SubnetRouter router{lab.fabric.router(1), {}, lab.fabric.pool(), [this] { ++woken; }};
  std::vector<Gid> groups;           // that there are
  std::vector<MemberRecord> joined;  // what was asked for
  std::uint16_t status = 0;          // of answers to who wants to join

 private:
  mgmt::NodeManagement& administrator() { return lab.fabric.find_node("a")->management(); }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    std::vector<std::byte> answer(mad.mad.begin(), mad.mad.end());
    auto header = *wire::MadHeader::parse(answer);
    const MutableBytes data = MutableBytes(answer).subspan(wire::SaHeader::kDataOffset);
    if (header.method == wire::MadMethod::kGetTable) {
      constexpr std::size_t kStride = 56;
      header.method = wire::MadMethod::kGetTableResponse;
      wire::SaHeader{.attribute_offset = kStride / 8}.write(answer);
      for (std::size_t i = 0; i < groups.size(); ++i)
        MemberRecord{.mgid = groups[i]}.write(data.subspan(i * kStride));
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
  groups = {kGroup, *parse_gid("ff12::2")};
  run_after(10ms);
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].mgid, kGroup);
  EXPECT_EQ(joined[0].port_gid, kGate);
  EXPECT_EQ(joined[0].join_state, MemberRecord::kNonMember) << "it keeps no group alive";
  EXPECT_EQ(report("groups"), 1u);
  groups.clear();
  run_after(2s);
  EXPECT_EQ(report("groups"), 0u);
}

TEST_F(SubnetRouterTest, IsInNoGroupThatItIsNotLetInto) {
  groups = {kGroup};
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
  groups = {kGroup};
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

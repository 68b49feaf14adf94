// SPDX-License-Identifier: Apache-2.0
// The agents of the MAD layer of a port: what they claim, who gets what nobody asked for, how many
// there may be, and how they leave.
#include <gtest/gtest.h>

#include "mad_port_fixture.h"

namespace weft::mgmt::test {
namespace {

TEST(MadPort, RefusesAClaimThatAnotherAgentHas) {
  Port node;
  node.add(agent_of(MgmtClass::kSubnAdm, 2, {MadMethod::kGet, MadMethod::kSet}));
  const auto conflict = node.port.add_agent(
      agent_of(MgmtClass::kSubnAdm, 2, {MadMethod::kGetTable, MadMethod::kSet}), node.client);
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, std::errc::address_in_use);
  // A refusal claims nothing; other methods, versions and classes are free.
  EXPECT_TRUE(
      node.port.add_agent(agent_of(MgmtClass::kSubnAdm, 2, {MadMethod::kGetTable}), node.client));
  EXPECT_TRUE(
      node.port.add_agent(agent_of(MgmtClass::kSubnAdm, 1, {MadMethod::kSet}), node.client));
  EXPECT_TRUE(
      node.port.add_agent(agent_of(MgmtClass::kDeviceMgt, 2, {MadMethod::kSet}), node.client));
}

TEST(MadPort, FreesTheClaimsOfAnAgentThatLeaves) {
  Port node;
  const AgentRequest request = agent_of(MgmtClass::kSubnAdm, 2, {MadMethod::kGet});
  const AgentId agent = node.add(request);
  EXPECT_TRUE(node.port.remove_agent(agent));
  EXPECT_FALSE(node.port.remove_agent(agent));
  const AgentId next = node.add(request);
  EXPECT_NE(next, agent);
}

TEST(MadPort, ForgetsTheRequestsOfAnAgentThatLeaves) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  ASSERT_TRUE(node.port.send(agent, {.to = node.to_lid(3), .mad = cm_get(), .timeout = 1s}, {}));
  node.port.remove_agent(agent);
  EXPECT_FALSE(node.port.deadline());
  node.answer(node.outlet.take(), 3);
  node.management.run(at(10s));
  EXPECT_TRUE(node.client.told.empty());
  EXPECT_FALSE(node.port.send(agent, {.to = node.to_lid(3), .mad = cm_get()}, {}));
}

TEST(MadPort, BringsRequestsToWhoeverHasClaimedThem) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1, {MadMethod::kSet}));
  MadBuffer mad = cm_get();
  wire::store_u8(mad.data() + 3, static_cast<std::uint8_t>(MadMethod::kSet));
  node.arrive(mad, 6);
  const Told told = node.client.take();
  EXPECT_EQ(told.agent, agent);
  EXPECT_FALSE(told.cookie);
  EXPECT_EQ(told.from.lid, Lid{6});
  EXPECT_TRUE(node.outlet.all.empty());
}

TEST(MadPort, AnswersRequestsThatNobodyHasClaimed) {
  Port node;
  node.add(agent_of(MgmtClass::kDeviceMgt, 1, {MadMethod::kSet}));
  node.arrive(cm_get(), 6);
  const SentMad answer = node.outlet.take();
  EXPECT_EQ(answer.status(), MadStatus::kBadMethodAttribute);
  EXPECT_EQ(answer.header().method, MadMethod::kGetResponse);
  EXPECT_EQ(answer.header().transaction_id, 0xAAAA'BBBB'0000'0017u);
  EXPECT_EQ(answer.envelope.slid, Lid{9});
  EXPECT_EQ(answer.envelope.dlid, Lid{6});
  MadBuffer table = cm_get();
  wire::store_u8(table.data() + 3, static_cast<std::uint8_t>(MadMethod::kGetTable));
  node.arrive(table, 6);
  const SentMad refusal = node.outlet.take();
  EXPECT_EQ(refusal.status(), MadStatus::kBadMethod);
  EXPECT_EQ(refusal.header().method, MadMethod::kGetTableResponse);
}

TEST(MadPort, DropsAndCountsWhatAsksForNoAnswerAndIsNobodys) {
  Port node;
  for (const std::uint8_t method :
       std::initializer_list<std::uint8_t>{0x03, 0x05, 0x06, 0x07, 0x81, 0x92}) {
    MadBuffer mad = cm_get();
    wire::store_u8(mad.data() + 3, method);
    node.arrive(mad, 6);
  }
  EXPECT_EQ(node.count(ManagementCounter::kDroppedUnclaimed), 6u);
  MadBuffer mad = cm_get();
  wire::store_u8(mad.data() + 3, 0x42);
  node.arrive(mad, 6);
  EXPECT_EQ(node.count(ManagementCounter::kDroppedMethod), 1u);
  EXPECT_TRUE(node.outlet.all.empty());
}

TEST(MadPort, TellsVendorsApartByTheirOui) {
  Port node;
  AgentRequest ours = agent_of(static_cast<MgmtClass>(0x32), 1, {MadMethod::kGet});
  ours.oui = {0x00, 0x14, 0x05};
  AgentRequest theirs = ours;
  theirs.oui = {0x00, 0x02, 0xC9};
  const AgentId agent = node.add(ours);
  const AgentId other = node.add(theirs);
  MadBuffer mad = make_mad(static_cast<MgmtClass>(0x32), 1, MadMethod::kGet, 0);
  wire::store_be24(mad.data() + 37, 0x00'14'05);
  node.arrive(mad, 6);
  EXPECT_EQ(node.client.take().agent, agent);
  wire::store_be24(mad.data() + 37, 0x00'02'C9);
  node.arrive(mad, 6);
  EXPECT_EQ(node.client.take().agent, other);
  wire::store_be24(mad.data() + 37, 0x00'02'C8);
  node.arrive(mad, 6);
  EXPECT_EQ(node.outlet.take().status(), MadStatus::kBadMethodAttribute);
}

TEST(MadPort, HandsTrapsAndInformationOfManagersToTheManager) {
  Port node;
  const AgentId agent = node.add(
      agent_of(MgmtClass::kSubnLid, 1,
               {MadMethod::kGet, MadMethod::kSet, MadMethod::kTrap, MadMethod::kTrapRepress}));
  node.give(make_smp(MadMethod::kTrap, SmAttribute::kNotice));
  EXPECT_EQ(node.client.take().agent, agent);
  node.give(make_smp(MadMethod::kGet, SmAttribute::kSmInfo));
  EXPECT_EQ(node.client.take().agent, agent);
  node.give(make_smp(MadMethod::kTrapRepress, SmAttribute::kNotice));
  EXPECT_EQ(node.client.take().agent, agent);
  // What is the node's own, the node answers.
  node.give(make_smp(MadMethod::kGet, SmAttribute::kNodeInfo));
  EXPECT_TRUE(node.client.told.empty());
  EXPECT_EQ(node.outlet.take().status(), MadStatus::kOk);
}

TEST(MadPort, BoundsItsAgentsAndWhatWaitsForThem) {
  ModelNode node(wire::NodeType::kChannelAdapter, 1, 1, "bounded");
  node.infos[1].lid = Lid{8};
  KeptMads outlet;
  Client client;
  MadPort port(node, 1, outlet, {.agents = 2, .requests = 3});
  const AgentId agent = *port.add_agent(agent_of(MgmtClass::kDeviceMgt, 1), client);
  ASSERT_TRUE(port.add_agent(agent_of(MgmtClass::kDeviceMgt, 1), client));
  const auto third = port.add_agent(agent_of(MgmtClass::kDeviceMgt, 1), client);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, std::errc::no_buffer_space);
  for (std::uint64_t id = 0; id < 3; ++id) {
    const MadBuffer mad = cm_get(id);
    const MadAddress to{.lid = Lid{3}, .qpn = kQp1, .qkey = kGsiQKey};
    ASSERT_TRUE(port.send(agent, {.to = to, .mad = mad, .timeout = 1s}, {}));
  }
  const MadBuffer mad = cm_get(3);
  const MadAddress to{.lid = Lid{3}, .qpn = kQp1, .qkey = kGsiQKey};
  const auto fourth = port.send(agent, {.to = to, .mad = mad, .timeout = 1s}, {});
  ASSERT_FALSE(fourth);
  EXPECT_EQ(fourth.error().code, std::errc::no_buffer_space);
  port.run(at(1s));
  EXPECT_EQ(client.told.size(), 3u);
  EXPECT_TRUE(port.send(agent, {.to = to, .mad = mad, .timeout = 1s}, at(1s)));
}

TEST(MadPort, LetsAClientLeaveFromWithinWhatItIsTold) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  for (std::uint64_t id = 0; id < 4; ++id) {
    const MadBuffer mad = cm_get(id);
    ASSERT_TRUE(node.port.send(agent, {.to = node.to_lid(3), .mad = mad, .timeout = 1s}, {}));
  }
  node.client.then = [&] { node.port.remove_agent(agent); };
  node.management.run(at(5s));
  EXPECT_EQ(node.client.told.size(), 1u);
  EXPECT_FALSE(node.port.deadline());
}

}  // namespace
}  // namespace weft::mgmt::test

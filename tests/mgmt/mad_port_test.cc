// SPDX-License-Identifier: Apache-2.0
// The MAD layer of a port: questions, answers, time-outs, addresses. Its agents are in
// mad_agents_test.cc, long messages in rmpp_test.cc.
#include <gtest/gtest.h>

#include "mad_port_fixture.h"
#include "wire/sa/sa_header.h"

namespace weft::mgmt::test {
namespace {

TEST(MadPort, GivesTheHighHalfOfATransactionIdToTheAgent) {
  Port node;
  node.add(agent_of(MgmtClass::kSnmp, 1));
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  ASSERT_TRUE(node.port.send(agent, {.to = node.to_lid(3), .mad = cm_get(), .timeout = 1s}, {}));
  const SentMad sent = node.outlet.take();
  EXPECT_EQ(sent.header().transaction_id, std::uint64_t{agent.value()} << 32 | 0x17);
  EXPECT_EQ(sent.envelope.dlid, Lid{3});
  EXPECT_EQ(sent.envelope.slid, Lid{8});
  EXPECT_EQ(sent.envelope.pkey, kDefaultPKey);
}

TEST(MadPort, LeavesTheTransactionIdOfAnAnswerAlone) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  MadBuffer mad = cm_get();
  wire::store_u8(mad.data() + 3, 0x81);
  ASSERT_TRUE(node.port.send(agent, {.to = node.to_lid(3), .mad = mad, .timeout = 1s}, {}));
  EXPECT_EQ(node.outlet.take().header().transaction_id, 0xAAAA'BBBB'0000'0017u);
  EXPECT_FALSE(node.port.deadline());
}

TEST(MadPort, BringsAnAnswerToWhoeverAsked) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  ASSERT_TRUE(node.port.send(
      agent, {.to = node.to_lid(3), .mad = cm_get(), .timeout = 1s, .cookie = 42}, {}));
  const SentMad sent = node.outlet.take();
  node.answer(sent, 3);
  const Told told = node.client.take();
  EXPECT_EQ(told.agent, agent);
  EXPECT_EQ(told.cookie, 42u);
  EXPECT_EQ(told.from.lid, Lid{3});
  EXPECT_EQ(told.from.path_bits, 1);
  EXPECT_EQ(told.mad.size(), wire::kMadSize);
  EXPECT_FALSE(node.port.deadline());
  // Once: a second copy is nobody's.
  node.answer(sent, 3);
  EXPECT_TRUE(node.client.told.empty());
  EXPECT_EQ(node.count(ManagementCounter::kDroppedUnclaimed), 1u);
}

TEST(MadPort, TakesNoAnswerFromElsewhereOrOfAnotherClass) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  ASSERT_TRUE(node.port.send(agent, {.to = node.to_lid(3), .mad = cm_get(), .timeout = 1s}, {}));
  SentMad sent = node.outlet.take();
  node.answer(sent, 4);
  wire::store_u8(sent.mad.data() + 1, static_cast<std::uint8_t>(MgmtClass::kSnmp));
  node.answer(sent, 3);
  EXPECT_TRUE(node.client.told.empty());
  EXPECT_EQ(node.count(ManagementCounter::kDroppedUnclaimed), 2u);
}

TEST(MadPort, SendsAgainAndThenGivesUp) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  ASSERT_TRUE(node.port.send(
      agent, {.to = node.to_lid(3), .mad = cm_get(), .timeout = 100ms, .retries = 2, .cookie = 7},
      at(0s)));
  const MadBuffer first = node.outlet.take().mad;
  for (const Duration when : {100ms, 200ms}) {
    EXPECT_EQ(node.port.deadline(), at(when));
    node.management.run(at(when - 1ns));
    EXPECT_TRUE(node.outlet.all.empty());
    node.management.run(at(when));
    EXPECT_EQ(node.outlet.take().mad, first);
  }
  EXPECT_TRUE(node.client.told.empty());
  node.management.run(at(300ms));
  EXPECT_TRUE(node.outlet.all.empty());
  const Told told = node.client.take();
  EXPECT_EQ(told.result, MadResult::kTimedOut);
  EXPECT_EQ(told.cookie, 7u);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), told.mad.begin(), told.mad.end()));
  EXPECT_FALSE(node.port.deadline());
}

TEST(MadPort, WaitsForNothingWithoutATimeOut) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  ASSERT_TRUE(node.port.send(agent, {.to = node.to_lid(3), .mad = cm_get()}, {}));
  node.answer(node.outlet.take(), 3);
  EXPECT_TRUE(node.client.told.empty());
}

TEST(MadPort, RefusesATransactionIdThatStillWaits) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  const MadRequest request{.to = node.to_lid(3), .mad = cm_get(), .timeout = 1s};
  const MadBuffer mad = cm_get();
  MadRequest held = request;
  held.mad = mad;
  ASSERT_TRUE(node.port.send(agent, held, {}));
  const auto again = node.port.send(agent, held, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, std::errc::invalid_argument);
  EXPECT_EQ(node.outlet.all.size(), 1u);
  // Another agent's are its own.
  EXPECT_TRUE(node.port.send(node.add(agent_of(MgmtClass::kDeviceMgt, 1)), held, {}));
}

TEST(MadPort, ForgetsARequestThatIsCancelled) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  ASSERT_TRUE(node.port.send(
      agent, {.to = node.to_lid(3), .mad = cm_get(), .timeout = 1s, .cookie = 5}, {}));
  EXPECT_FALSE(node.port.cancel(agent, 6));
  EXPECT_TRUE(node.port.cancel(agent, 5));
  EXPECT_FALSE(node.port.cancel(agent, 5));
  EXPECT_FALSE(node.port.deadline());
}

TEST(MadPort, TurnsIndicesIntoHeadersAndBack) {
  Port node;
  wire::GuidBlock guids;
  guids.guids[2] = Guid{0x77};
  node.node.set_guids(1, 0, guids);
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1, {MadMethod::kSet}));
  MadAddress to = node.to_lid(3);
  to.sl = Sl{6};
  to.path_bits = 3;
  to.pkey_index = 3;
  to.global = GlobalAddress{.gid = Gid{{0xFE, 0x80, 1}},
                            .gid_index = 2,
                            .flow_label = 0x12345,
                            .hop_limit = 9,
                            .traffic_class = 4};
  ASSERT_TRUE(node.port.send(agent, {.to = to, .mad = cm_get()}, {}));
  const MadEnvelope sent = node.outlet.take().envelope;
  EXPECT_EQ(sent.slid, Lid{11});
  EXPECT_EQ(sent.pkey, PKey{0x8001});
  ASSERT_TRUE(sent.grh);
  EXPECT_EQ(sent.grh->dgid, (Gid{{0xFE, 0x80, 1}}));
  EXPECT_EQ(sent.grh->sgid, (Gid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x77}}));
  // The same back: a limited member of the partition.
  MadEnvelope back = sent;
  std::swap(back.slid, back.dlid);
  std::swap(back.grh->sgid, back.grh->dgid);
  back.pkey = PKey{0x0001};
  MadBuffer mad = cm_get();
  wire::store_u8(mad.data() + 3, static_cast<std::uint8_t>(MadMethod::kSet));
  node.management.receive(back, mad, {});
  EXPECT_EQ(node.client.take().from, to);
}

TEST(MadPort, RefusesAddressesThatThePortCannotUse) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  const MadBuffer mad = cm_get();
  const auto refused = [&](const MadAddress& to) {
    const auto sent = node.port.send(agent, {.to = to, .mad = mad}, {});
    return !sent && sent.error().code == std::errc::invalid_argument;
  };
  MadAddress to = node.to_lid(3);
  to.path_bits = 4;
  EXPECT_TRUE(refused(to));
  to = node.to_lid(3);
  to.pkey_index = 64;
  EXPECT_TRUE(refused(to));
  to = node.to_lid(3);
  to.global = GlobalAddress{.gid_index = 10};
  EXPECT_TRUE(refused(to));
  to = node.to_lid(3);
  to.qpn = kQp0;
  EXPECT_TRUE(refused(to));
  EXPECT_FALSE(refused(node.to_lid(3)));
}

// As ibsrpdm does: Linux lets it.
TEST(MadPort, AsksQuestionsOfAnotherClassThroughAnAgentWithRmpp) {
  Port node;
  AgentRequest administration = agent_of(MgmtClass::kSubnAdm, 2);
  administration.rmpp = true;
  const AgentId agent = node.add(administration);
  MadBuffer mad = cm_get();
  // Where that class has RMPP's header, this one has anything.
  std::fill(mad.begin() + 24, mad.end(), std::byte{0xFF});
  ASSERT_TRUE(
      node.port.send(agent, {.to = node.to_lid(3), .mad = mad, .timeout = 1s, .cookie = 7}, {}));
  const SentMad sent = node.outlet.take();
  EXPECT_EQ(sent.header().mgmt_class, MgmtClass::kDeviceMgt);
  node.answer(sent, 3);
  EXPECT_EQ(node.client.take().cookie, 7u);
}

TEST(MadPort, RefusesDatagramsThatAreNotTheAgents) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kDeviceMgt, 1));
  const MadBuffer other = make_mad(MgmtClass::kSubnLid, 1, MadMethod::kGet, 1);
  const auto wrong_class = node.port.send(agent, {.to = node.to_lid(3), .mad = other}, {});
  ASSERT_FALSE(wrong_class);
  EXPECT_EQ(wrong_class.error().code, std::errc::invalid_argument);
  const MadBuffer mad = cm_get();
  EXPECT_FALSE(node.port.send(agent, {.to = node.to_lid(3), .mad = Bytes(mad).first(23)}, {}));
  std::vector<std::byte> longer(mad.begin(), mad.end());
  longer.resize(257);
  const auto too_long = node.port.send(agent, {.to = node.to_lid(3), .mad = longer}, {});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, std::errc::message_size);
  // A short one is filled with zeros.
  ASSERT_TRUE(node.port.send(agent, {.to = node.to_lid(3), .mad = Bytes(mad).first(24)}, {}));
  EXPECT_EQ(node.outlet.take().mad[255], std::byte{0});
}

TEST(MadPort, SendsBothKindsOfSubnetManagementThroughOneAgent) {
  Port node;
  const AgentId agent = node.add(agent_of(MgmtClass::kSubnDirected, 1));
  const MadBuffer mad = make_smp(MadMethod::kGet, SmAttribute::kNodeInfo);
  ASSERT_TRUE(node.port.send(agent, {.to = {.lid = Lid{7}}, .mad = mad, .timeout = 1s}, {}));
  SentMad sent = node.outlet.take();
  wire::store_u8(sent.mad.data() + 3, 0x81);
  node.give(sent.mad);
  EXPECT_EQ(node.client.take().agent, agent);
}

TEST(MadPort, SendsToItsOwnLidWithoutLeavingTheNode) {
  Port node;
  const AgentId asker = node.add(agent_of(MgmtClass::kPerf, 1));
  const MadBuffer mad = [&] {
    MadBuffer request = make_mad(MgmtClass::kPerf, 1, MadMethod::kGet, 0x12);
    wire::store_u8(data_of(request).data() + 1, 1);
    return request;
  }();
  ASSERT_TRUE(node.port.send(asker, {.to = node.to_lid(10), .mad = mad, .timeout = 1s}, at(0s)));
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(node.management.deadline());
    EXPECT_LE(*node.management.deadline(), at(0s));
    node.management.run(at(0s));
  }
  EXPECT_TRUE(node.outlet.all.empty());
  EXPECT_EQ(node.client.take().from.lid, Lid{10});
}

TEST(MadPort, DropsDatagramsThatCameToTheWrongQueuePair) {
  Port node;
  node.management.receive({.port = 1, .slid = Lid{3}, .dlid = Lid{8}, .dest_qp = kQp1},
                          make_smp(MadMethod::kGet, SmAttribute::kNodeInfo), {});
  node.management.receive({.port = 1, .slid = Lid{3}, .dlid = Lid{8}, .dest_qp = kQp0}, cm_get(),
                          {});
  EXPECT_TRUE(node.outlet.all.empty());
  EXPECT_EQ(node.count(ManagementCounter::kDroppedQueuePair), 2u);
}

}  // namespace
}  // namespace weft::mgmt::test

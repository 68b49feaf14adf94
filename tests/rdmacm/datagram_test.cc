// SPDX-License-Identifier: Apache-2.0
#include "two_hosts.h"

namespace weft::rdmacm {
namespace {

using Datagrams = TwoHosts;
using wire::PortSpace;

constexpr std::uint16_t kDatagramPort = 7174;
constexpr std::uint32_t kQKey = 0x01234567;

TEST_F(Datagrams, LearnTheQueuePairBehindAService) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, kDatagramPort, PortSpace::kUdp);
  const auto id = start_client(connecting, kDatagramPort, PortSpace::kUdp);
  ASSERT_EQ(connecting.connect(id, parameters(0x111, "who")), std::errc{});
  settle();
  const auto request = listening.expect(abi::Event::kConnectRequest);
  EXPECT_EQ(request.param.ud.private_data[0], 'w');
  EXPECT_EQ(request.param.ud.private_data_len, 180);
  ASSERT_EQ(listening.accept(request.id, parameters(0x222, "me"), kServerUid), std::errc{});
  settle();
  const auto established = connecting.expect(abi::Event::kEstablished);
  EXPECT_EQ(established.param.ud.qp_num, 0x222U);
  EXPECT_EQ(established.param.ud.qkey, kQKey);
  EXPECT_EQ(established.param.ud.private_data[0], 'm');
  EXPECT_EQ(established.param.ud.ah_attr.is_global, 1);
  EXPECT_EQ(established.param.ud.ah_attr.port_num, 1);
  EXPECT_EQ(Gid(std::to_array(established.param.ud.ah_attr.grh.dgid)), server.address);
  EXPECT_FALSE(listening.event());
}

TEST_F(Datagrams, LearnThatThereIsNoSuchService) {
  Program connecting(client);
  const auto id = start_client(connecting, kDatagramPort, PortSpace::kUdp);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  EXPECT_EQ(connecting.expect(abi::Event::kUnreachable).status, 1U);
}

TEST_F(Datagrams, LearnThatTheProgramWillNot) {
  Program listening(server);
  Program connecting(client);
  start_listener(listening, kDatagramPort, PortSpace::kUdp);
  const auto id = start_client(connecting, kDatagramPort, PortSpace::kUdp);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  rdma_ucm_reject command{};
  command.id = listening.expect(abi::Event::kConnectRequest).id;
  ASSERT_TRUE(listening.run(RDMA_USER_CM_CMD_REJECT, command));
  settle();
  EXPECT_EQ(connecting.expect(abi::Event::kUnreachable).status, 2U);
}

TEST_F(Datagrams, HaveTheQKeyOfRdmaCm) {
  Program program(client);
  const auto id = start_client(program, kDatagramPort, PortSpace::kUdp);
  const auto attributes = program.attributes(id, hca::QpState::kInit);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->qkey, kQKey);
  // IBV_QP_STATE, PKEY_INDEX, PORT and QKEY.
  EXPECT_EQ(attributes->qp_attr_mask, 0x71U);
}

rdma_ucm_join_mcast join(std::uint32_t id, const Gid& group) {
  rdma_ucm_join_mcast command{};
  command.id = id;
  command.uid = 0xC1;
  std::array<std::byte, Address::kStorage> raw{};
  command.addr_size = static_cast<std::uint16_t>(Address::ip(group, 0).write(raw));
  std::memcpy(&command.addr, raw.data(), raw.size());
  return command;
}

TEST_F(Datagrams, JoinAndLeaveGroups) {
  Program program(client);
  const auto id = start_client(program, kDatagramPort, PortSpace::kUdp);
  const Gid group = Gid::from_ipv4(0xEF010203);
  const auto joined =
      program.run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_MCAST, join(id, group));
  ASSERT_TRUE(joined);
  const auto event = program.expect(abi::Event::kMulticastJoin);
  EXPECT_EQ(event.uid, 0xC1U);
  EXPECT_EQ(event.id, joined->id);
  EXPECT_EQ(event.param.ud.qp_num, 0xFFFFFFU);
  EXPECT_EQ(event.param.ud.qkey, kQKey);
  EXPECT_EQ(Gid(std::to_array(event.param.ud.ah_attr.grh.dgid)), group);
  EXPECT_EQ(
      program.run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_MCAST, join(id, group)).error(),
      std::errc::address_in_use);

  rdma_ucm_destroy_id leave{};
  leave.id = joined->id;
  const auto left = program.run<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_LEAVE_MCAST, leave);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->events_reported, 1U);
  EXPECT_FALSE(program.run(RDMA_USER_CM_CMD_LEAVE_MCAST, leave));
}

TEST_F(Datagrams, JoinOnlyWhatIsAGroup) {
  Program program(client);
  const auto id = start_client(program, kDatagramPort, PortSpace::kUdp);
  EXPECT_EQ(
      program.run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_MCAST, join(id, server.address))
          .error(),
      std::errc::invalid_argument);
}

TEST_F(Datagrams, ForgetGroupsWithTheirIdentity) {
  Program program(client);
  const auto id = start_client(program, kDatagramPort, PortSpace::kUdp);
  const Gid group = Gid::from_ipv4(0xEF010203);
  ASSERT_TRUE(program.run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_MCAST, join(id, group)));
  ASSERT_TRUE(program.destroy(id));
  EXPECT_EQ(client.waiting[program.channel], 0U);
  EXPECT_FALSE(program.event());
}

}  // namespace
}  // namespace weft::rdmacm

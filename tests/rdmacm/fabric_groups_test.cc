// SPDX-License-Identifier: Apache-2.0
// rdma_cm between ports of a fabric: multicast groups, which the subnet administrator keeps.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "two_nodes.h"

namespace weft::rdmacm {
namespace {

class GroupsOnFabric : public OnFabric {
 protected:
  std::uint32_t bound() {
    const auto id = connecting.create(wire::PortSpace::kUdp, 0xB1).value();
    EXPECT_EQ(connecting.bind(id, Address::ip(client.address, 0)), std::errc{});
    return id;
  }
  tl::expected<std::uint32_t, std::errc> join(std::uint32_t id) {
    rdma_ucm_join_ip_mcast command{};
    command.uid = 0xC1;
    command.id = id;
    std::array<std::byte, Address::kStorage> raw{};
    Address::ip(Gid::from_ipv4(0xEF010203), 0).write(raw);
    std::memcpy(&command.addr, raw.data(), sizeof command.addr);
    const auto joined =
        connecting.run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_IP_MCAST, command);
    if (!joined) return tl::unexpected(joined.error());
    return joined->id;
  }
  // As a member that does not receive.
  tl::expected<std::uint32_t, std::errc> join_to_send(std::uint32_t id) {
    rdma_ucm_join_mcast command{};
    command.uid = 0xC2;
    command.id = id;
    command.addr_size = sizeof(sockaddr_in);
    command.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    std::array<std::byte, Address::kStorage> raw{};
    Address::ip(Gid::from_ipv4(0xEF010203), 0).write(raw);
    std::memcpy(&command.addr, raw.data(), raw.size());
    const auto joined =
        connecting.run<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_JOIN_MCAST, command);
    if (!joined) return tl::unexpected(joined.error());
    return joined->id;
  }
  std::errc leave(std::uint32_t membership) {
    rdma_ucm_destroy_id command{};
    command.id = membership;
    const auto left =
        connecting.run<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_LEAVE_MCAST, command);
    return left ? std::errc{} : left.error();
  }
  GroupRecord group() const {
    return {.mgid = kMgid,
            .mlid = Lid{0xC005},
            .qkey = QKey{77},
            .sl = Sl{3},
            .rate = 6,
            .flow_label = 9,
            .hop_limit = 0,
            .traffic_class = 2};
  }
  // RFC 4391, with rdma_cm's signature: 239.1.2.3 without its first four bits.
  static constexpr Gid kMgid{{0xFF, 0x12, 0x40, 0x01, 0xFF, 0xFF, 0, 0,  //
                              0, 0, 0, 0, 0x0F, 0x01, 0x02, 0x03}};
};

TEST_F(GroupsOnFabric, AreJoinedThroughTheSubnetAdministrator) {
  const auto membership = join(bound());
  ASSERT_TRUE(membership);
  ASSERT_EQ(client.joining.size(), 1u);
  const GroupQuestion& question = client.joining[0].second;
  EXPECT_EQ(question.mgid, kMgid) << question.mgid.to_string();
  EXPECT_EQ(question.port_gid, client.gid);
  EXPECT_EQ(question.qkey, QKey{0x01234567});
  EXPECT_FALSE(connecting.event().has_value());
  client.core->group_joined(*membership, group());
  const auto event = connecting.expect(abi::Event::kMulticastJoin);
  EXPECT_EQ(event.uid, 0xC1u);
  EXPECT_EQ(event.param.ud.qkey, 77u);
  EXPECT_EQ(event.param.ud.qp_num, 0xFFFFFFu);
  const auto& ah = event.param.ud.ah_attr;
  EXPECT_EQ(ah.dlid, 0xC005);
  EXPECT_EQ(ah.is_global, 1);
  EXPECT_EQ(ah.sl, 3);
  EXPECT_EQ(ah.static_rate, 6);
  EXPECT_EQ(ah.grh.flow_label, 9u);
  EXPECT_TRUE(std::equal(std::begin(ah.grh.dgid), std::end(ah.grh.dgid), kMgid.bytes().begin()));
  client.core->group_joined(*membership, group());
  EXPECT_FALSE(connecting.event().has_value()) << "nothing was asked";
}

TEST_F(GroupsOnFabric, AreLeftWithTheLastWhoHasJoined) {
  const auto first = bound();
  const auto second = bound();
  const auto one = join(first);
  const auto other = join(second);
  ASSERT_TRUE(one && other);
  client.core->group_joined(*one, group());
  EXPECT_EQ(leave(*one), std::errc{});
  EXPECT_TRUE(client.left.empty());
  ASSERT_TRUE(connecting.destroy(second));
  EXPECT_EQ(client.left, std::vector{kMgid});
  EXPECT_EQ(client.forgotten, std::vector{*other});
}

TEST_F(GroupsOnFabric, AreLeftByWhoReceivesThoughAnotherOnlySends) {
  const auto receiver = join(bound());
  const auto sender = join_to_send(bound());
  ASSERT_TRUE(receiver && sender);
  EXPECT_TRUE(client.joining[1].second.send_only);
  client.core->group_joined(*receiver, group());
  client.core->group_joined(*sender, group());
  EXPECT_EQ(leave(*receiver), std::errc{});
  EXPECT_EQ(client.left_sending, std::vector{false}) << "nobody here receives any more";
  EXPECT_EQ(leave(*sender), std::errc{});
  EXPECT_EQ(client.left_sending, (std::vector{false, true}));
  EXPECT_EQ(client.left, (std::vector{kMgid, kMgid}));
}

TEST_F(GroupsOnFabric, AreLostWhenThePortHasToJoinThemAnew) {
  const auto joined = join(bound());
  ASSERT_TRUE(joined);
  client.core->group_joined(*joined, group());
  connecting.expect(abi::Event::kMulticastJoin);
  const auto asks = join(bound());
  ASSERT_TRUE(asks);
  client.core->groups_lost(1);
  EXPECT_FALSE(connecting.event().has_value()) << "that is another port";
  client.core->groups_lost(2);
  const auto event = connecting.expect(abi::Event::kMulticastError);
  EXPECT_EQ(event.uid, 0xC1u);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -ENETRESET);
  EXPECT_FALSE(connecting.event().has_value()) << "the other one is still asking";
  client.core->groups_lost(2);
  EXPECT_FALSE(connecting.event().has_value()) << "once";
  EXPECT_EQ(leave(*joined), std::errc{});
  EXPECT_TRUE(client.left.empty()) << "there is nobody to tell";
  client.core->group_joined(*asks, group());
  connecting.expect(abi::Event::kMulticastJoin);
}

TEST_F(GroupsOnFabric, SayWhyTheyAreNotJoined) {
  const auto id = bound();
  client.has_manager = false;
  EXPECT_EQ(join(id).error(), std::errc::network_unreachable);
  client.has_manager = true;
  const auto membership = join(id);
  ASSERT_TRUE(membership) << "what failed has left nothing";
  client.core->group_failed(*membership, std::errc::timed_out);
  const auto event = connecting.expect(abi::Event::kMulticastError);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -ETIMEDOUT);
  EXPECT_EQ(leave(*membership), std::errc{});
  EXPECT_TRUE(client.left.empty()) << "it never was a member";
}

}  // namespace
}  // namespace weft::rdmacm

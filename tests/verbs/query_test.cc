// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "verbs_fixture.h"

namespace weft::verbs_test {
namespace {

using Query = Loopback;

TEST_F(Query, DeviceIsAChannelAdapterOnEthernet) {
  EXPECT_EQ(context_->device->node_type, IBV_NODE_CA);
  EXPECT_EQ(context_->device->transport_type, IBV_TRANSPORT_IB);
  EXPECT_STREQ(ibv_get_device_name(context_->device), "weft_lo");
  EXPECT_NE(ibv_get_device_guid(context_->device), 0U);
  ibv_device_attr attributes{};
  ASSERT_EQ(ibv_query_device(context_.get(), &attributes), 0);
  EXPECT_EQ(attributes.node_guid, ibv_get_device_guid(context_->device));
  EXPECT_EQ(attributes.phys_port_cnt, 1);
  EXPECT_GT(attributes.max_qp, 0);
  EXPECT_GT(attributes.max_srq, 0);
  EXPECT_GT(attributes.max_mw, 0);
  EXPECT_GT(attributes.max_qp_rd_atom, 0);
  EXPECT_EQ(attributes.atomic_cap, IBV_ATOMIC_HCA);
  EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_XRC, 0U);
  EXPECT_STRNE(attributes.fw_ver, "");
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context_.get(), 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(port.phys_state, 5);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(port.lid, 0);
  EXPECT_EQ(port.max_msg_sz, 1U << 31);
  EXPECT_GE(port.gid_tbl_len, 1);
  EXPECT_EQ(ibv_query_port(context_.get(), 2, &port), EINVAL);
}

TEST_F(Query, WritesAsMuchOfAStructureAsTheCallerHas) {
  verbs_context* const extended = verbs_get_ctx(context_.get());
  ASSERT_NE(extended, nullptr);
  std::array<unsigned char, 80> room{};
  const auto query = [&](std::size_t size) {
    room.fill(0xEE);
    EXPECT_EQ(extended->query_port(context_.get(), 1, reinterpret_cast<ibv_port_attr*>(room.data()),
                                   size),
              0);
    return std::all_of(room.begin() + static_cast<std::ptrdiff_t>(size), room.end(),
                       [](unsigned char byte) { return byte == 0xEE; });
  };
  EXPECT_TRUE(query(48));
  EXPECT_TRUE(query(52));
  EXPECT_TRUE(query(72));  // what a later release passes: the unknown rest is zero
  EXPECT_TRUE(std::all_of(room.begin() + 52, room.begin() + 72,
                          [](unsigned char byte) { return byte == 0; }));

  // As NCCL and old programs call it: the exported function, which knows 48 bytes.
  room.fill(0xEE);
  EXPECT_EQ(
      (ibv_query_port)(context_.get(), 1, reinterpret_cast<_compat_ibv_port_attr*>(room.data())),
      0);
  EXPECT_EQ(room[48], 0xEE);
  EXPECT_NE(room[47], 0xEE);
}

TEST_F(Query, ExtendedDeviceAttributesTellTheClockOfCompletions) {
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(context_.get(), nullptr, &attributes), 0);
  EXPECT_EQ(attributes.hca_core_clock, 1'000'000U);  // kHz
  EXPECT_EQ(attributes.completion_timestamp_mask, ~std::uint64_t{0});
  EXPECT_EQ(attributes.phys_port_cnt_ex, 1U);
}

TEST_F(Query, GidTableIsTheSameByEveryWayOfAsking) {
  std::array<ibv_gid_entry, 64> table{};
  const ssize_t count = ibv_query_gid_table(context_.get(), table.data(), table.size(), 0);
  ASSERT_GE(count, 1);
  EXPECT_EQ(ibv_query_gid_table(context_.get(), table.data(), 0, 0), -EINVAL);
  for (const ibv_gid_entry& entry : std::span(table).first(static_cast<std::size_t>(count))) {
    EXPECT_EQ(entry.port_num, 1U);
    EXPECT_EQ(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
    EXPECT_NE(entry.ndev_ifindex, 0U);
    ibv_gid_entry one{};
    ASSERT_EQ(ibv_query_gid_ex(context_.get(), 1, entry.gid_index, &one, 0), 0);
    EXPECT_EQ(std::memcmp(&one, &entry, sizeof one), 0);
    ibv_gid gid{};
    ASSERT_EQ(ibv_query_gid(context_.get(), 1, static_cast<int>(entry.gid_index), &gid), 0);
    EXPECT_EQ(std::memcmp(&gid, &entry.gid, sizeof gid), 0);
  }
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(context_.get(), 1, 255, &gid), -1);
  EXPECT_EQ(ibv_query_gid(context_.get(), 3, 0, &gid), -1);
  ibv_gid_entry one{};
  EXPECT_EQ(ibv_query_gid_ex(context_.get(), 1, 255, &one, 0), EINVAL);
}

TEST_F(Query, PartitionTableHasTheDefaultPartitionOnly) {
  std::uint16_t pkey = 0;
  for (const std::uint8_t port : {std::uint8_t{0}, std::uint8_t{1}}) {
    ASSERT_EQ(ibv_query_pkey(context_.get(), port, 0, &pkey), 0);
    EXPECT_EQ(pkey, 0xFFFF);
  }
  EXPECT_EQ(ibv_query_pkey(context_.get(), 1, 1, &pkey), -1);
  EXPECT_EQ(ibv_get_pkey_index(context_.get(), 1, htons(0xFFFF)), 0);
  EXPECT_EQ(ibv_get_pkey_index(context_.get(), 1, htons(0x8001)), -1);
}

TEST_F(Query, QueuePairRemembersWhatItWasGiven) {
  const QueuePair qp = make_qp();
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attributes.qkey, kQKey);
  EXPECT_EQ(attributes.port_num, 1);
  EXPECT_EQ(init.qp_type, IBV_QPT_UD);
  EXPECT_EQ(init.cap.max_send_wr, 16U);
  EXPECT_EQ(init.send_cq, cq_.get());
}

TEST(Names, SayWhatProgramsExpectAndSurviveNumbersWithoutOne) {
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_WR_FLUSH_ERR), "Work Request Flushed Error");
  EXPECT_STREQ(ibv_wc_status_str(static_cast<ibv_wc_status>(31)), "unknown");
  EXPECT_STREQ(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
  EXPECT_STREQ(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
  EXPECT_STREQ(ibv_event_type_str(IBV_EVENT_GID_CHANGE), "GID table change");
}

TEST(Rates, ConvertBothWays) {
  for (int rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_1200_GBPS; ++rate) {
    const auto value = static_cast<ibv_rate>(rate);
    EXPECT_EQ(mbps_to_ibv_rate(ibv_rate_to_mbps(value)), value);
    if (const int mult = ibv_rate_to_mult(value); mult > 0) {
      EXPECT_EQ(mult_to_ibv_rate(mult), value);
    }
  }
  EXPECT_EQ(ibv_rate_to_mbps(IBV_RATE_MAX), -1);
  EXPECT_EQ(ibv_rate_to_mult(IBV_RATE_14_GBPS), -1);
  EXPECT_EQ(mult_to_ibv_rate(-1), IBV_RATE_MAX);
}

TEST(DeviceList, KeepsADeviceAtItsAddressFromOneListToTheNext) {
  int count = 0;
  ibv_device** const first = ibv_get_device_list(&count);
  ASSERT_GE(count, 1);
  EXPECT_EQ(first[count], nullptr);
  EXPECT_STREQ(ibv_get_device_name(first[count - 1]), "weft_lo");
  ibv_device* const device = first[count - 1];
  ibv_free_device_list(first);
  ibv_device** const second = ibv_get_device_list(nullptr);
  EXPECT_EQ(second[count - 1], device);
  ibv_free_device_list(second);
}

// Provider libraries look at the word after a device to see whether it is theirs.
TEST(DeviceList, HasAReadableWordAfterEachDevice) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_GE(count, 1);
  std::uint64_t word = 1;
  std::memcpy(&word, reinterpret_cast<const char*>(list[0]) + 0x298, sizeof word);
  EXPECT_EQ(word, 0U);
  ibv_free_device_list(list);
}

}  // namespace
}  // namespace weft::verbs_test

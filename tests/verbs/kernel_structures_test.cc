// SPDX-License-Identifier: Apache-2.0
// The translations that librdmacm uses. No public header declares them.
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <cstring>

#include "verbs_fixture.h"

extern "C" {
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from);
}

namespace weft::verbs_test {
namespace {

TEST(KernelStructures, QueuePairAttributesKeepTheirMeaning) {
  ib_uverbs_qp_attr from{};
  from.qp_state = IBV_QPS_RTR;
  from.path_mtu = IBV_MTU_1024;
  from.qkey = 0x8001'0000;
  from.rq_psn = 1;
  from.sq_psn = 2;
  from.dest_qp_num = 3;
  from.max_inline_data = 4;
  from.pkey_index = 5;
  from.port_num = 6;
  from.timeout = 7;
  from.ah_attr.grh.dgid[15] = 8;
  from.ah_attr.grh.flow_label = 9;
  from.ah_attr.is_global = 1;
  from.alt_ah_attr.dlid = 10;
  ibv_qp_attr to{};
  ibv_copy_qp_attr_from_kern(&to, &from);
  EXPECT_EQ(to.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(to.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(to.qkey, 0x8001'0000U);
  EXPECT_EQ(to.rq_psn, 1U);
  EXPECT_EQ(to.sq_psn, 2U);
  EXPECT_EQ(to.dest_qp_num, 3U);
  EXPECT_EQ(to.cap.max_inline_data, 4U);
  EXPECT_EQ(to.pkey_index, 5);
  EXPECT_EQ(to.port_num, 6);
  EXPECT_EQ(to.timeout, 7);
  EXPECT_EQ(to.ah_attr.grh.dgid.raw[15], 8);
  EXPECT_EQ(to.ah_attr.grh.flow_label, 9U);
  EXPECT_EQ(to.ah_attr.is_global, 1);
  EXPECT_EQ(to.alt_ah_attr.dlid, 10);
}

// Every byte that is not padding makes the way there and back.
TEST(KernelStructures, PathRecordsComeBackAsTheyWere) {
  ibv_sa_path_rec path{};
  path.dgid.raw[0] = 1;
  path.sgid.raw[15] = 2;
  path.dlid = htons(3);
  path.slid = htons(4);
  path.raw_traffic = 5;
  path.flow_label = htonl(6);
  path.hop_limit = 7;
  path.traffic_class = 8;
  path.reversible = 1;
  path.numb_path = 9;
  path.pkey = htons(0xFFFF);
  path.sl = 10;
  path.mtu_selector = 2;
  path.mtu = IBV_MTU_4096;
  path.rate_selector = 2;
  path.rate = IBV_RATE_10_GBPS;
  path.packet_life_time_selector = 2;
  path.packet_life_time = 11;
  path.preference = 12;
  ib_user_path_rec kernel{};
  ibv_copy_path_rec_to_kern(&kernel, &path);
  EXPECT_EQ(kernel.pkey, htons(0xFFFF));
  EXPECT_EQ(kernel.mtu, static_cast<unsigned>(IBV_MTU_4096));
  ibv_sa_path_rec back{};
  ibv_copy_path_rec_from_kern(&back, &kernel);
  EXPECT_EQ(std::memcmp(&back, &path, sizeof path), 0);
}

}  // namespace
}  // namespace weft::verbs_test

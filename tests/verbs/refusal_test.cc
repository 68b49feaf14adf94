// SPDX-License-Identifier: Apache-2.0
// What is refused, and how each verb says so: a positive errno, or a null pointer and errno.
#include "verbs_fixture.h"

namespace weft::verbs_test {
namespace {

using Refusal = Loopback;

TEST_F(Refusal, WhatASoftwareDeviceDoesNotHave) {
  ibv_qp_init_attr raw = ud_attributes();
  raw.qp_type = IBV_QPT_RAW_PACKET;
  errno = 0;
  EXPECT_EQ(ibv_create_qp(pd_.get(), &raw), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  const QueuePair qp = make_qp();
  ibv_flow_attr flow{};
  flow.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  flow.size = sizeof flow;
  flow.port = 1;
  errno = 0;
  EXPECT_EQ(ibv_create_flow(qp.get(), &flow), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_device_attr_ex about{};
  ASSERT_EQ(ibv_query_device_ex(context_.get(), nullptr, &about), 0);
  EXPECT_EQ(about.raw_packet_caps, 0u);
  EXPECT_EQ(about.orig_attr.max_raw_ethy_qp, 0);
  errno = 0;
  EXPECT_EQ(ibv_reg_dmabuf_mr(pd_.get(), 0, 16, 0, 0, kLocalWrite), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Refusal, QueuesBeyondTheDevicesLimits) {
  ibv_device_attr limits{};
  ASSERT_EQ(ibv_query_device(context_.get(), &limits), 0);
  ibv_qp_init_attr attributes = ud_attributes();
  attributes.cap.max_send_wr = static_cast<std::uint32_t>(limits.max_qp_wr) + 1;
  EXPECT_EQ(ibv_create_qp(pd_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes = ud_attributes();
  attributes.cap.max_recv_sge = static_cast<std::uint32_t>(limits.max_sge) + 1;
  EXPECT_EQ(ibv_create_qp(pd_.get(), &attributes), nullptr);
  for (const int size : {0, -1, limits.max_cqe + 1}) {
    EXPECT_EQ(ibv_create_cq(context_.get(), size, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(ibv_create_cq(context_.get(), 1, nullptr, nullptr, context_->num_comp_vectors),
            nullptr);
  EXPECT_EQ(ibv_resize_cq(cq_.get(), limits.max_cqe + 1), EINVAL);
  EXPECT_EQ(ibv_resize_cq(cq_.get(), 128), 0);
  EXPECT_GE(cq_->cqe, 128);
}

TEST_F(Refusal, TransitionsWithAttributesThatDatagramsDoNotHave) {
  const QueuePair qp = make_qp();
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE | IBV_QP_TIMEOUT), EINVAL);
  attributes.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE), EINVAL);
  attributes.qp_state = IBV_QPS_UNKNOWN;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(qp->state, IBV_QPS_RTS);
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(qp->state, IBV_QPS_ERR);
}

TEST_F(Refusal, AddressesThatTheDeviceCannotReach) {
  ibv_ah_attr attributes{};
  attributes.port_num = 1;
  EXPECT_EQ(ibv_create_ah(pd_.get(), &attributes), nullptr);  // not global
  EXPECT_EQ(errno, EINVAL);
  attributes.is_global = 1;
  ASSERT_EQ(ibv_query_gid(context_.get(), 1, 0, &attributes.grh.dgid), 0);
  attributes.grh.sgid_index = 200;
  EXPECT_EQ(ibv_create_ah(pd_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes.grh.sgid_index = 0;
  attributes.port_num = 2;
  EXPECT_EQ(ibv_create_ah(pd_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Refusal, WhatIsInUseIsNotDestroyed) {
  QueuePair qp = make_qp();
  EXPECT_EQ(ibv_destroy_cq(cq_.get()), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
  qp.reset();
  mr_.reset();
  const Ah ah = make_ah();
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
}

TEST_F(Refusal, MalformedRequestsNameTheFirstBadOne) {
  const QueuePair qp = make_qp();
  const Ah ah = make_ah();
  ibv_send_wr* bad = nullptr;
  ibv_sge piece = sge(0, 4);
  ibv_send_wr request = send_request(nullptr, qp->qp_num, &piece);
  EXPECT_EQ(ibv_post_send(qp.get(), &request, &bad), EINVAL);
  EXPECT_EQ(bad, &request);
  request = send_request(ah.get(), qp->qp_num, &piece);
  for (const int count : {-1, 5, 1000}) {
    request.num_sge = count;
    EXPECT_EQ(ibv_post_send(qp.get(), &request, &bad), EINVAL);
  }
  ibv_recv_wr receive{1, nullptr, &piece, 33};
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(qp.get(), &receive, &bad_receive), EINVAL);
  EXPECT_EQ(bad_receive, &receive);
}

TEST_F(Refusal, AnAddressHandleOfAnotherDomain) {
  const QueuePair qp = make_qp();
  const Pd other(ibv_alloc_pd(context_.get()));
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  ASSERT_EQ(ibv_query_gid(context_.get(), 1, 0, &attributes.grh.dgid), 0);
  const Ah ah(ibv_create_ah(other.get(), &attributes));
  ibv_sge piece = sge(0, 4);
  ibv_send_wr request = send_request(ah.get(), qp->qp_num, &piece);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp.get(), &request, &bad), EINVAL);
}

TEST_F(Refusal, AccessBitsThatAreNotOptional) {
  const unsigned optional = IBV_ACCESS_OPTIONAL_RANGE;
  const Mr relaxed(ibv_reg_mr_iova2(pd_.get(), buffer_.data(), 16, 0x1000,
                                    optional | unsigned{IBV_ACCESS_LOCAL_WRITE}));
  ASSERT_NE(relaxed, nullptr);
  EXPECT_EQ(relaxed->lkey, relaxed->rkey);
  EXPECT_EQ(ibv_reg_mr_iova2(pd_.get(), buffer_.data(), 16, 0, 1U << 15), nullptr);
  EXPECT_EQ(errno, EINVAL);
  // IBA 10.6.3.1: who may be written to from afar may be written to from here.
  EXPECT_EQ(ibv_reg_mr_iova2(pd_.get(), buffer_.data(), 16, 0, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace weft::verbs_test

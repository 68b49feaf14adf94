// SPDX-License-Identifier: Apache-2.0
// The extended interfaces: ibv_qp_ex and ibv_cq_ex.
#include <time.h>

#include "verbs_fixture.h"

namespace weft::verbs_test {
namespace {

constexpr std::size_t kExtendedIn = 4096;

class Extended : public Loopback {
 protected:
  ibv_qp_init_attr_ex attributes_ex() {
    const ibv_qp_init_attr plain = ud_attributes();
    ibv_qp_init_attr_ex out{};
    out.send_cq = plain.send_cq;
    out.recv_cq = plain.recv_cq;
    out.cap = plain.cap;
    out.qp_type = plain.qp_type;
    out.pd = pd_.get();
    out.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    out.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    return out;
  }
  QueuePair make_qp_ex() {
    ibv_qp_init_attr_ex attributes = attributes_ex();
    return make_ready(ibv_create_qp_ex(context_.get(), &attributes));
  }
};

TEST_F(Extended, WorkRequestsOfOneListAreSentInTheirOrder) {
  const QueuePair from = make_qp_ex();
  const QueuePair to = make_qp();
  const Ah ah = make_ah();
  for (std::uint64_t i = 0; i < 4; ++i)
    post_receive(to.get(), i, kExtendedIn + i * 128, 128);
  write(0, "abcdef");
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(from.get());
  ASSERT_NE(qp, nullptr);

  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  qp->wr_id = 10;
  ibv_wr_send(qp);
  ibv_wr_set_ud_addr(qp, ah.get(), to->qp_num, kQKey);
  ibv_wr_set_sge(qp, mr_->lkey, reinterpret_cast<std::uintptr_t>(buffer_.data()), 3);
  qp->wr_id = 11;
  ibv_wr_send_imm(qp, htonl(77));
  ibv_wr_set_ud_addr(qp, ah.get(), to->qp_num, kQKey);
  ibv_sge list[2]{sge(3, 1), sge(5, 1)};
  ibv_wr_set_sge_list(qp, 2, list);
  qp->wr_id = 12;
  ibv_wr_send(qp);
  ibv_wr_set_ud_addr(qp, ah.get(), to->qp_num, kQKey);
  std::string text = "inline";
  ibv_wr_set_inline_data(qp, text.data(), text.size());
  text.assign(text.size(), '-');
  qp->wr_id = 13;
  ibv_wr_send(qp);
  ibv_wr_set_ud_addr(qp, ah.get(), to->qp_num, kQKey);
  std::string parts[2]{"one", "two"};
  const ibv_data_buf buffers[2]{{parts[0].data(), 3}, {parts[1].data(), 3}};
  ibv_wr_set_inline_data_list(qp, 2, buffers);
  ASSERT_EQ(ibv_wr_complete(qp), 0);

  std::uint64_t next_send = 10;
  for (const ibv_wc& wc : wait_for(8)) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    if (wc.opcode == IBV_WC_SEND) {
      EXPECT_EQ(wc.wr_id, next_send++);
    } else if (wc.wr_id == 1) {
      EXPECT_EQ(ntohl(wc.imm_data), 77U);
    }
  }
  EXPECT_EQ(read(kExtendedIn + kGrh, 3), "abc");
  EXPECT_EQ(read(kExtendedIn + 128 + kGrh, 2), "df");
  EXPECT_EQ(read(kExtendedIn + 256 + kGrh, 6), "inline");
  EXPECT_EQ(read(kExtendedIn + 384 + kGrh, 6), "onetwo");
}

TEST_F(Extended, AListWithAMistakeInItPostsNothing) {
  const QueuePair from = make_qp_ex();
  const QueuePair to = make_qp();
  const Ah ah = make_ah();
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(from.get());
  std::string text = "x";
  const auto send_one = [&] {
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, ah.get(), to->qp_num, kQKey);
    ibv_wr_set_inline_data(qp, text.data(), text.size());
  };
  ibv_wr_start(qp);
  send_one();
  ibv_wr_rdma_write(qp, 1, 2);  // not an operation of datagrams
  EXPECT_EQ(ibv_wr_complete(qp), EOPNOTSUPP);
  ibv_wr_start(qp);
  send_one();
  std::string long_text(65, 'x');  // one byte more than max_inline_data
  ibv_wr_set_inline_data(qp, long_text.data(), long_text.size());
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
  ibv_wr_start(qp);
  send_one();
  ibv_wr_abort(qp);

  // Only what comes now is posted.
  ibv_wr_start(qp);
  qp->wr_id = 99;
  send_one();
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(wait_for(1).front().wr_id, 99U);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(cq_.get(), 1, &wc), 0);
}

TEST_F(Extended, QueuePairIsExtendedOnlyForThoseWhoAsked) {
  ibv_qp_init_attr_ex attributes = attributes_ex();
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  const QueuePair plain(ibv_create_qp_ex(context_.get(), &attributes));
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(ibv_qp_to_qp_ex(plain.get()), nullptr);

  attributes = attributes_ex();
  attributes.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attributes = attributes_ex();
  attributes.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
  attributes.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Extended, OneQueueServesBothWaysOfPolling) {
  ibv_cq_init_attr_ex cq_attributes{};
  cq_attributes.cqe = 16;
  cq_attributes.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} |
                           IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                           IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  ibv_cq_ex* cq = ibv_create_cq_ex(context_.get(), &cq_attributes);
  ASSERT_NE(cq, nullptr);
  const Cq owner(ibv_cq_ex_to_cq(cq));
  ibv_qp_init_attr attributes = ud_attributes();
  attributes.recv_cq = owner.get();
  const QueuePair to = make_ready(ibv_create_qp(pd_.get(), &attributes));
  const QueuePair from = make_qp();
  const Ah ah = make_ah();

  ibv_poll_cq_attr poll_attributes{};
  EXPECT_EQ(ibv_start_poll(cq, &poll_attributes), ENOENT);
  for (std::uint64_t i = 0; i < 3; ++i)
    post_receive(to.get(), i, kExtendedIn + i * 128, 128);
  ibv_sge piece = sge(0, 9);
  ibv_send_wr request = send_request(ah.get(), to->qp_num, &piece);
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = htonl(5);
  ibv_send_wr* bad = nullptr;
  timespec wall_before{};
  clock_gettime(CLOCK_REALTIME, &wall_before);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(ibv_post_send(from.get(), &request, &bad), 0);
  wait_for(3);

  while (ibv_start_poll(cq, &poll_attributes) == ENOENT) {
  }
  EXPECT_EQ(cq->wr_id, 0U);
  EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(cq), 9U + kGrh);
  EXPECT_EQ(ntohl(ibv_wc_read_imm_data(cq)), 5U);
  EXPECT_EQ(ibv_wc_read_qp_num(cq), to->qp_num);
  EXPECT_EQ(ibv_wc_read_src_qp(cq), from->qp_num);
  EXPECT_EQ(ibv_wc_read_wc_flags(cq), static_cast<unsigned>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  EXPECT_EQ(ibv_wc_read_vendor_err(cq), 0U);
  EXPECT_EQ(ibv_wc_read_slid(cq), 0U);
  const std::uint64_t first = ibv_wc_read_completion_ts(cq);
  EXPECT_GE(ibv_wc_read_completion_wallclock_ns(cq),
            static_cast<std::uint64_t>(wall_before.tv_sec) * 1'000'000'000U);
  while (ibv_next_poll(cq) == ENOENT) {
  }
  EXPECT_EQ(cq->wr_id, 1U);
  EXPECT_GE(ibv_wc_read_completion_ts(cq), first);
  ibv_values_ex now{};
  now.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  ASSERT_EQ(ibv_query_rt_values_ex(context_.get(), &now), 0);
  EXPECT_GE(static_cast<std::uint64_t>(now.raw_clock.tv_nsec), ibv_wc_read_completion_ts(cq));
  ibv_end_poll(cq);

  ibv_wc wc{};
  while (ibv_poll_cq(owner.get(), 1, &wc) == 0) {
  }
  EXPECT_EQ(wc.wr_id, 2U);
}

TEST_F(Extended, FieldsThatDatagramsOverEthernetDoNotHaveAreRefusedAtCreation) {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 16;
  attributes.wc_flags = IBV_WC_EX_WITH_CVLAN;
  EXPECT_EQ(ibv_create_cq_ex(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace weft::verbs_test

// SPDX-License-Identifier: Apache-2.0
// How a connection fails: the status that a request completes with, what is flushed, what events
// come.
#include "connected_fixture.h"

namespace weft::verbs_test {
namespace {

class ConnectionErrors : public Connected {
 protected:
  static ibv_qp_state state_of(ibv_qp* qp) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init), 0);
    return attributes.qp_state;
  }
  // Waits for the error of the first request and for the flush of the second.
  void expect_failure(ibv_qp* qp, ibv_send_wr request, ibv_wc_status status) {
    request.wr_id = 1;
    post(qp, request);
    request.wr_id = 2;
    post(qp, request);
    const auto all = wait_for(2);
    EXPECT_EQ(all[0].wr_id, 1U);
    EXPECT_EQ(all[0].status, status) << ibv_wc_status_str(all[0].status);
    EXPECT_EQ(all[1].wr_id, 2U);
    EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR) << ibv_wc_status_str(all[1].status);
    EXPECT_EQ(state_of(qp), IBV_QPS_ERR);
  }
};

TEST_F(ConnectionErrors, MovingToErrorFlushesBothQueues) {
  const Pair pair = make_pair();
  post_receive(pair.from.get(), 1, 0, 100);
  post_receive(pair.from.get(), 2, 0, 100);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair.from.get(), &attributes, IBV_QP_STATE), 0);
  ibv_sge piece = sge(0, 4);
  post(pair.from.get(), request(IBV_WR_SEND, &piece));
  for (const ibv_wc& wc : wait_for(3)) {
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(wc.qp_num, pair.from->qp_num);
  }
}

TEST_F(ConnectionErrors, AKeyWithoutTheRightIsARemoteAccessErrorOnBothSides) {
  const Pair pair = make_pair();
  const Mr readable(
      ibv_reg_mr_iova2(pd_.get(), buffer_.data(), buffer_.size(), base(), IBV_ACCESS_REMOTE_READ));
  ibv_sge piece = sge(0, 4);
  ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE, &piece);
  writing.wr.rdma.rkey = readable->rkey;
  write(kRemote, "kept");
  expect_failure(pair.from.get(), writing, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(read(kRemote, 4), "kept");
  EXPECT_EQ(event_of(IBV_EVENT_QP_ACCESS_ERR).element.qp, pair.to.get());
}

TEST_F(ConnectionErrors, AMessageThatDoesNotFitIsInvalidForOneAndTooLongForTheOther) {
  const Pair pair = make_pair();
  post_receive(pair.to.get(), 7, kRemote, 10);
  ibv_sge piece = sge(0, 11);
  post(pair.from.get(), request(IBV_WR_SEND, &piece));
  for (const ibv_wc& wc : wait_for(2)) {
    if (wc.qp_num == pair.to->qp_num) {
      EXPECT_EQ(wc.wr_id, 7U);
      EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR) << ibv_wc_status_str(wc.status);
    } else {
      EXPECT_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(wc.status);
    }
  }
}

TEST_F(ConnectionErrors, ALocalKeyThatIsNoneFailsWhenItsTurnComes) {
  const Pair pair = make_pair();
  ibv_sge piece = sge(0, 4);
  piece.lkey ^= 0x5A5A;
  expect_failure(pair.from.get(), rdma(IBV_WR_RDMA_WRITE, &piece), IBV_WC_LOC_PROT_ERR);
}

TEST_F(ConnectionErrors, AReceiverThatStaysUnpreparedEndsInRnrRetryExceeded) {
  ibv_qp_init_attr attributes = attributes_of(IBV_QPT_RC);
  const QueuePair from(ibv_create_qp(pd_.get(), &attributes));
  const QueuePair to(ibv_create_qp(pd_.get(), &attributes));
  ibv_qp_attr connecting = connection(to->qp_num);
  connecting.rnr_retry = 1;
  bring_up(from.get(), connecting);
  bring_up(to.get(), connection(from->qp_num));
  ibv_sge piece = sge(0, 4);
  expect_failure(from.get(), request(IBV_WR_SEND, &piece), IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(ConnectionErrors, AReceiveThatComesLateIsInTime) {
  const Pair pair = make_pair();  // rnr_retry 7: for ever
  ibv_sge piece = sge(0, 4);
  post(pair.from.get(), request(IBV_WR_SEND, &piece));
  ibv_wc wc{};
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(ibv_poll_cq(cq_.get(), 1, &wc), 0);
  post_receive(pair.to.get(), 3, kRemote, 4);
  for (const ibv_wc& done : wait_for(2))
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
}

TEST_F(ConnectionErrors, APeerThatIsGoneEndsInRetryExceeded) {
  Pair pair = make_pair();
  ibv_qp_init_attr attributes = attributes_of(IBV_QPT_RC);
  const QueuePair from(ibv_create_qp(pd_.get(), &attributes));
  ibv_qp_attr connecting = connection(pair.to->qp_num);
  connecting.timeout = 8;  // 1 ms
  connecting.retry_cnt = 1;
  bring_up(from.get(), connecting);
  pair.to.reset();
  ibv_sge piece = sge(0, 4);
  expect_failure(from.get(), rdma(IBV_WR_RDMA_WRITE, &piece), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(ConnectionErrors, ResetMakesAFailedQueuePairUsableAgain) {
  const Pair pair = make_pair();
  ibv_sge piece = sge(0, 4);
  ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE, &piece);
  writing.wr.rdma.rkey ^= 0x5A5A;
  expect_failure(pair.from.get(), writing, IBV_WC_REM_ACCESS_ERR);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  for (ibv_qp* qp : {pair.from.get(), pair.to.get()})
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
  bring_up(pair.from.get(), connection(pair.to->qp_num));
  bring_up(pair.to.get(), connection(pair.from->qp_num));
  post(pair.from.get(), rdma(IBV_WR_RDMA_WRITE, &piece));
  EXPECT_EQ(wait_for_one().status, IBV_WC_SUCCESS);
}

TEST_F(ConnectionErrors, WhatMakesNoSenseIsRefusedWhenPosted) {
  const Pair pair = make_pair();
  ibv_sge piece = sge(0, 8);
  ibv_send_wr* bad = nullptr;
  ibv_send_wr wrong = rdma(IBV_WR_RDMA_WRITE, &piece);
  wrong.num_sge = 5;
  EXPECT_EQ(ibv_post_send(pair.from.get(), &wrong, &bad), EINVAL);
  wrong = request(IBV_WR_ATOMIC_WRITE, &piece);
  EXPECT_EQ(ibv_post_send(pair.from.get(), &wrong, &bad), EINVAL);
  wrong = request(IBV_WR_SEND, &piece);
  wrong.send_flags |= IBV_SEND_IP_CSUM;
  EXPECT_EQ(ibv_post_send(pair.from.get(), &wrong, &bad), EINVAL);
  wrong = request(IBV_WR_BIND_MW, nullptr);
  EXPECT_EQ(ibv_post_send(pair.from.get(), &wrong, &bad), EINVAL);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(cq_.get(), 1, &wc), 0);
}

}  // namespace
}  // namespace weft::verbs_test

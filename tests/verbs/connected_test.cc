// SPDX-License-Identifier: Apache-2.0
// What travels over a connection, operation by operation, and what a queue pair says about itself.
#include "connected_fixture.h"

namespace weft::verbs_test {
namespace {

using Connection = Connected;

TEST_F(Connection, MessagesOfManyPacketsArriveInOrderWithTheirImmediates) {
  const Pair pair = make_pair();
  const std::string text(5000, 'x');
  write(0, text);
  write(0, "first");
  post_receive(pair.to.get(), 1, kRemote, 6000);
  post_receive(pair.to.get(), 2, kRemote + 6000, 100);
  ibv_sge piece = sge(0, 5000);
  post(pair.from.get(), request(IBV_WR_SEND, &piece));
  ibv_sge small = sge(0, 5);
  ibv_send_wr with_immediate = request(IBV_WR_SEND_WITH_IMM, &small);
  with_immediate.imm_data = htonl(77);
  post(pair.from.get(), with_immediate);

  std::uint64_t next_receive = 1;
  for (const ibv_wc& wc : wait_for(4)) {
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    if (wc.opcode == IBV_WC_SEND) {
      EXPECT_EQ(wc.qp_num, pair.from->qp_num);
      continue;
    }
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.qp_num, pair.to->qp_num);
    EXPECT_EQ(wc.wr_id, next_receive);
    EXPECT_EQ(wc.byte_len, next_receive == 1 ? 5000U : 5U);
    EXPECT_EQ(wc.wc_flags & IBV_WC_GRH, 0U) << "connections have no network header in the buffer";
    EXPECT_EQ(wc.wc_flags & IBV_WC_WITH_IMM, next_receive == 1 ? 0U : unsigned{IBV_WC_WITH_IMM});
    if (next_receive == 2) {
      EXPECT_EQ(ntohl(wc.imm_data), 77U);
    }
    ++next_receive;
  }
  EXPECT_EQ(read(kRemote, 5000), read(0, 5000));
  EXPECT_EQ(read(kRemote + 6000, 5), "first");
}

TEST_F(Connection, WritesAndReadsMoveMemoryWithoutTheOtherSide) {
  const Pair pair = make_pair();
  write(0, "written from afar");
  ibv_sge piece = sge(0, 17);
  post(pair.from.get(), rdma(IBV_WR_RDMA_WRITE, &piece));
  const ibv_wc written = wait_for_one();
  EXPECT_EQ(written.status, IBV_WC_SUCCESS);
  EXPECT_EQ(written.opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(read(kRemote, 17), "written from afar");

  write(kRemote + 100, "read from afar");
  ibv_sge target = sge(200, 14);
  ibv_send_wr reading = rdma(IBV_WR_RDMA_READ, &target, 100);
  reading.send_flags |= IBV_SEND_FENCE;
  post(pair.from.get(), reading);
  const ibv_wc got = wait_for_one();
  EXPECT_EQ(got.status, IBV_WC_SUCCESS);
  EXPECT_EQ(got.opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(read(200, 14), "read from afar");
}

TEST_F(Connection, AWriteWithImmediateTakesAReceiveAndTellsItsLength) {
  const Pair pair = make_pair();
  post_receive(pair.to.get(), 5, 0, 0);
  write(0, "data");
  ibv_sge piece = sge(0, 4);
  ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, &piece);
  writing.imm_data = htonl(9);
  post(pair.from.get(), writing);
  const auto all = wait_for(2);
  const ibv_wc& receive = of_opcode(all, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(receive.wr_id, 5U);
  EXPECT_EQ(receive.byte_len, 4U);
  EXPECT_EQ(receive.wc_flags, unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ntohl(receive.imm_data), 9U);
  EXPECT_EQ(read(kRemote, 4), "data");
}

TEST_F(Connection, AtomicsReturnWhatWasThereBefore) {
  const Pair pair = make_pair();
  std::uint64_t value = 40;
  std::memcpy(buffer_.data() + kRemote, &value, sizeof value);
  ibv_sge result = sge(0, 8);
  ibv_send_wr atomic = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &result);
  atomic.wr.atomic = {remote(), 2, 0, remote_mr_->rkey};
  post(pair.from.get(), atomic);
  const ibv_wc added = wait_for_one();
  EXPECT_EQ(added.status, IBV_WC_SUCCESS);
  EXPECT_EQ(added.opcode, IBV_WC_FETCH_ADD);
  std::memcpy(&value, buffer_.data(), sizeof value);
  EXPECT_EQ(value, 40U);

  atomic.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  atomic.wr.atomic = {remote(), 42, 7, remote_mr_->rkey};
  post(pair.from.get(), atomic);
  EXPECT_EQ(wait_for_one().opcode, IBV_WC_COMP_SWAP);
  std::memcpy(&value, buffer_.data(), sizeof value);
  EXPECT_EQ(value, 42U);
  std::memcpy(&value, buffer_.data() + kRemote, sizeof value);
  EXPECT_EQ(value, 7U);
}

TEST_F(Connection, InlineDataIsTakenAtOnceAndUnsignaledRequestsSaySoByTheNext) {
  const Pair pair = make_pair();
  std::string text = "inline";
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(text.data()), 6, 0};
  ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE, &piece);
  writing.send_flags = IBV_SEND_INLINE;
  post(pair.from.get(), writing);
  text.assign(6, '-');
  writing.wr.rdma.remote_addr += 6;
  writing.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  writing.wr_id = 2;
  post(pair.from.get(), writing);
  EXPECT_EQ(wait_for_one().wr_id, 2U);
  EXPECT_EQ(read(kRemote, 12), "inline------");
}

TEST_F(Connection, UnreliableConnectionsSendAndWriteAndRefuseReads) {
  const Pair pair = make_pair(IBV_QPT_UC);
  post_receive(pair.to.get(), 1, kRemote, 3000);
  write(0, "unreliable");
  ibv_sge piece = sge(0, 2500);
  post(pair.from.get(), request(IBV_WR_SEND, &piece));
  for (const ibv_wc& wc : wait_for(2))
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(read(kRemote, 10), "unreliable");
  ibv_send_wr reading = rdma(IBV_WR_RDMA_READ, &piece);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(pair.from.get(), &reading, &bad), EINVAL);
  EXPECT_EQ(bad, &reading);
}

TEST_F(Connection, QueryGivesBackEveryAttribute) {
  ibv_qp_init_attr attributes = attributes_of(IBV_QPT_RC);
  const QueuePair qp(ibv_create_qp(pd_.get(), &attributes));
  ibv_qp_attr given = connection(0xABCDEF);
  given.ah_attr.grh.flow_label = 0x12345;
  given.ah_attr.grh.hop_limit = 17;
  given.ah_attr.grh.traffic_class = 8;
  given.ah_attr.sl = 3;
  bring_up(qp.get(), given);
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &now, 0, &init), 0);
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(now.path_mtu, given.path_mtu);
  EXPECT_EQ(now.dest_qp_num, given.dest_qp_num);
  EXPECT_EQ(now.rq_psn, given.rq_psn);
  EXPECT_EQ(now.sq_psn, given.sq_psn);
  EXPECT_EQ(now.qp_access_flags, given.qp_access_flags);
  EXPECT_EQ(now.max_rd_atomic, given.max_rd_atomic);
  EXPECT_EQ(now.max_dest_rd_atomic, given.max_dest_rd_atomic);
  EXPECT_EQ(now.min_rnr_timer, given.min_rnr_timer);
  EXPECT_EQ(now.timeout, given.timeout);
  EXPECT_EQ(now.retry_cnt, given.retry_cnt);
  EXPECT_EQ(now.rnr_retry, given.rnr_retry);
  EXPECT_EQ(now.port_num, 1);
  EXPECT_EQ(now.path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(now.ah_attr.is_global, 1);
  EXPECT_EQ(now.ah_attr.port_num, 1);
  EXPECT_EQ(now.ah_attr.sl, 3);
  EXPECT_EQ(now.ah_attr.grh.flow_label, 0x12345U);
  EXPECT_EQ(now.ah_attr.grh.hop_limit, 17);
  EXPECT_EQ(now.ah_attr.grh.traffic_class, 8);
  EXPECT_EQ(std::memcmp(&now.ah_attr.grh.dgid, &given.ah_attr.grh.dgid, 16), 0);
  EXPECT_EQ(init.qp_type, IBV_QPT_RC);
  EXPECT_EQ(init.cap.max_inline_data, 64U);
}

TEST_F(Connection, AttributesThatNameNothingAreRefused) {
  ibv_qp_init_attr attributes = attributes_of(IBV_QPT_RC);
  const QueuePair qp(ibv_create_qp(pd_.get(), &attributes));
  ibv_qp_attr wrong = connection(1);
  wrong.qp_access_flags |= 1U << 15;
  EXPECT_EQ(to_init(qp.get(), wrong), EINVAL);
  ASSERT_EQ(to_init(qp.get(), connection(1)), 0);

  wrong = connection(1);
  wrong.ah_attr.is_global = 0;
  EXPECT_EQ(to_rtr(qp.get(), wrong), EINVAL);
  wrong = connection(1);
  wrong.ah_attr.port_num = 2;
  EXPECT_EQ(to_rtr(qp.get(), wrong), EINVAL);
  wrong = connection(1);
  wrong.ah_attr.grh.sgid_index = 200;
  EXPECT_EQ(to_rtr(qp.get(), wrong), EINVAL);
  wrong = connection(1);
  wrong.path_mtu = static_cast<ibv_mtu>(6);
  EXPECT_EQ(to_rtr(qp.get(), wrong), EINVAL);
  EXPECT_EQ(to_rtr(qp.get(), connection(1 << 24)), EINVAL);
  EXPECT_EQ(qp->state, IBV_QPS_INIT);
  EXPECT_EQ(to_rtr(qp.get(), connection(1)), 0);
}

TEST_F(Connection, TheSendQueueDrainsAndSaysSo) {
  const Pair pair = make_pair();
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.en_sqd_async_notify = 1;
  ASSERT_EQ(ibv_modify_qp(pair.from.get(), &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
            0);
  EXPECT_EQ(event_of(IBV_EVENT_SQ_DRAINED).element.qp, pair.from.get());
  ibv_sge piece = sge(0, 4);
  post(pair.from.get(), rdma(IBV_WR_RDMA_WRITE, &piece));
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(cq_.get(), 1, &wc), 0);
  attributes.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ibv_modify_qp(pair.from.get(), &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(wait_for_one().status, IBV_WC_SUCCESS);
}

TEST_F(Connection, EnhancedConnectionEstablishmentOffersNothing) {
  const Pair pair = make_pair();
  ibv_ece ece{1, 2, 3};
  EXPECT_EQ(ibv_query_ece(pair.from.get(), &ece), EOPNOTSUPP);
  EXPECT_EQ(ece.vendor_id, 0U);
  EXPECT_EQ(ece.options, 0U);
  EXPECT_EQ(ibv_set_ece(pair.from.get(), &ece), 0);
  ece.vendor_id = 0x15b3;
  EXPECT_EQ(ibv_set_ece(pair.from.get(), &ece), EOPNOTSUPP);
}

}  // namespace
}  // namespace weft::verbs_test

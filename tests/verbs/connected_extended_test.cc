// SPDX-License-Identifier: Apache-2.0
// Connections through the extended interfaces: ibv_qp_ex and ibv_cq_ex.
#include "connected_fixture.h"

namespace weft::verbs_test {
namespace {

class ConnectedExtended : public Connected {
 protected:
  static constexpr std::uint64_t kEverything =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
      IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
      IBV_QP_EX_WITH_SEND_WITH_INV;

  ibv_qp* create(ibv_qp_type type, std::uint64_t operations) {
    const ibv_qp_init_attr plain = attributes_of(type);
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = plain.send_cq;
    attributes.recv_cq = plain.recv_cq;
    attributes.cap = plain.cap;
    attributes.qp_type = type;
    attributes.pd = pd_.get();
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.send_ops_flags = operations;
    return ibv_create_qp_ex(context_.get(), &attributes);
  }
  Pair make_extended_pair(std::uint64_t operations = kEverything) {
    Pair pair{QueuePair(create(IBV_QPT_RC, operations)), QueuePair(create(IBV_QPT_RC, operations))};
    bring_up(pair.from.get(), connection(pair.to->qp_num));
    bring_up(pair.to.get(), connection(pair.from->qp_num));
    return pair;
  }
  // Describes the data of the request that was opened last.
  void set_sge(ibv_qp_ex* qp, std::size_t offset, std::uint32_t length) {
    ibv_wr_set_sge(qp, mr_->lkey, base() + offset, length);
  }
};

TEST_F(ConnectedExtended, EveryOperationGoesInOneList) {
  const Pair pair = make_extended_pair();
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pair.from.get());
  write(0, "send write imm");
  write(kRemote + 64, "read");
  const std::uint64_t counter = 5;
  std::memcpy(buffer_.data() + kRemote + 128, &counter, sizeof counter);
  for (std::uint64_t id = 0; id < 3; ++id)
    post_receive(pair.to.get(), id, kRemote + 256 + id * 64, 64);

  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  std::uint64_t id = 10;
  const auto next = [&] { qp->wr_id = id++; };
  next();
  ibv_wr_send(qp);
  set_sge(qp, 0, 4);
  next();
  ibv_wr_send_imm(qp, htonl(1));
  set_sge(qp, 0, 4);
  next();
  ibv_wr_rdma_write(qp, remote_mr_->rkey, remote());
  set_sge(qp, 5, 5);
  next();
  ibv_wr_rdma_write_imm(qp, remote_mr_->rkey, remote(16), htonl(2));
  set_sge(qp, 11, 3);
  next();
  ibv_wr_rdma_read(qp, remote_mr_->rkey, remote(64));
  set_sge(qp, 1024, 4);
  next();
  ibv_wr_atomic_fetch_add(qp, remote_mr_->rkey, remote(128), 3);
  set_sge(qp, 1032, 8);
  next();
  ibv_wr_atomic_cmp_swp(qp, remote_mr_->rkey, remote(128), 8, 99);
  set_sge(qp, 1040, 8);
  ASSERT_EQ(ibv_wr_complete(qp), 0);

  constexpr ibv_wc_opcode kOpcodes[]{IBV_WC_SEND,       IBV_WC_SEND,      IBV_WC_RDMA_WRITE,
                                     IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ, IBV_WC_FETCH_ADD,
                                     IBV_WC_COMP_SWAP};
  std::uint64_t sent = 10;
  for (const ibv_wc& wc : wait_for(10)) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    if ((wc.opcode & IBV_WC_RECV) != 0) continue;
    EXPECT_EQ(wc.wr_id, sent);
    EXPECT_EQ(wc.opcode, kOpcodes[sent - 10]);
    ++sent;
  }
  EXPECT_EQ(read(kRemote, 5), "write");
  EXPECT_EQ(read(kRemote + 16, 3), "imm");
  EXPECT_EQ(read(1024, 4), "read");
  std::array<std::uint64_t, 2> before{};
  std::memcpy(before.data(), buffer_.data() + 1032, sizeof before);
  EXPECT_EQ(before[0], 5U);
  EXPECT_EQ(before[1], 8U);
}

TEST_F(ConnectedExtended, WindowsAreBoundAndInvalidatedInAList) {
  const Pair pair = make_extended_pair();
  const Mw window(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_2));
  const std::uint32_t key = ibv_inc_rkey(window->rkey);
  ibv_qp_ex* const owner = ibv_qp_to_qp_ex(pair.to.get());
  const ibv_mw_bind_info info{remote_mr_.get(), remote(), 64, IBV_ACCESS_REMOTE_WRITE};
  ibv_wr_start(owner);
  owner->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_bind_mw(owner, window.get(), key, &info);
  ASSERT_EQ(ibv_wr_complete(owner), 0);
  EXPECT_EQ(wait_for_one().opcode, IBV_WC_BIND_MW);

  post_receive(pair.to.get(), 1, kRemote + 1024, 64);
  ibv_qp_ex* const peer = ibv_qp_to_qp_ex(pair.from.get());
  ibv_wr_start(peer);
  peer->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write(peer, key, remote());
  set_sge(peer, 0, 4);
  ibv_wr_send_inv(peer, key);
  set_sge(peer, 0, 4);
  ASSERT_EQ(ibv_wr_complete(peer), 0);
  for (const ibv_wc& wc : wait_for(3))
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);

  // It is not bound any more: there is nothing to invalidate.
  ibv_wr_start(owner);
  ibv_wr_local_inv(owner, key);
  ASSERT_EQ(ibv_wr_complete(owner), 0);
  EXPECT_NE(wait_for_one().status, IBV_WC_SUCCESS);
}

TEST_F(ConnectedExtended, AListThatDoesNotFitPostsNothing) {
  const Pair pair = make_extended_pair();
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pair.from.get());
  // Nothing is received, so nothing completes: the queue of 16 fills.
  const auto post_sends = [&](int count) {
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    for (int i = 0; i < count; ++i) {
      ibv_wr_send(qp);
      set_sge(qp, 0, 1);
    }
    return ibv_wr_complete(qp);
  };
  EXPECT_EQ(post_sends(12), 0);
  EXPECT_EQ(post_sends(5), ENOMEM);
  EXPECT_EQ(post_sends(4), 0);
  EXPECT_EQ(post_sends(1), ENOMEM);
  for (std::uint64_t id = 0; id < 16; ++id)
    post_receive(pair.to.get(), id, kRemote, 64);
  EXPECT_EQ(wait_for(32).size(), 32U);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(cq_.get(), 1, &wc), 0);
}

TEST_F(ConnectedExtended, OperationsAreThoseThatWereAskedForAndThatTheTypeHas) {
  const Pair pair = make_extended_pair(IBV_QP_EX_WITH_SEND);
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pair.from.get());
  ibv_wr_start(qp);
  ibv_wr_rdma_write(qp, remote_mr_->rkey, remote());
  set_sge(qp, 0, 4);
  EXPECT_EQ(ibv_wr_complete(qp), EOPNOTSUPP);

  for (const auto& [type, operation] : {std::pair{IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE},
                                        {IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ},
                                        {IBV_QPT_UC, IBV_QP_EX_WITH_SEND_WITH_INV},
                                        {IBV_QPT_RC, IBV_QP_EX_WITH_TSO},
                                        {IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE}}) {
    errno = 0;
    EXPECT_EQ(create(type, operation), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
}

TEST_F(ConnectedExtended, ExtendedPollingReadsWhatConnectionsComplete) {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 16;
  attributes.wc_flags = IBV_WC_STANDARD_FLAGS;
  ibv_cq_ex* const cq = ibv_create_cq_ex(context_.get(), &attributes);
  ASSERT_NE(cq, nullptr);
  const Cq owner(ibv_cq_ex_to_cq(cq));
  ibv_qp_init_attr init = attributes_of(IBV_QPT_RC);
  init.recv_cq = owner.get();
  const Pair pair = make_pair(init);
  post_receive(pair.to.get(), 5, 0, 0);
  ibv_sge piece = sge(0, 7);
  ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE_WITH_IMM, &piece);
  writing.imm_data = htonl(3);
  post(pair.from.get(), writing);
  EXPECT_EQ(wait_for_one().opcode, IBV_WC_RDMA_WRITE);
  ibv_poll_cq_attr poll{};
  while (ibv_start_poll(cq, &poll) == ENOENT) {
  }
  EXPECT_EQ(cq->wr_id, 5U);
  EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(ibv_wc_read_byte_len(cq), 7U);
  EXPECT_EQ(ntohl(ibv_wc_read_imm_data(cq)), 3U);
  EXPECT_EQ(ibv_wc_read_wc_flags(cq), unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ibv_wc_read_qp_num(cq), pair.to->qp_num);
  ibv_end_poll(cq);
}

}  // namespace
}  // namespace weft::verbs_test

// SPDX-License-Identifier: Apache-2.0
// Two connected queue pairs of one process, over loopback.
#pragma once

#include <poll.h>

#include "verbs_fixture.h"

namespace weft::verbs_test {

using Srq = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;
using Mw = std::unique_ptr<ibv_mw, Destroyer<ibv_dealloc_mw>>;
using Xrcd = std::unique_ptr<ibv_xrcd, Destroyer<ibv_close_xrcd>>;

inline constexpr unsigned kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                       unsigned{IBV_ACCESS_MW_BIND};
inline constexpr unsigned kPeerRights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | unsigned{IBV_ACCESS_REMOTE_ATOMIC};

class Connected : public Loopback {
 protected:
  static constexpr std::size_t kRemote = 8192;  // where the peer's half of the buffer begins

  void SetUp() override {
    Loopback::SetUp();
    remote_mr_.reset(
        ibv_reg_mr_iova2(pd_.get(), buffer_.data(), buffer_.size(), base(), kAllRights));
    ASSERT_NE(remote_mr_, nullptr);
  }

  [[nodiscard]] std::uint64_t base() const {
    return reinterpret_cast<std::uintptr_t>(buffer_.data());
  }
  [[nodiscard]] std::uint64_t remote(std::size_t offset = 0) const {
    return base() + kRemote + offset;
  }

  [[nodiscard]] ibv_qp_init_attr attributes_of(ibv_qp_type type) const {
    ibv_qp_init_attr attributes = ud_attributes();
    attributes.qp_type = type;
    return attributes;
  }

  // What every transition of this fixture carries; tests change what they are about.
  ibv_qp_attr connection(std::uint32_t peer) {
    ibv_qp_attr attributes{};
    attributes.port_num = 1;
    attributes.qp_access_flags = kPeerRights;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.rq_psn = 0x123456;
    attributes.sq_psn = 0x123456;
    attributes.max_rd_atomic = 4;
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 12;
    attributes.timeout = 14;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    EXPECT_EQ(ibv_query_gid(context_.get(), 1, 0, &attributes.ah_attr.grh.dgid), 0);
    return attributes;
  }
  static bool is_reliable(const ibv_qp* qp) { return qp->qp_type != IBV_QPT_UC; }
  static int to_init(ibv_qp* qp, ibv_qp_attr attributes) {
    attributes.qp_state = IBV_QPS_INIT;
    return ibv_modify_qp(qp, &attributes,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  }
  static int to_rtr(ibv_qp* qp, ibv_qp_attr attributes) {
    attributes.qp_state = IBV_QPS_RTR;
    int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (is_reliable(qp) && qp->qp_type != IBV_QPT_XRC_SEND) {
      mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return ibv_modify_qp(qp, &attributes, mask);
  }
  static int to_rts(ibv_qp* qp, ibv_qp_attr attributes) {
    attributes.qp_state = IBV_QPS_RTS;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (is_reliable(qp)) mask |= IBV_QP_TIMEOUT;
    if (is_reliable(qp) && qp->qp_type != IBV_QPT_XRC_RECV) {
      mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return ibv_modify_qp(qp, &attributes, mask);
  }
  static void bring_up(ibv_qp* qp, const ibv_qp_attr& attributes) {
    ASSERT_EQ(to_init(qp, attributes), 0);
    ASSERT_EQ(to_rtr(qp, attributes), 0);
    ASSERT_EQ(to_rts(qp, attributes), 0);
  }

  struct Pair {
    QueuePair from;
    QueuePair to;
  };
  Pair make_pair(ibv_qp_init_attr attributes) {
    Pair pair{QueuePair(ibv_create_qp(pd_.get(), &attributes)),
              QueuePair(ibv_create_qp(pd_.get(), &attributes))};
    EXPECT_NE(pair.from, nullptr);
    EXPECT_NE(pair.to, nullptr);
    bring_up(pair.from.get(), connection(pair.to->qp_num));
    bring_up(pair.to.get(), connection(pair.from->qp_num));
    return pair;
  }
  Pair make_pair(ibv_qp_type type = IBV_QPT_RC) { return make_pair(attributes_of(type)); }

  static ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge* piece) {
    ibv_send_wr request{};
    request.wr_id = 1000U + opcode;
    request.sg_list = piece;
    request.num_sge = piece != nullptr ? 1 : 0;
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    return request;
  }
  ibv_send_wr rdma(ibv_wr_opcode opcode, ibv_sge* piece, std::size_t remote_offset = 0) {
    ibv_send_wr out = request(opcode, piece);
    out.wr.rdma = {remote(remote_offset), remote_mr_->rkey};
    return out;
  }
  static void post(ibv_qp* qp, ibv_send_wr request) {
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(qp, &request, &bad), 0) << "opcode " << request.opcode;
  }
  ibv_wc wait_for_one() { return wait_for(1).front(); }

  // The next asynchronous event, waiting for it; acknowledged.
  ibv_async_event next_event() {
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(context_.get(), &event), 0);
    ibv_ack_async_event(&event);
    return event;
  }
  // As next_event(), leaving out those of another type.
  ibv_async_event event_of(ibv_event_type type) {
    ibv_async_event event = next_event();
    while (event.event_type != type)
      event = next_event();
    return event;
  }
  [[nodiscard]] bool has_event() const {
    pollfd waiting{context_->async_fd, POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }

  Mr remote_mr_;  // all of buffer_, with all rights
};

}  // namespace weft::verbs_test

// SPDX-License-Identifier: Apache-2.0
// Queue pairs: creation, attributes, multicast groups.
#include "verbs/queue_pair.h"

#include <algorithm>

#include "hca/qp_state.h"
#include "verbs/context_operations.h"
#include "verbs/gid_bytes.h"
#include "verbs/guard.h"

namespace weft::verbs {
namespace {

constexpr std::uint64_t kSendOperations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

// Which of hca's attributes stand for which bits of a modify.
constexpr struct {
  unsigned abi;
  hca::QpAttr core;
} kAttributes[]{
    {IBV_QP_STATE, hca::kAttrState},
    {IBV_QP_CUR_STATE, hca::kAttrCurrentState},
    {IBV_QP_EN_SQD_ASYNC_NOTIFY, hca::kAttrSqdNotify},
    {IBV_QP_ACCESS_FLAGS, hca::kAttrAccess},
    {IBV_QP_PKEY_INDEX, hca::kAttrPKeyIndex},
    {IBV_QP_PORT, hca::kAttrPort},
    {IBV_QP_QKEY, hca::kAttrQKey},
    {IBV_QP_SQ_PSN, hca::kAttrSqPsn},
};

std::uint32_t core_mask(unsigned mask) {
  std::uint32_t out = 0;
  for (const auto& [abi, core] : kAttributes) {
    if ((mask & abi) != 0) out |= core;
    mask &= ~abi;
  }
  if (mask != 0) out |= hca::kAttrOther;
  return out;
}

// The numbers of the states are the same on both sides.
static_assert(static_cast<int>(hca::QpState::kReset) == IBV_QPS_RESET);
static_assert(static_cast<int>(hca::QpState::kInit) == IBV_QPS_INIT);
static_assert(static_cast<int>(hca::QpState::kRtr) == IBV_QPS_RTR);
static_assert(static_cast<int>(hca::QpState::kRts) == IBV_QPS_RTS);
static_assert(static_cast<int>(hca::QpState::kSqd) == IBV_QPS_SQD);
static_assert(static_cast<int>(hca::QpState::kSqe) == IBV_QPS_SQE);
static_assert(static_cast<int>(hca::QpState::kErr) == IBV_QPS_ERR);

bool is_state(ibv_qp_state state) {
  return static_cast<unsigned>(state) <= static_cast<unsigned>(IBV_QPS_ERR);
}

bool within(const ibv_qp_cap& cap, const host::DeviceLimits& limits) {
  return cap.max_send_wr <= limits.max_qp_wr && cap.max_recv_wr <= limits.max_qp_wr &&
         cap.max_send_sge <= limits.max_sge && cap.max_recv_sge <= limits.max_sge &&
         cap.max_inline_data <= limits.max_inline;
}

}  // namespace

std::unique_ptr<Qp> create_queue_pair(ibv_pd* pd, ibv_qp_init_attr& attributes) {
  if (attributes.qp_type != IBV_QPT_UD || attributes.srq != nullptr) return refuse(EOPNOTSUPP);
  if (attributes.send_cq == nullptr || attributes.recv_cq == nullptr) return refuse(EINVAL);
  auto qp = std::make_unique<Qp>();
  qp->host_context = Pd::of(pd).host;
  if (!within(attributes.cap, qp->host_context->limits())) return refuse(EINVAL);

  host::QueuePairConfig config;
  config.pd = pd->handle;
  config.send_queue = Cq::of(attributes.send_cq).host;
  config.receive_queue = Cq::of(attributes.recv_cq).host;
  config.max_sends = attributes.cap.max_send_wr;
  config.max_receives = attributes.cap.max_recv_wr;
  config.max_send_pieces = std::max(attributes.cap.max_send_sge, 1U);
  config.max_receive_pieces = std::max(attributes.cap.max_recv_sge, 1U);
  config.max_inline = attributes.cap.max_inline_data;
  config.signal_all = attributes.sq_sig_all != 0;
  config.user = qp.get();
  auto host = qp->host_context->create_queue_pair(config);
  if (!host) return refuse(host.error());

  attributes.cap.max_send_sge = config.max_send_pieces;
  attributes.cap.max_recv_sge = config.max_receive_pieces;
  qp->host = std::move(*host);
  qp->capabilities = attributes.cap;
  qp->signal_all = config.signal_all;
  ibv_qp& abi = qp->qp_base;
  abi.context = pd->context;
  abi.qp_context = attributes.qp_context;
  abi.pd = pd;
  abi.send_cq = attributes.send_cq;
  abi.recv_cq = attributes.recv_cq;
  abi.qp_num = qp->host->qpn().value();
  abi.handle = abi.qp_num;
  abi.state = IBV_QPS_RESET;
  abi.qp_type = IBV_QPT_UD;
  pthread_mutex_init(&abi.mutex, nullptr);
  pthread_cond_init(&abi.cond, nullptr);
  return qp;
}

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attributes) {
  return guard_pointer([&]() -> ibv_qp* {
    constexpr std::uint32_t kKnown =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    const std::uint32_t mask = attributes->comp_mask;
    if ((mask & ~kKnown) != 0) return refuse(EOPNOTSUPP);
    if ((mask & IBV_QP_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) return refuse(EINVAL);
    if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attributes->create_flags != 0) {
      return refuse(EOPNOTSUPP);
    }
    const bool work_requests = (mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if (work_requests && (attributes->send_ops_flags & ~kSendOperations) != 0) {
      return refuse(EOPNOTSUPP);
    }
    // The extended attributes begin with the plain ones.
    auto& plain = *reinterpret_cast<ibv_qp_init_attr*>(attributes);
    auto qp = create_queue_pair(attributes->pd, plain);
    if (!qp) return nullptr;
    if (work_requests) {
      qp->builder = std::make_unique<WorkBuilder>(std::max(attributes->cap.max_send_wr, 1U),
                                                  attributes->cap.max_inline_data);
      install_work_requests(*qp);
    }
    return &qp.release()->qp_base;
  });
}

}  // namespace weft::verbs

using namespace weft;
using namespace weft::verbs;

// Also called with the extended attributes cast to the plain ones, when they name a PD only.
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  return guard_pointer([&]() -> ibv_qp* {
    auto qp = create_queue_pair(pd, *attributes);
    return qp ? &qp.release()->qp_base : nullptr;
  });
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return Qp::of(qp).builder ? &Qp::of(qp) : nullptr;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int attr_mask) {
  return guard_errno([&] {
    const auto mask = static_cast<unsigned>(attr_mask);
    if (((mask & IBV_QP_STATE) != 0 && !is_state(attributes->qp_state)) ||
        ((mask & IBV_QP_CUR_STATE) != 0 && !is_state(attributes->cur_qp_state))) {
      return report(EINVAL);
    }
    hca::QpAttributes to;
    if ((mask & IBV_QP_STATE) != 0) to.state = static_cast<hca::QpState>(attributes->qp_state);
    if ((mask & IBV_QP_CUR_STATE) != 0) {
      to.current_state = static_cast<hca::QpState>(attributes->cur_qp_state);
    }
    if ((mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0) {
      to.sqd_notify = attributes->en_sqd_async_notify != 0;
    }
    if ((mask & IBV_QP_PKEY_INDEX) != 0) to.pkey_index = attributes->pkey_index;
    if ((mask & IBV_QP_PORT) != 0) to.port = attributes->port_num;
    if ((mask & IBV_QP_QKEY) != 0) to.qkey = QKey{attributes->qkey};
    if ((mask & IBV_QP_SQ_PSN) != 0) to.sq_psn = Psn{attributes->sq_psn};
    if (const auto done = Qp::of(qp).host->modify(to, core_mask(mask)); !done) {
      return report(done.error());
    }
    if ((mask & IBV_QP_STATE) != 0) qp->state = attributes->qp_state;
    return 0;
  });
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  return guard_errno([&] {
    const Qp& pair = Qp::of(qp);
    const hca::QpAttributes now = pair.host->query();
    *attributes = ibv_qp_attr{};
    attributes->qp_state = static_cast<ibv_qp_state>(now.state);
    attributes->cur_qp_state = attributes->qp_state;
    attributes->qkey = now.qkey.value();
    attributes->sq_psn = now.sq_psn.value();
    attributes->pkey_index = now.pkey_index;
    attributes->port_num = now.port;
    attributes->cap = pair.capabilities;
    qp->state = attributes->qp_state;

    *init = ibv_qp_init_attr{};
    init->qp_context = qp->qp_context;
    init->send_cq = qp->send_cq;
    init->recv_cq = qp->recv_cq;
    init->srq = qp->srq;
    init->cap = pair.capabilities;
    init->qp_type = qp->qp_type;
    init->sq_sig_all = pair.signal_all ? 1 : 0;
    return 0;
  });
}

int ibv_destroy_qp(ibv_qp* qp) {
  const std::unique_ptr<Qp> gone(&Qp::of(qp));
  return guard_errno([&] {
    gone->host->destroy();
    pthread_mutex_destroy(&qp->mutex);
    pthread_cond_destroy(&qp->cond);
    return 0;
  });
}

// The LID of the group says nothing on an Ethernet link layer.
int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t) {
  return guard_errno([&] {
    const auto attached = Qp::of(qp).host->attach(gid_of(*gid));
    return attached ? 0 : report(attached.error());
  });
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t) {
  return guard_errno([&] {
    const auto detached = Qp::of(qp).host->detach(gid_of(*gid));
    return detached ? 0 : report(detached.error());
  });
}

// Data of one datagram is written front to back, but that is no promise.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
  return 0;
}

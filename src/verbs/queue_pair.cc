// SPDX-License-Identifier: Apache-2.0
// Queue pairs: creation, attributes, multicast groups.
#include "verbs/queue_pair.h"

#include <algorithm>
#include <optional>

#include "verbs/context_operations.h"
#include "verbs/gid_bytes.h"
#include "verbs/guard.h"
#include "verbs/qp_attributes.h"

namespace weft::verbs {
namespace {

std::optional<hca::QpType> type_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UD:
      return hca::QpType::kUd;
    case IBV_QPT_RC:
      return hca::QpType::kRc;
    case IBV_QPT_UC:
      return hca::QpType::kUc;
    case IBV_QPT_XRC_SEND:
      return hca::QpType::kXrcInitiator;
    case IBV_QPT_RAW_PACKET:
      return hca::QpType::kRaw;
    default:
      return std::nullopt;
  }
}

bool within(const ibv_qp_cap& cap, const host::DeviceLimits& limits) {
  return cap.max_send_wr <= limits.max_qp_wr && cap.max_recv_wr <= limits.max_qp_wr &&
         cap.max_send_sge <= limits.max_sge && cap.max_recv_sge <= limits.max_sge &&
         cap.max_inline_data <= limits.max_inline;
}

// Adapters give some room for inline data unasked, and programs (rdma_xclient) rely on it.
constexpr std::uint32_t kLeastInline = 64;

// What goes to queues that the queue pair does not have of its own is not looked at.
ibv_qp_cap own_capabilities(const ibv_qp_init_attr& attributes) {
  ibv_qp_cap cap = attributes.cap;
  if (attributes.qp_type == IBV_QPT_XRC_SEND || attributes.srq != nullptr) {
    cap.max_recv_wr = 0;
    cap.max_recv_sge = 0;
  } else {
    cap.max_recv_sge = std::max(cap.max_recv_sge, 1U);
  }
  cap.max_send_sge = std::max(cap.max_send_sge, 1U);
  cap.max_inline_data = std::max(cap.max_inline_data, kLeastInline);
  return cap;
}

// Zero, or the errno that says what is wrong.
int check(const ibv_pd& pd, const ibv_qp_init_attr& attributes, const host::DeviceLimits& limits) {
  const bool receives = attributes.qp_type != IBV_QPT_XRC_SEND;
  if (attributes.send_cq == nullptr || (receives && attributes.recv_cq == nullptr)) return EINVAL;
  if (attributes.srq != nullptr) {
    if (!receives || Srq::of(attributes.srq).domain) return EINVAL;
    // IBA 11.2.4.1: a queue pair and its shared receive queue are of one domain.
    if (!same_domain(pd, *attributes.srq->pd)) return EINVAL;
  }
  return within(own_capabilities(attributes), limits) ? 0 : EINVAL;
}

host::QueuePairConfig config_of(const ibv_pd& pd, const ibv_qp_init_attr& attributes,
                                const ibv_qp_cap& cap) {
  host::QueuePairConfig config;
  config.type = *type_of(attributes.qp_type);
  config.pd = pd.handle;
  config.send_queue = Cq::of(attributes.send_cq).host;
  if (attributes.qp_type != IBV_QPT_XRC_SEND) {
    config.receive_queue = Cq::of(attributes.recv_cq).host;
  }
  if (attributes.srq != nullptr) config.srq = Srq::of(attributes.srq).host;
  config.max_sends = cap.max_send_wr;
  config.max_receives = cap.max_recv_wr;
  config.max_send_pieces = cap.max_send_sge;
  config.max_receive_pieces = std::max(cap.max_recv_sge, 1U);
  config.max_inline = cap.max_inline_data;
  config.signal_all = attributes.sq_sig_all != 0;
  return config;
}

}  // namespace

std::unique_ptr<Qp> wrap_queue_pair(ibv_context* context, ibv_qp_type type,
                                    std::shared_ptr<host::QueuePair> host) {
  auto qp = std::make_unique<Qp>();
  qp->host_context = OpenDevice::of(context).host;
  qp->host = std::move(host);
  ibv_qp& abi = qp->qp_base;
  abi.context = context;
  abi.state = IBV_QPS_RESET;
  abi.qp_type = type;
  pthread_mutex_init(&abi.mutex, nullptr);
  pthread_cond_init(&abi.cond, nullptr);
  return qp;
}

std::unique_ptr<Qp> create_queue_pair(ibv_pd* pd, ibv_qp_init_attr& attributes) {
  if (!type_of(attributes.qp_type)) return refuse(EOPNOTSUPP);
  auto& context = *Pd::of(pd).host;
  if (const int error = check(*pd, attributes, context.limits())) return refuse(error);
  auto qp = wrap_queue_pair(pd->context, attributes.qp_type, nullptr);
  qp->capabilities = own_capabilities(attributes);
  host::QueuePairConfig config = config_of(*pd, attributes, qp->capabilities);
  config.user = qp.get();
  auto host = context.create_queue_pair(config);
  if (!host) return refuse(host.error());

  attributes.cap = qp->capabilities;
  qp->host = std::move(*host);
  qp->signal_all = config.signal_all;
  ibv_qp& abi = qp->qp_base;
  abi.qp_context = attributes.qp_context;
  abi.pd = pd;
  abi.send_cq = attributes.send_cq;
  abi.recv_cq = attributes.recv_cq;
  abi.srq = attributes.srq;
  abi.qp_num = qp->host->qpn().value();
  abi.handle = abi.qp_num;
  return qp;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  return guard_pointer([&]() -> ibv_qp* {
    constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                     IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                     unsigned{IBV_QP_INIT_ATTR_SEND_OPS_FLAGS};
    const std::uint32_t mask = attributes->comp_mask;
    if ((mask & ~kKnown) != 0) return refuse(EOPNOTSUPP);
    // Whole packets have their VCRC in any case.
    const std::uint32_t known_flags =
        attributes->qp_type == IBV_QPT_RAW_PACKET ? IBV_QP_CREATE_SCATTER_FCS : 0;
    if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 &&
        (attributes->create_flags & ~known_flags) != 0) {
      return refuse(EOPNOTSUPP);
    }
    const bool has_domain = (mask & IBV_QP_INIT_ATTR_XRCD) != 0;
    if (has_domain != (attributes->qp_type == IBV_QPT_XRC_RECV)) return refuse(EINVAL);
    if (has_domain) {
      if (attributes->xrcd == nullptr) return refuse(EINVAL);
      auto qp = create_xrc_target(context, attributes->xrcd);
      if (!qp) return nullptr;
      qp->qp_base.qp_context = attributes->qp_context;
      if ((mask & IBV_QP_INIT_ATTR_PD) != 0) qp->qp_base.pd = attributes->pd;
      return &qp.release()->qp_base;
    }
    if ((mask & IBV_QP_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) return refuse(EINVAL);
    const bool work_requests = (mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if (work_requests &&
        (attributes->send_ops_flags & ~send_operations(attributes->qp_type)) != 0) {
      return refuse(EOPNOTSUPP);
    }
    // The extended attributes begin with the plain ones.
    auto& plain = *reinterpret_cast<ibv_qp_init_attr*>(attributes);
    auto qp = create_queue_pair(attributes->pd, plain);
    if (!qp) return nullptr;
    if (work_requests) {
      qp->builder = std::make_unique<WorkBuilder>(qp->capabilities);
      install_work_requests(*qp, attributes->send_ops_flags);
    }
    return &qp.release()->qp_base;
  });
}

Qp& handle_of(host::QueuePair& queue_pair) {
  if (queue_pair.type() == hca::QpType::kXrcTarget) {
    return *static_cast<XrcTarget*>(queue_pair.user())->events_to.load();
  }
  return *static_cast<Qp*>(queue_pair.user());
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
    Qp& pair = Qp::of(qp);
    const auto change = change_of(*pair.host_context, *attributes, mask);
    if (!change) return report(change.error());
    if (const auto done = pair.host->modify(change->attributes, change->mask); !done) {
      return report(done.error());
    }
    if ((mask & IBV_QP_STATE) != 0) qp->state = attributes->qp_state;
    return 0;
  });
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  return guard_errno([&] {
    const Qp& pair = Qp::of(qp);
    *attributes = attributes_of(pair.host->query());
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
  if (Qp::of(qp).flows.load() != 0) return report(EBUSY);
  const std::unique_ptr<Qp> gone(&Qp::of(qp));
  return guard_errno([&] {
    if (gone->target) {
      release_xrc_target(*gone);
    } else {
      gone->host->destroy();
    }
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

// Data of one message may be placed in any order when packets were lost on the way.
int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) {
  return 0;
}

// Enhanced connection establishment: options of hardware vendors. There are none to offer to a
// peer, and none that a peer offers is taken up.
int ibv_set_ece(ibv_qp*, ibv_ece* ece) {
  if (ece->comp_mask != 0) return report(EINVAL);
  return ece->vendor_id == 0 && ece->options == 0 ? 0 : report(EOPNOTSUPP);
}

int ibv_query_ece(ibv_qp*, ibv_ece* ece) {
  *ece = {};
  return report(EOPNOTSUPP);
}

// SPDX-License-Identifier: Apache-2.0
// Shared receive queues (IBA 10.2.9), XRC ones included.
#include <algorithm>

#include "verbs/context_operations.h"
#include "verbs/guard.h"

namespace weft::verbs {
namespace {

// Zero, or the errno that says what is wrong.
int check(const ibv_srq_attr& attributes, const host::DeviceLimits& limits) {
  if (attributes.max_wr == 0 || attributes.max_wr > limits.max_srq_wr ||
      attributes.max_sge > limits.max_sge || attributes.srq_limit > attributes.max_wr) {
    return EINVAL;
  }
  return 0;
}

struct SrqRequest {
  void* user = nullptr;
  Xrcd* domain = nullptr;  // both or neither
  ibv_cq* cq = nullptr;
};

std::unique_ptr<Srq> create(ibv_pd* pd, ibv_srq_attr& attributes, const SrqRequest& request) {
  auto srq = std::make_unique<Srq>();
  srq->host_context = Pd::of(pd).host;
  if (const int error = check(attributes, srq->host_context->limits())) return refuse(error);
  host::SharedReceiveQueueConfig config;
  config.pd = pd->handle;
  config.max_receives = attributes.max_wr;
  config.max_pieces = std::max(attributes.max_sge, 1U);
  config.limit = attributes.srq_limit;
  config.user = srq.get();
  if (request.domain != nullptr) {
    srq->domain = request.domain->domain;
    config.xrc_domain = srq->domain->handle;
    config.completion_queue = Cq::of(request.cq).host;
  }
  auto host = srq->host_context->create_shared_receive_queue(config);
  if (!host) return refuse(host.error());
  srq->host = std::move(*host);
  srq->max_pieces = config.max_pieces;
  attributes.max_sge = config.max_pieces;
  srq->context = pd->context;
  srq->srq_context = request.user;
  srq->pd = pd;
  srq->handle = srq->host->id();
  pthread_mutex_init(&srq->mutex, nullptr);
  pthread_cond_init(&srq->cond, nullptr);
  return srq;
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context*, ibv_srq_init_attr_ex* attributes) {
  return guard_pointer([&]() -> ibv_srq* {
    constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                                     IBV_SRQ_INIT_ATTR_XRCD | unsigned{IBV_SRQ_INIT_ATTR_CQ};
    const std::uint32_t mask = attributes->comp_mask;
    if ((mask & ~kKnown) != 0) return refuse(EOPNOTSUPP);
    if ((mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) return refuse(EINVAL);
    SrqRequest request{.user = attributes->srq_context};
    const ibv_srq_type type =
        (mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? attributes->srq_type : IBV_SRQT_BASIC;
    if (type == IBV_SRQT_XRC) {
      constexpr std::uint32_t kNeeded = IBV_SRQ_INIT_ATTR_XRCD | unsigned{IBV_SRQ_INIT_ATTR_CQ};
      if ((mask & kNeeded) != kNeeded || attributes->xrcd == nullptr || attributes->cq == nullptr) {
        return refuse(EINVAL);
      }
      request.domain = &Xrcd::of(attributes->xrcd);
      request.cq = attributes->cq;
    } else if (type != IBV_SRQT_BASIC) {
      return refuse(EOPNOTSUPP);
    }
    return create(attributes->pd, attributes->attr, request).release();
  });
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  if (!Srq::of(srq).domain) return report(EINVAL);
  *number = Srq::of(srq).host->number().value();
  return 0;
}

}  // namespace weft::verbs

using namespace weft;
using namespace weft::verbs;

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  return guard_pointer([&]() -> ibv_srq* {
    return create(pd, attributes->attr, {.user = attributes->srq_context}).release();
  });
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  return guard_errno([&] {
    constexpr int kKnown = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;
    Srq& queue = Srq::of(srq);
    if ((mask & ~kKnown) != 0) return report(EINVAL);
    if ((mask & IBV_SRQ_MAX_WR) != 0) {
      if (attributes->max_wr == 0 || attributes->max_wr > queue.host_context->limits().max_srq_wr) {
        return report(EINVAL);
      }
      if (const auto done = queue.host->resize(attributes->max_wr); !done) {
        return report(done.error());
      }
    }
    if ((mask & IBV_SRQ_LIMIT) != 0) {
      if (const auto done = queue.host->set_limit(attributes->srq_limit); !done) {
        return report(done.error());
      }
    }
    return 0;
  });
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  const host::SharedReceiveQueue::State now = Srq::of(srq).host->query();
  *attributes = {};
  attributes->max_wr = now.max_receives;
  attributes->max_sge = now.max_pieces;
  attributes->srq_limit = now.limit;
  return 0;
}

int ibv_destroy_srq(ibv_srq* srq) {
  return guard_errno([&] {
    Srq& queue = Srq::of(srq);
    if (const auto done = queue.host->destroy(); !done) return report(done.error());
    const std::unique_ptr<Srq> gone(&queue);
    pthread_mutex_destroy(&gone->mutex);
    pthread_cond_destroy(&gone->cond);
    return 0;
  });
}

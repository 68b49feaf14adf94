// SPDX-License-Identifier: Apache-2.0
// Completion queues: creation, and polling as ibv_poll_cq() does it.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>

#include "verbs/completion_queue_ex.h"
#include "verbs/context_operations.h"
#include "verbs/errno_keeper.h"
#include "verbs/guard.h"
#include "verbs/objects.h"
#include "verbs/work_completion.h"

namespace weft::verbs {
namespace {

constexpr std::size_t kPollBatch = 16;  // completions translated from the stack at a time

// Room for them, left uninitialized until they are taken: a poll mostly finds one, and to clear
// room for sixteen costs a short message a fiftieth of its round trip.
union Batch {
  Batch() {}  // NOLINT(modernize-use-equals-default): defaulting would be deleting
  hca::Completion all[kPollBatch];
};
static_assert(std::is_trivially_copyable_v<hca::Completion>);

struct CqRequest {
  std::uint64_t entries = 0;
  void* user = nullptr;
  ibv_comp_channel* channel = nullptr;
  std::uint64_t vector = 0;
};

// Programs may look at the count, so it is kept; it says whether a channel may go.
void count_user(ibv_comp_channel& channel, int change) {
  std::atomic_ref<int>(channel.refcnt).fetch_add(change, std::memory_order_acq_rel);
}

std::unique_ptr<Cq> create(ibv_context* context, const CqRequest& request) {
  OpenDevice& device = OpenDevice::of(context);
  if (request.entries == 0 || request.entries > device.host->limits().max_cqe ||
      request.vector >= static_cast<std::uint64_t>(context->num_comp_vectors)) {
    return refuse(EINVAL);
  }
  auto cq = std::make_unique<Cq>();
  std::shared_ptr<host::CompletionChannel> channel;
  if (request.channel != nullptr) channel = Channel::of(request.channel).host;
  auto queue = device.host->create_completion_queue(static_cast<std::size_t>(request.entries),
                                                    std::move(channel), cq.get());
  if (!queue) return refuse(queue.error());
  cq->host_context = device.host;
  cq->host = std::move(*queue);
  cq->context = context;
  cq->channel = request.channel;
  cq->cq_context = request.user;
  cq->handle = cq->host->id();
  cq->cqe = static_cast<int>(cq->host->capacity());
  pthread_mutex_init(&cq->mutex, nullptr);
  pthread_cond_init(&cq->cond, nullptr);
  if (request.channel != nullptr) count_user(*request.channel, 1);
  return cq;
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  return guard_pointer([&]() -> ibv_cq_ex* {
    if ((attributes->wc_flags & ~kReadableFlags) != 0) return refuse(EOPNOTSUPP);
    // A parent domain brings allocators, which are never called.
    constexpr std::uint32_t kKnown =
        IBV_CQ_INIT_ATTR_MASK_FLAGS | unsigned{IBV_CQ_INIT_ATTR_MASK_PD};
    if ((attributes->comp_mask & ~kKnown) != 0) return refuse(EOPNOTSUPP);
    std::uint32_t flags = 0;
    if ((attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0) flags = attributes->flags;
    if ((flags & ~std::uint32_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) != 0) {
      return refuse(EOPNOTSUPP);
    }
    auto cq = create(context, {attributes->cqe, attributes->cq_context, attributes->channel,
                               attributes->comp_vector});
    if (!cq) return nullptr;
    cq->single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
    install_readers(*cq, attributes->wc_flags);
    return cq.release();
  });
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* out) {
  const ErrnoKeeper keeper;
  if (count < 0) return -1;
  host::CompletionQueue& queue = *Cq::of(cq).host;
  if (count == 0 || !queue.make_ready()) return 0;
  Batch batch;
  int done = 0;
  do {
    const auto wanted = std::min(kPollBatch, static_cast<std::size_t>(count - done));
    const std::size_t got = queue.take({batch.all, wanted});
    for (std::size_t i = 0; i < got; ++i)
      write_completion(batch.all[i], out[done++]);
    if (got < wanted) break;
  } while (done < count);
  return done;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  const ErrnoKeeper keeper;
  Cq::of(cq).host->arm(solicited_only != 0 ? hca::CompletionQueue::Arm::kSolicited
                                           : hca::CompletionQueue::Arm::kNext);
  return 0;
}

}  // namespace weft::verbs

using namespace weft;
using namespace weft::verbs;

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                      int comp_vector) {
  return guard_pointer([&]() -> ibv_cq* {
    if (cqe < 0 || comp_vector < 0) return refuse(EINVAL);
    auto cq = create(context, {static_cast<std::uint64_t>(cqe), cq_context, channel,
                               static_cast<std::uint64_t>(comp_vector)});
    if (!cq) return nullptr;
    install_readers(*cq, 0);
    return cq.release()->abi();
  });
}

int ibv_resize_cq(ibv_cq* cq, int cqe) {
  return guard_errno([&] {
    Cq& queue = Cq::of(cq);
    if (cqe <= 0 || static_cast<std::uint32_t>(cqe) > queue.host_context->limits().max_cqe) {
      return report(EINVAL);
    }
    if (const auto resized = queue.host->resize(static_cast<std::size_t>(cqe)); !resized) {
      return report(resized.error());
    }
    queue.cqe = static_cast<int>(queue.host->capacity());
    return 0;
  });
}

int ibv_destroy_cq(ibv_cq* cq) {
  return guard_errno([&] {
    Cq& queue = Cq::of(cq);
    if (const auto destroyed = queue.host->destroy(); !destroyed) return report(destroyed.error());
    queue.host_context->remove(*queue.host);
    if (queue.channel != nullptr) count_user(*queue.channel, -1);
    pthread_mutex_destroy(&queue.mutex);
    pthread_cond_destroy(&queue.cond);
    const std::unique_ptr<Cq> gone(&queue);
    return 0;
  });
}

// SPDX-License-Identifier: Apache-2.0
#include "host/shared_receive_queue.h"

#include <fmt/format.h>

#include "host/context.h"
#include "host/queue_pair.h"
#include "host/xrc_domain.h"

namespace weft::host {

SharedReceiveQueue::SharedReceiveQueue(std::shared_ptr<Context> context, std::uint32_t id,
                                       const SharedReceiveQueueConfig& config)
    : context_(std::move(context)),
      id_(id),
      config_(config),
      queue_(config.max_receives, config.max_pieces) {
  queue_.set_limit(config.limit);
}

std::errc SharedReceiveQueue::post(const hca::ReceiveRequest& request) {
  {
    const std::lock_guard guard(lock_);
    if (const std::errc error = queue_.post(request); error != std::errc{}) return error;
  }
  if (post_awaited_.load(std::memory_order_relaxed)) tell_posted();
  return {};
}

// Few posts come here: only those after a queue pair has told its peers that there is little.
void SharedReceiveQueue::tell_posted() {
  if (!post_awaited_.exchange(false)) return;
  const std::lock_guard guard(users_mutex_);
  for (QueuePair* const queue_pair : users_)
    queue_pair->receives_posted();
}

void SharedReceiveQueue::use(QueuePair& queue_pair) {
  const std::lock_guard guard(users_mutex_);
  users_.push_back(&queue_pair);
}

void SharedReceiveQueue::unuse(QueuePair& queue_pair) {
  const std::lock_guard guard(users_mutex_);
  std::erase(users_, &queue_pair);
}

Expected<void> SharedReceiveQueue::resize(std::uint32_t max_receives) {
  const std::lock_guard guard(lock_);
  return queue_.resize(max_receives);
}

Expected<void> SharedReceiveQueue::set_limit(std::uint32_t limit) {
  const std::lock_guard guard(lock_);
  if (limit > queue_.depth()) {
    return fail(std::errc::invalid_argument,
                fmt::format("SRQ limit {}: the queue holds {}", limit, queue_.depth()));
  }
  queue_.set_limit(limit);
  return {};
}

SharedReceiveQueue::State SharedReceiveQueue::query() const {
  const std::lock_guard guard(lock_);
  return {queue_.depth(), queue_.max_pieces(), queue_.limit()};
}

hca::Take SharedReceiveQueue::take_for(std::uint64_t length, hca::TakenReceive& out) {
  hca::Take taken = hca::Take::kNone;
  bool below_limit = false;
  {
    const std::lock_guard guard(lock_);
    taken = queue_.take_for(length, out);
    below_limit = queue_.take_limit_event();
  }
  if (below_limit) {
    context_->async_events().post({.type = AsyncEventType::kSrqLimit, .shared_queue = this});
  }
  return taken;
}

std::size_t SharedReceiveQueue::size() const {
  const std::lock_guard guard(lock_);
  return queue_.size();
}

Expected<void> SharedReceiveQueue::destroy() {
  const std::size_t users = [this] {
    const std::lock_guard guard(users_mutex_);
    return users_.size();
  }();
  if (users != 0) {
    return fail(
        std::errc::device_or_resource_busy,
        fmt::format("SRQ {} is in use by {} queue pair(s): destroy them first", id_, users));
  }
  context_->retire(*this);
  context_->async_events().forget(this);
  async_events_.wait_for_none();
  context_->remove(*this);
  return {};
}

hca::XrcQueues::Found XrcDomain::find(Qpn srq_number) {
  const std::lock_guard guard(lock_);
  const auto found = queues_.find(srq_number.value());
  if (found == queues_.end()) return {};
  SharedReceiveQueue& queue = *found->second;
  return {.source = &queue,
          .completions = queue.config().completion_queue.get(),
          .pd = queue.config().pd};
}

}  // namespace weft::host

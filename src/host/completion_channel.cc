// SPDX-License-Identifier: Apache-2.0
#include "host/completion_channel.h"

#include "host/completion_queue.h"

namespace weft::host {

Expected<std::shared_ptr<CompletionChannel>> CompletionChannel::create() {
  auto event = EventDescriptor::create();
  if (!event) return tl::unexpected(event.error());
  return std::shared_ptr<CompletionChannel>(new CompletionChannel(std::move(*event)));
}

Expected<CompletionQueue*> CompletionChannel::next_event() {
  for (;;) {
    if (auto taken = event_.take(); !taken) return tl::unexpected(taken.error());
    const std::lock_guard guard(mutex_);
    if (events_.empty()) continue;  // forget() withdrew the event between the read and here
    CompletionQueue* queue = events_.front();
    events_.pop_front();
    queue->event_delivered();
    return queue;
  }
}

void CompletionChannel::post(CompletionQueue* queue) {
  const std::lock_guard guard(mutex_);
  events_.push_back(queue);
  event_.signal();
}

void CompletionChannel::forget(CompletionQueue* queue) {
  const std::lock_guard guard(mutex_);
  for (auto it = events_.begin(); it != events_.end();) {
    if (*it == queue) {
      it = events_.erase(it);
      event_.try_take();
    } else {
      ++it;
    }
  }
}

}  // namespace weft::host

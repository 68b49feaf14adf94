// SPDX-License-Identifier: Apache-2.0
#include "host/async_events.h"

#include <algorithm>

#include "host/completion_queue.h"
#include "host/queue_pair.h"

namespace weft::host {

Expected<std::unique_ptr<AsyncEventQueue>> AsyncEventQueue::create() {
  auto event = EventDescriptor::create();
  if (!event) return tl::unexpected(event.error());
  return std::unique_ptr<AsyncEventQueue>(new AsyncEventQueue(std::move(*event)));
}

Expected<AsyncEvent> AsyncEventQueue::next_event() {
  for (;;) {
    if (auto taken = event_.take(); !taken) return tl::unexpected(taken.error());
    const std::lock_guard guard(mutex_);
    if (events_.empty()) continue;  // forget() withdrew the event between the read and here
    const AsyncEvent event = events_.front();
    events_.pop_front();
    if (event.queue != nullptr) event.queue->async_event_delivered();
    if (event.queue_pair != nullptr) event.queue_pair->event_delivered();
    if (event.shared_queue != nullptr) event.shared_queue->event_delivered();
    return event;
  }
}

void AsyncEventQueue::post(const AsyncEvent& event) {
  const std::lock_guard guard(mutex_);
  if (event.of_the_device()) {
    const auto same = [&](const AsyncEvent& waiting) {
      return waiting.type == event.type && waiting.port == event.port;
    };
    if (const auto found = std::find_if(events_.begin(), events_.end(), same);
        found != events_.end()) {
      events_.erase(found);
      events_.push_back(event);
      return;
    }
  }
  events_.push_back(event);
  event_.signal();
}

void AsyncEventQueue::forget(const CompletionQueue* queue) {
  forget_if([](const AsyncEvent& event, const void* object) { return event.queue == object; },
            queue);
}

void AsyncEventQueue::forget(const QueuePair* queue_pair) {
  forget_if([](const AsyncEvent& event, const void* object) { return event.queue_pair == object; },
            queue_pair);
}

void AsyncEventQueue::forget(const SharedReceiveQueue* shared_queue) {
  forget_if(
      [](const AsyncEvent& event, const void* object) { return event.shared_queue == object; },
      shared_queue);
}

void AsyncEventQueue::forget_if(bool (*matches)(const AsyncEvent&, const void*),
                                const void* object) {
  const std::lock_guard guard(mutex_);
  for (auto it = events_.begin(); it != events_.end();) {
    if (matches(*it, object)) {
      it = events_.erase(it);
      event_.try_take();
    } else {
      ++it;
    }
  }
}

}  // namespace weft::host

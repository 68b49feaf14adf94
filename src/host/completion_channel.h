// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "host/event_descriptor.h"

namespace weft::host {

class CompletionQueue;

// A real pollable descriptor (eventfd, level-triggered) and the queue of completion queues that
// have an event. O_NONBLOCK set by the application is honoured.
class CompletionChannel {
 public:
  static Expected<std::shared_ptr<CompletionChannel>> create();

  [[nodiscard]] int fd() const { return event_.fd(); }
  // Waits (unless the descriptor is non-blocking) for the next event. EAGAIN when non-blocking and
  // none is there; EINTR when a signal handler ran.
  Expected<CompletionQueue*> next_event();

  void post(CompletionQueue* queue);    // by the engine
  void forget(CompletionQueue* queue);  // drops events of a queue that is going

 private:
  explicit CompletionChannel(EventDescriptor event) : event_(std::move(event)) {}
  EventDescriptor event_;
  std::mutex mutex_;
  std::deque<CompletionQueue*> events_;
};

}  // namespace weft::host

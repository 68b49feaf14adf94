// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::host {

class CompletionQueue;

// A real pollable descriptor (eventfd, level-triggered) and the queue of completion queues that
// have an event. O_NONBLOCK set by the application is honoured.
class CompletionChannel {
 public:
  static Expected<std::shared_ptr<CompletionChannel>> create();
  ~CompletionChannel();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Waits (unless the descriptor is non-blocking) for the next event. EAGAIN when non-blocking and
  // none is there; EINTR when a signal handler ran.
  Expected<CompletionQueue*> next_event();

  void post(CompletionQueue* queue);    // by the engine
  void forget(CompletionQueue* queue);  // drops events of a queue that is going

 private:
  explicit CompletionChannel(io::UniqueFd fd);
  io::UniqueFd fd_;
  std::mutex mutex_;
  std::deque<CompletionQueue*> events_;
};

}  // namespace weft::host

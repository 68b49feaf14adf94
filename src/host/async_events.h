// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::host {

class CompletionQueue;
class QueuePair;

// IBA 11.6.3: what can happen to a device without a request.
enum class AsyncEventType : std::uint8_t {
  kCqError,           // `queue`: a completion queue overran
  kQpFatal,           // `queue_pair`
  kSqDrained,         // `queue_pair`: the send queue drained after a move to SQD
  kPortActive,        // the port came up
  kPortError,         // the port went down
  kGidChange,         // the GID table changed
};

struct AsyncEvent {
  AsyncEventType type;
  CompletionQueue* queue = nullptr;
  QueuePair* queue_pair = nullptr;
};

// The asynchronous events of a context, behind a pollable level-triggered descriptor.
class AsyncEventQueue {
 public:
  static Expected<AsyncEventQueue> create();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // As CompletionChannel::next_event. The caller notes delivery on the object it concerns.
  Expected<AsyncEvent> next_event();
  void post(const AsyncEvent& event);
  void forget(const CompletionQueue* queue);
  void forget(const QueuePair* queue_pair);

 private:
  struct State {
    std::mutex mutex;
    std::deque<AsyncEvent> events;
  };
  AsyncEventQueue(io::UniqueFd fd);
  io::UniqueFd fd_;
  std::unique_ptr<State> state_;
};

}  // namespace weft::host

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
class QueuePair;
class SharedReceiveQueue;

// IBA 11.6.3: what can happen to a device without a request.
enum class AsyncEventType : std::uint8_t {
  kCqError,  // `queue`: a completion queue overran
  // `queue_pair`:
  kQpFatal,
  kSqDrained,                 // the send queue drained after a move to SQD
  kCommunicationEstablished,  // the first packet arrived before the move to RTS
  kPathMigrated,
  kPathMigrationFailed,
  kInvalidRequest,  // the peer asked for what cannot be carried out
  kAccessError,     // the peer asked for what it may not do
  kLastWqe,         // in error, and takes nothing more from its shared receive queue
  // `shared_queue`:
  kSrqLimit,  // fewer receives are left than the program wanted to be told of
  // The port:
  kPortActive,        // came up
  kPortError,         // went down
  kGidChange,         // the GID table changed
  kLidChange,         // LID or LMC changed
  kPKeyChange,        // the P_Key table changed
  kSmChange,          // another subnet manager, or elsewhere
  kClientReregister,  // the subnet manager wants everything to be registered anew
  // The device:
  kDeviceFatal,  // it is gone for good
};

struct AsyncEvent {
  AsyncEventType type;
  CompletionQueue* queue = nullptr;
  QueuePair* queue_pair = nullptr;
  SharedReceiveQueue* shared_queue = nullptr;
  std::uint8_t port = 0;  // of an event of a port: which; 0 of all others

  // Of the port or the device, not of an object of the program.
  [[nodiscard]] bool of_the_device() const {
    return queue == nullptr && queue_pair == nullptr && shared_queue == nullptr;
  }
};

// The asynchronous events of a context, behind a pollable level-triggered descriptor.
class AsyncEventQueue {
 public:
  static Expected<std::unique_ptr<AsyncEventQueue>> create();

  [[nodiscard]] int fd() const { return event_.fd(); }
  // As CompletionChannel::next_event. The object that the event is about waits for its
  // acknowledgement from here on.
  Expected<AsyncEvent> next_event();
  // Of a port's events that nobody has read yet the last of each type is kept, in the order in
  // which they came: a program that never asks costs nothing.
  void post(const AsyncEvent& event);
  void forget(const CompletionQueue* queue);
  void forget(const QueuePair* queue_pair);
  void forget(const SharedReceiveQueue* shared_queue);

 private:
  explicit AsyncEventQueue(EventDescriptor event) : event_(std::move(event)) {}
  void forget_if(bool (*matches)(const AsyncEvent&, const void*), const void* object);

  EventDescriptor event_;
  std::mutex mutex_;
  std::deque<AsyncEvent> events_;
};

}  // namespace weft::host

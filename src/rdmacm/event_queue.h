// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "rdmacm/abi.h"

namespace weft::rdmacm {

// An event on its way to the program, with the handles of the objects that it is about.
struct QueuedEvent {
  rdma_ucm_event_resp body{};
  std::uint32_t owner = 0;       // the identifier that it counts for
  std::uint32_t membership = 0;  // of a multicast event; else 0
  std::uint32_t request = 0;     // the new identifier of a CONNECT_REQUEST; else 0
};

// What waits at one channel, oldest first.
class EventQueue {
 public:
  void push(const QueuedEvent& event) { events_.push_back(event); }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] const QueuedEvent& front() const { return events_.front(); }
  void pop() { events_.pop_front(); }

  // Takes out what `matches`, in order.
  template <class Matches>
  std::vector<QueuedEvent> take(const Matches& matches) {
    std::vector<QueuedEvent> out;
    std::deque<QueuedEvent> rest;
    for (const QueuedEvent& event : events_) {
      if (matches(event)) {
        out.push_back(event);
      } else {
        rest.push_back(event);
      }
    }
    events_ = std::move(rest);
    return out;
  }

 private:
  std::deque<QueuedEvent> events_;
};

}  // namespace weft::rdmacm

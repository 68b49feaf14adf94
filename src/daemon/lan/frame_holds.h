// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/buffer_pool.h"
#include "base/ring.h"

namespace weft::daemon {

// Keeps the places of frames as long as requests of a send queue refer to them. Requests leave it
// in order, so how many are left tells which these are: nobody need be told of each.
class FrameHolds {
 public:
  // The queue was given so many requests more, all of them for the frame in this place.
  void hold(BufferRef place, std::size_t requests) {
    posted_ += requests;
    held_.push({posted_, std::move(place)});
  }
  // The queue has so many requests that it has not sent.
  void release(std::size_t left) {
    while (!held_.empty() && held_.front().end + left <= posted_) {
      held_.front().place.reset();
      held_.pop_front();
    }
  }
  [[nodiscard]] bool empty() const { return held_.empty(); }

 private:
  struct Held {
    std::uint64_t end = 0;  // of its requests, of all that were ever posted
    BufferRef place;
  };
  std::uint64_t posted_ = 0;
  Ring<Held> held_;
};

}  // namespace weft::daemon

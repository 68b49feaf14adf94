// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/time.h"

namespace weft::sim {

// Virtual time: things happen in the order of their time, those of one moment in the order in which
// they were asked for.
class Scheduler {
 public:
  [[nodiscard]] Time now() const { return now_; }

  void at(Time when, std::function<void()> what) {
    assert(when >= now_);
    events_.push({when, next_++, std::move(what)});
  }
  void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  // Runs until nothing is left to happen or the next thing is after `end`; true when nothing is
  // left.
  bool run_until(Time end) {
    while (!events_.empty() && events_.top().when <= end) {
      Event event = events_.top();
      events_.pop();
      assert(event.when >= now_);
      now_ = event.when;
      event.what();
    }
    return events_.empty();
  }

 private:
  struct Event {
    Time when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {  // the queue's top is its greatest
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  std::priority_queue<Event> events_;
  Time now_{};
  std::uint64_t next_ = 0;
};

}  // namespace weft::sim

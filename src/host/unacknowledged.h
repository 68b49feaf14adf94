// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weft::host {

// Events that an application has taken and not acknowledged yet. Destroying the object they are
// about waits for the last acknowledgement, as verbs promise.
class Unacknowledged {
 public:
  void delivered() {
    const std::lock_guard guard(mutex_);
    ++count_;
  }
  // More acknowledgements than events count as all of them.
  void acknowledge(std::uint64_t count = 1) {
    const std::lock_guard guard(mutex_);
    count_ -= count < count_ ? count : count_;
    if (count_ == 0) none_left_.notify_all();
  }
  void wait_for_none() {
    std::unique_lock guard(mutex_);
    none_left_.wait(guard, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::host

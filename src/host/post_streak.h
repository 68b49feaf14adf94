// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::host {

// How many requests a program posts between two polls. Threads may share it; exact with one that
// posts.
class PostStreak {
 public:
  static constexpr std::size_t kMany = 16;  // between two polls: it posts in runs

  // After so many polls.
  void add(std::size_t requests, std::uint64_t polls) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    std::size_t before_these = now_.load(kRelaxed);
    if (polls != polls_.load(kRelaxed)) {
      polls_.store(polls, kRelaxed);
      before_.store(before_these, kRelaxed);
      before_these = 0;
    }
    now_.store(before_these + requests, kRelaxed);
  }
  // What was posted last waits for what comes next, or for a poll.
  void gather() {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    if (now_.load(kRelaxed) > kMany) in_runs_.store(in_runs_.load(kRelaxed) + 1, kRelaxed);
  }
  // Before the last poll after which something was posted, up to a poll.
  [[nodiscard]] std::size_t before() const { return before_.load(std::memory_order_relaxed); }
  // Since then.
  [[nodiscard]] std::size_t now() const { return now_.load(std::memory_order_relaxed); }
  // How often one waited that came after kMany others without a poll in between. It grows while a
  // program is in the midst of a run of small requests, and is going to poll soon.
  [[nodiscard]] std::uint64_t in_runs() const { return in_runs_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> polls_{0};
  std::atomic<std::size_t> now_{0};
  std::atomic<std::size_t> before_{0};
  std::atomic<std::uint64_t> in_runs_{0};
};

}  // namespace weft::host

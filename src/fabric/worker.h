// SPDX-License-Identifier: Apache-2.0
// Runs what has something to do, and knows when the next of it has: a list of tasks that are ready,
// and one queue of deadlines. A task that waits costs nothing. A core: whoever owns the worker has
// the clock.
#pragma once

#include <cstddef>
#include <optional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace weft::fabric {

class Worker;

// Something that runs when it is woken or when its deadline has come. Must outlive its worker, or
// at least not be woken when it does not.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

 private:
  friend class Worker;
  virtual void run(Time now) = 0;
  // Asked after each run() and by Worker::reschedule().
  [[nodiscard]] virtual std::optional<Time> deadline() const = 0;

  bool ready_ = false;
  std::optional<Time> queued_;  // the earliest entry that the worker's queue has for it
};

class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // It has something to do: it is run by the next run(), or still by this one.
  void wake(Task& task);
  // Its deadline may have come nearer without a run.
  void reschedule(Task& task);

  // Runs what is ready or due, and what becomes ready by that, but at most about `budget` tasks, so
  // that traffic that feeds itself leaves time for others. False: some are still ready.
  bool run(Time now, std::size_t budget = kBudget);
  // That of the run that is under way, or was the last.
  [[nodiscard]] Time now() const { return now_; }
  // When to call run() again. In the past: at once. Nothing: when something was woken.
  [[nodiscard]] std::optional<Time> deadline() const;

  static constexpr std::size_t kBudget = 65'536;

 private:
  struct Due {
    Time at;
    Task* task;
    bool operator>(const Due& other) const { return at > other.at; }
  };
  void collect_due(Time now);

  Time now_{};
  std::vector<Task*> ready_;
  std::size_t next_ = 0;  // of ready_: those before it have run
  // Entries that a task has outrun stay until their time comes and are then ignored.
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace weft::fabric

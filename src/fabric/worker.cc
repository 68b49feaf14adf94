// SPDX-License-Identifier: Apache-2.0
#include "fabric/worker.h"

namespace weft::fabric {

void Worker::wake(Task& task) {
  if (task.ready_) return;
  task.ready_ = true;
  ready_.push_back(&task);
}

void Worker::reschedule(Task& task) {
  const auto deadline = task.deadline();
  if (!deadline || (task.queued_ && *task.queued_ <= *deadline)) return;
  task.queued_ = deadline;
  due_.push({*deadline, &task});
}

void Worker::collect_due(Time now) {
  while (!due_.empty() && due_.top().at <= now) {
    const Due due = due_.top();
    due_.pop();
    // A later entry than its earliest: one that an earlier one took the place of.
    if (due.task->queued_ != due.at) continue;
    due.task->queued_.reset();
    wake(*due.task);
  }
}

bool Worker::run(Time now, std::size_t budget) {
  now_ = now;
  collect_due(now);
  for (; next_ < ready_.size() && budget > 0; --budget) {
    Task& task = *ready_[next_++];
    // Whoever wakes it from now on means another run.
    task.ready_ = false;
    task.run(now);
    reschedule(task);
    if (next_ < ready_.size()) continue;
    ready_.clear();
    next_ = 0;
    collect_due(now);
  }
  if (next_ == 0) return true;
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
  return ready_.empty();
}

std::optional<Time> Worker::deadline() const {
  if (!ready_.empty()) return Time::min();
  if (due_.empty()) return std::nullopt;
  return due_.top().at;
}

}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
// What the context's thread does though nothing has arrived: one alarm for all queue pairs.
#include <sys/timerfd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "host/departures.h"
#include "host/progress.h"

namespace weft::host {

void Progress::set_timer(Time when) {
  timer_at_ = when;
  const auto at = std::max<std::int64_t>(when.time_since_epoch().count(), 1);  // 0 would disarm
  itimerspec spec{};
  spec.it_value.tv_sec = at / 1'000'000'000;
  spec.it_value.tv_nsec = at % 1'000'000'000;
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

// Mostly the thread looks soon enough anyhow, and there is nothing to do. If it is at it just now,
// it has yet to come to this queue pair, or the exchange tells.
void Progress::arm_deadline(QueuePair& queue_pair, Time when) {
  const bool listed = queue_pair.watched_until_.exchange(when) != Time::max();
  if (listed && next_deadline_.load() <= when) return;
  const std::lock_guard guard(deferred_mutex_);
  if (!listed) timed_.push_back(queue_pair.weak_from_this());
  watch_deadline(when);
}

void Progress::watch_deadline(Time when) {
  if (when < next_deadline_.load()) next_deadline_.store(when);
  if (when < timer_at_) set_timer(when);
}

// Deadlines mostly move away before they are reached, since answers come. The alarm is not moved
// with them: it rings at the first, finds what is left, and is set for the next. Where there are
// many, looking at them takes long: nobody waits for the mutex meanwhile.
void Progress::meet_deadlines(Time now) {
  std::vector<std::weak_ptr<QueuePair>> timed;
  {
    const std::lock_guard guard(deferred_mutex_);
    if (next_deadline_.load() > now) return watch_deadline(next_deadline_.load());
    timed.swap(timed_);
    next_deadline_.store(Time::max());
  }
  for (const auto& weak : timed) {
    const auto queue_pair = weak.lock();
    if (queue_pair && queue_pair->deadline_.load() <= now) queue_pair->meet_deadline(now, acks());
  }
  const Time soonest = now + std::max(kDeadlineGrain, look_time(timed.size()));
  Time next = Time::max();
  std::erase_if(timed, [&](const auto& weak) {
    const auto queue_pair = weak.lock();
    if (!queue_pair) return true;
    // Unwatched first: whoever sets a deadline after this look sees that, and lists it.
    queue_pair->watched_until_.store(Time::max());
    const Time deadline = queue_pair->deadline_.load();
    if (deadline == Time::max()) return true;
    Time unwatched = Time::max();
    if (!queue_pair->watched_until_.compare_exchange_strong(unwatched, deadline)) return true;
    next = std::min(next, std::max(deadline, soonest));
    return false;
  });
  const std::lock_guard guard(deferred_mutex_);
  timed_.insert(timed_.end(), std::make_move_iterator(timed.begin()),
                std::make_move_iterator(timed.end()));
  watch_deadline(std::min(next, next_deadline_.load()));
}

void Progress::arm_turns(Time when) {
  const std::lock_guard guard(deferred_mutex_);
  turns_at_ = when;
  if (when < timer_at_) set_timer(when);
}

// Turns that have lasted too long make room for others.
void Progress::serve_turns(Time now) {
  {
    const std::lock_guard guard(deferred_mutex_);
    if (turns_at_ > now) {
      if (turns_at_ < timer_at_) set_timer(turns_at_);
      return;
    }
    turns_at_ = Time::max();
  }
  Departures(now).serve(turns_);
  if (turns_.somebody_waits()) arm_turns(now + SendTurns::kLongest);
}

void Progress::arm_flush(const std::shared_ptr<CompletionQueue>& queue, Time when) {
  // One that is listed already is looked at soon enough; most calls end here.
  if (queue->listed_.load() || queue->listed_.exchange(true)) return;
  const std::lock_guard guard(deferred_mutex_);
  queue->in_runs_seen_ = queue->posts_.in_runs();
  queue->polls_seen_ = queue->polls();
  deferred_.push_back(queue);
  if (when < timer_at_) set_timer(when);
}

// Setting an alarm and taking it back costs several microseconds where a hypervisor emulates the
// timer, so the alarm of a program that keeps posting is not touched for each of its runs: it
// rings, finds that the program has sent by itself, and rings again later (AlarmPace).
void Progress::flush_deferred(Time now) {
  std::vector<std::weak_ptr<CompletionQueue>> again;
  {
    const std::lock_guard guard(deferred_mutex_);
    timer_at_ = Time::max();
    again.swap(deferred_);
  }
  bool all_poll = true;
  std::erase_if(again, [&](const auto& weak) {
    const auto queue = weak.lock();
    if (!queue) return true;
    all_poll = queue->polled_since_look() && all_poll;
    if (queue->send_overdue(now)) return false;
    queue->listed_.store(false);
    // Something may have begun to wait just before that, and relied on the queue being listed.
    return !queue->something_waits() || queue->listed_.exchange(true);
  });
  const std::lock_guard guard(deferred_mutex_);
  if (again.empty()) {
    pace_.rest();
    return;
  }
  deferred_.insert(deferred_.end(), std::make_move_iterator(again.begin()),
                   std::make_move_iterator(again.end()));
  const Duration after = pace_.next(all_poll, look_time(again.size()));
  const Time next = after == kLastReview ? next_multiple(now, after) : now + after;
  if (next < timer_at_) set_timer(next);
}

}  // namespace weft::host

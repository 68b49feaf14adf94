// SPDX-License-Identifier: Apache-2.0
#include "host/completion_queue.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include "host/context.h"
#include "host/departures.h"
#include "host/queue_pair.h"
#include "io/clock.h"

namespace weft::host {

// Held while the list of attached queue pairs is walked or changed. Polling threads try it and go
// on without; only attaching and detaching wait.
class CompletionQueue::DrivingToken {
 public:
  enum class Mode { kTry, kWait };
  DrivingToken(std::atomic<bool>& token, Mode mode) : token_(token) {
    held_ = !token_.exchange(true, std::memory_order_acquire);
    while (!held_ && mode == Mode::kWait) {
      std::this_thread::yield();
      held_ = !token_.exchange(true, std::memory_order_acquire);
    }
  }
  ~DrivingToken() {
    if (held_) token_.store(false, std::memory_order_release);
  }
  DrivingToken(const DrivingToken&) = delete;
  DrivingToken& operator=(const DrivingToken&) = delete;
  explicit operator bool() const { return held_; }

 private:
  std::atomic<bool>& token_;
  bool held_ = false;
};

CompletionQueue::CompletionQueue(std::shared_ptr<Context> context, std::uint32_t id,
                                 std::size_t capacity, std::shared_ptr<CompletionChannel> channel,
                                 void* user)
    : context_(std::move(context)),
      id_(id),
      channel_(std::move(channel)),
      user_(user),
      queue_(capacity),
      looks_(Looks(context_->carried_by_process() ? kFewPolls : kSpinPolls, kSpinPolls)) {
}

CompletionQueue::~CompletionQueue() = default;

std::size_t CompletionQueue::take(std::span<hca::Completion> out) {
  const std::lock_guard guard(lock_);
  const std::size_t taken = queue_.poll(out);
  stored_.store(queue_.size(), std::memory_order_release);
  return taken;
}

bool CompletionQueue::make_ready() {
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const std::uint32_t full = full_polls_.load(std::memory_order_relaxed) + 1;
  const bool looks_for_more = full - full_at_look_.load(std::memory_order_relaxed) >= kFullPolls ||
                              full % kMostFullPolls == 0;
  // What the program finds here may have it post what acknowledgements can go with.
  const bool only_sends = has_completions() && !looks_for_more;
  if ((only_sends ? deferred_sends_ : deferred_).load(std::memory_order_relaxed) > 0) {
    send_deferred(Waiting::kMayGoOn);
  }
  if (has_completions()) {
    // What keeps the program busy may be read by the context's thread, which has left other sockets
    // to the program: they must not wait until it finds nothing.
    full_polls_.store(full, std::memory_order_relaxed);
    if (looks_for_more) make_progress();
    be_patient();
    return true;
  }
  // Only an empty queue is worth a system call: a program that keeps finding completions drains
  // what is here first.
  bool read_some = read_what_is_there();
  // While others run, which may take long, much may arrive. A program believes that there was
  // nothing when its poll returned, and may give a connection up because of what it looks at next.
  if (!read_some && !has_completions() && patience_is_over()) {
    let_others_run();
    read_some = read_what_is_there();
  }
  // What was read may have been for another queue: then more may be there for this one.
  if (read_some || has_completions()) be_patient();
  return has_completions();
}

bool CompletionQueue::patience_is_over() {
  const std::uint32_t empty = empty_polls_.load(std::memory_order_relaxed);
  if (empty >= looks_.load(std::memory_order_relaxed).before_yield()) return true;
  empty_polls_.store(empty + 1, std::memory_order_relaxed);
  return false;
}

// An adapter has seen to all that arrived before a poll. So nothing is said to be there only when
// nothing is, or what comes takes no end. Whether something was read.
bool CompletionQueue::read_what_is_there() {
  unsigned reads = 0;
  while (reads < kMostReads && make_progress()) {
    ++reads;
    if (has_completions()) break;
    if (deferred_.load(std::memory_order_relaxed) > 0) send_deferred(Waiting::kMayGoOn);
  }
  return reads > 0;
}

void CompletionQueue::let_others_run() {
  if (!context_->carried_by_process()) return std::this_thread::yield();
  const Time before = io::now();
  if (const Time since = waits_since_.load(std::memory_order_relaxed); since == Time{}) {
    waits_since_.store(before, std::memory_order_relaxed);
  } else if (before - since >= kVainTime) {
    // Who carries the packets may be of another session, whose tasks a yield does not let run.
    constexpr timespec kMoment{0, 1};
    nanosleep(&kMoment, nullptr);
    waits_since_.store({}, std::memory_order_relaxed);
    return;
  }
  std::this_thread::yield();
  Looks looks = looks_.load(std::memory_order_relaxed);
  looks.yielded(io::now() - before);
  looks_.store(looks, std::memory_order_relaxed);
}

void CompletionQueue::be_patient() {
  empty_polls_.store(0, std::memory_order_relaxed);
  waits_since_.store({}, std::memory_order_relaxed);
}

// In both of these, when another thread is at work for a queue pair, it may be one that this CPU is
// not running because a program spins here: let it.
void CompletionQueue::send_deferred(Waiting waiting) {
  const Time now = io::now();
  const bool all_free = send_but(now, [&](const QueuePair& queue_pair) {
    return waiting == Waiting::kMayGoOn && queue_pair.awaits_company(now);
  });
  if (!all_free) std::this_thread::yield();
}

template <class Stays>
bool CompletionQueue::send_but(Time now, const Stays& stays) {
  const DrivingToken token(driving_, DrivingToken::Mode::kTry);
  if (!token) return false;
  take_waiting();
  bool all_free = true;
  Departures departures(now);
  for (QueuePair* queue_pair : round_) {
    if (!queue_pair->has_deferred_sends() || stays(*queue_pair)) continue;
    all_free = departures.flush(*queue_pair) && all_free;
  }
  departures.go();
  for (QueuePair* queue_pair : round_) {
    if (queue_pair->has_deferred_sends()) list(*queue_pair);
  }
  return all_free;
}

// A program in the midst of a run of posts is about to poll, and sends more in a call than could go
// now.
bool CompletionQueue::send_overdue(Time now) {
  const std::uint64_t in_runs = posts_.in_runs();
  const bool posts_on = std::exchange(in_runs_seen_, in_runs) != in_runs;
  const Duration most = posts_on ? kLongestWait : QueuePair::kGatherTime;
  end_runs_put_off(now - most);
  send_but(now, [&](const QueuePair& queue_pair) { return queue_pair.deferred_for(now) < most; });
  const std::uint64_t deferrals = deferrals_.load(std::memory_order_relaxed);
  return std::exchange(deferrals_seen_, deferrals) != deferrals || something_waits();
}

// A poll that has the token ends them.
void CompletionQueue::end_runs_put_off(Time until) {
  if (runs_put_off_.load() == 0) return;
  const DrivingToken token(driving_, DrivingToken::Mode::kTry);
  if (!token) return;
  for (Receiver* receiver : receivers_)
    receiver->end_run_put_off(until);
}

bool CompletionQueue::polled_since_look() {
  const std::uint64_t polls = this->polls();
  return std::exchange(polls_seen_, polls) != polls;
}

void CompletionQueue::take_waiting() {
  round_.clear();
  const std::lock_guard guard(waiting_lock_);
  round_.swap(waiting_);
  for (QueuePair* queue_pair : round_)
    queue_pair->listed_by(*this) = false;
}

void CompletionQueue::list(QueuePair& queue_pair) {
  const std::lock_guard guard(waiting_lock_);
  if (!std::exchange(queue_pair.listed_by(*this), true)) waiting_.push_back(&queue_pair);
}

void CompletionQueue::note_deferred(QueuePair& queue_pair, Deferred before, Deferred now) {
  const auto note = [](std::atomic<int>& count, bool was, bool is) {
    if (was != is) count.fetch_add(is ? 1 : -1);
  };
  if (now != Deferred::kNothing) list(queue_pair);
  if (before == Deferred::kNothing) {
    deferrals_.store(deferrals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  note(deferred_, before != Deferred::kNothing, now != Deferred::kNothing);
  note(deferred_sends_, before == Deferred::kSends, now == Deferred::kSends);
}

// False: there was nothing to read.
bool CompletionQueue::make_progress() {
  note_look();
  const std::size_t budget = context_->carried_by_process() ? kFewPackets : 1;
  bool all_free = true;
  std::size_t read = 0;
  {
    const DrivingToken token(driving_, DrivingToken::Mode::kTry);
    all_free = static_cast<bool>(token);
    if (token && receivers_.size() > Progress::kFewReceivers) {
      read = context_->receive_ready();
    } else if (token) {
      for (Receiver* receiver : receivers_) {
        const auto count =
            receiver->receive(budget, Receiver::Acks::kMayWait, Receiver::Reader::kPoll);
        all_free = count.has_value() && all_free;
        read += count.value_or(0);
      }
    }
  }
  if (!all_free) std::this_thread::yield();
  return read > 0;
}

void CompletionQueue::arm(hca::CompletionQueue::Arm arm) {
  {
    const std::lock_guard guard(lock_);
    queue_.arm(arm);
    armed_.store(true, std::memory_order_release);
    has_events_.store(true, std::memory_order_relaxed);
  }
  // Sends must not wait for a poll that will not come, and the thread must see what arrives.
  send_deferred(Waiting::kIsOver);
  const DrivingToken token(driving_, DrivingToken::Mode::kWait);
  for (Receiver* receiver : receivers_) {
    receiver->end_run_put_off(Time::max());
    context_->watch(*receiver);
  }
}

Expected<void> CompletionQueue::resize(std::size_t capacity) {
  // Sends that wait for a poll, for credits, or are on their way to the kernel by another thread,
  // are complete as far as the program can know: they count.
  std::size_t coming = 0;
  {
    const DrivingToken token(driving_, DrivingToken::Mode::kWait);
    for (QueuePair* queue_pair : attached_) {
      while (!queue_pair->flush(io::now()))
        std::this_thread::yield();
      if (queue_pair->send_queue() == this) coming += queue_pair->queued_datagrams();
    }
  }
  const std::lock_guard guard(lock_);
  return queue_.resize(capacity, coming);
}

Expected<void> CompletionQueue::destroy() {
  {
    const DrivingToken token(driving_, DrivingToken::Mode::kWait);
    if (!attached_.empty()) {
      return fail(std::errc::device_or_resource_busy, "completion queue is in use by " +
                                                          std::to_string(attached_.size()) +
                                                          " queue pair(s): destroy them first");
    }
  }
  if (channel_) channel_->forget(this);
  context_->async_events().forget(this);
  completion_events_.wait_for_none();
  async_events_.wait_for_none();
  context_->remove(*this);
  return {};
}

std::size_t CompletionQueue::capacity() const {
  const std::lock_guard guard(lock_);
  return queue_.capacity();
}

std::size_t CompletionQueue::size() const {
  const std::lock_guard guard(lock_);
  return queue_.size();
}

bool CompletionQueue::overrun() const {
  const std::lock_guard guard(lock_);
  return queue_.overrun();
}

void CompletionQueue::complete(const hca::Completion& completion) {
  bool notify = false;
  bool newly_overrun = false;
  {
    const std::lock_guard guard(lock_);
    const auto pushed = queue_.push(completion);
    stored_.store(queue_.size(), std::memory_order_release);
    notify = pushed.notify;
    if (notify) armed_.store(false, std::memory_order_release);
    newly_overrun = !pushed.stored && !std::exchange(overrun_reported_, true);
  }
  if (notify && channel_) channel_->post(this);
  if (newly_overrun) context_->async_events().post({AsyncEventType::kCqError, this, nullptr});
}

void CompletionQueue::attach(QueuePair* queue_pair) {
  const DrivingToken token(driving_, DrivingToken::Mode::kWait);
  if (std::find(attached_.begin(), attached_.end(), queue_pair) != attached_.end()) return;
  attached_.push_back(queue_pair);
  Receiver* const receiver = &queue_pair->receiver();
  if (std::find(receivers_.begin(), receivers_.end(), receiver) == receivers_.end()) {
    receivers_.push_back(receiver);
  }
}

void CompletionQueue::detach(QueuePair* queue_pair) {
  const DrivingToken token(driving_, DrivingToken::Mode::kWait);
  std::erase(attached_, queue_pair);
  Receiver* const receiver = &queue_pair->receiver();
  const auto reads_it = [&](QueuePair* other) { return &other->receiver() == receiver; };
  if (std::none_of(attached_.begin(), attached_.end(), reads_it)) std::erase(receivers_, receiver);
  const std::lock_guard guard(waiting_lock_);
  if (std::exchange(queue_pair->listed_by(*this), false)) std::erase(waiting_, queue_pair);
}

void CompletionQueue::forget(Qpn qpn) {
  const std::lock_guard guard(lock_);
  queue_.forget(qpn);
  stored_.store(queue_.size(), std::memory_order_release);
}

}  // namespace weft::host

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/looks.h"
#include "base/spin_lock.h"
#include "hca/completion_queue.h"
#include "host/alarm_pace.h"
#include "host/completion_channel.h"
#include "host/post_streak.h"
#include "host/unacknowledged.h"

namespace weft::host {

class Context;
class QueuePair;
class Receiver;

// A completion queue as threads share it. Polling it is also what drives its queue pairs: queued
// sends go out, sockets are read.
class CompletionQueue final : public hca::CompletionSink {
 public:
  CompletionQueue(std::shared_ptr<Context> context, std::uint32_t id, std::size_t capacity,
                  std::shared_ptr<CompletionChannel> channel, void* user);
  ~CompletionQueue() override;

  // Up to out.size() completions; makes progress for the attached queue pairs as needed.
  std::size_t poll(std::span<hca::Completion> out) { return make_ready() ? take(out) : 0; }
  // The two halves of poll(), for callers who would prepare room for nothing: whether there is a
  // completion after as much progress as it takes, and taking what is there.
  bool make_ready();
  std::size_t take(std::span<hca::Completion> out);
  // Asks for one event on the channel (IBA 11.4.2.2).
  void arm(hca::CompletionQueue::Arm arm);
  Expected<void> resize(std::size_t capacity);

  // The application acknowledges events it got from the channel; destroy() waits for all of them.
  void acknowledge_events(std::uint32_t count) { completion_events_.acknowledge(count); }
  void acknowledge_async_event() { async_events_.acknowledge(); }
  void event_delivered() { completion_events_.delivered(); }  // by the channel
  void async_event_delivered() { async_events_.delivered(); }
  // EBUSY while queue pairs use it. Waits until every delivered event is acknowledged.
  Expected<void> destroy();

  [[nodiscard]] void* user() const { return user_; }  // what the verbs layer attached
  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] std::size_t capacity() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool overrun() const;
  [[nodiscard]] std::uint64_t polls() const { return polls_.load(std::memory_order_relaxed); }
  // Grows while the program is at work with it: as it polls, and while it posts in runs, after
  // which it is going to. Large requests make no runs: each goes at once, which takes long.
  [[nodiscard]] std::uint64_t activity() const { return polls() + posts_.in_runs(); }
  // A thread of the program is at work in a poll.
  [[nodiscard]] bool driven() const { return driving_.load(std::memory_order_relaxed); }
  // An event was asked for and has not come: the program is about to wait.
  [[nodiscard]] bool armed() const { return armed_.load(std::memory_order_acquire); }
  // Its program has asked for events and waits for them, now and then or always.
  [[nodiscard]] bool has_events() const { return has_events_.load(std::memory_order_relaxed); }

  // By queue pairs.
  void complete(const hca::Completion& completion) override;
  void attach(QueuePair* queue_pair);
  void detach(QueuePair* queue_pair);
  void forget(Qpn qpn);
  // What of a queue pair waits for a poll: nothing but acknowledgements, or requests or responses.
  enum class Deferred : std::uint8_t { kNothing, kAcks, kSends };
  void note_deferred(QueuePair& queue_pair, Deferred before, Deferred now);
  // The end of a run, with its acknowledgement, waits for the program's next look. False: nothing
  // has the context's thread look in case it does not come; then it must not wait.
  [[nodiscard]] bool note_run_put_off() {
    runs_put_off_.fetch_add(1);
    deferrals_.store(deferrals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (listed_.load()) return true;
    note_run_ended();
    return false;
  }
  void note_run_ended() { runs_put_off_.fetch_sub(1); }
  [[nodiscard]] bool has_completions() const { return stored_.load(std::memory_order_acquire) > 0; }
  // Posted to one of them, after `polls` polls of its queues.
  void note_posts(std::size_t requests, std::uint64_t polls) { posts_.add(requests, polls); }
  // A poll looks for more, or one of another queue has read something for one of them.
  void note_look() {
    full_at_look_.store(full_polls_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  void note_gathering() { posts_.gather(); }
  // Whether the program posted many before the last poll, up to one.
  [[nodiscard]] bool posted_in_run() const { return posts_.before() >= PostStreak::kMany; }
  // Whether it has posted many since.
  [[nodiscard]] bool in_run() const { return posts_.now() > PostStreak::kMany; }

 private:
  friend class Progress;
  // So many polls in vain, 50 us or so, and whoever spins on this queue lets others run in between:
  // with more spinning programs than CPUs, what it waits for may be one of them. Where a process
  // carries the packets, that is likely, and fewer will do.
  static constexpr unsigned kSpinPolls = 256;
  static constexpr unsigned kFewPolls = 8;
  // After so many polls that found completions one looks for more, unless a poll of this queue or
  // of another has read something for it meanwhile; one in kMostFullPolls does so in any case, for
  // the other sockets.
  static constexpr std::uint32_t kFullPolls = 4;
  static constexpr std::uint32_t kMostFullPolls = 64;
  // Read by a poll at once, there, where that takes no call to the kernel: a message and what goes
  // with it.
  static constexpr std::size_t kFewPackets = 4;
  // Looks of a poll that finds no completion, as long as each has read something: as many full runs
  // as a socket holds.
  static constexpr unsigned kMostReads = 64;
  // After so long in vain the thread sleeps for a moment, there.
  static constexpr Duration kVainTime = 200us;
  // What has waited for a poll for so long is sent by the context's thread though the program posts
  // on.
  static constexpr Duration kLongestWait = AlarmPace::kMost;
  class DrivingToken;
  // For acknowledgements that wait for something to go with.
  enum class Waiting : std::uint8_t { kMayGoOn, kIsOver };
  void send_deferred(Waiting waiting);
  // Sends what waits, but of those for which `stays` says so; false when another thread is at work.
  template <class Stays>
  bool send_but(Time now, const Stays& stays);
  // By the context's thread, while its list has the queue: sends what has waited for a poll for too
  // long. False: nothing waits, nor has anything begun to since the last time.
  bool send_overdue(Time now);
  // The same caller: whether the program has polled since that was asked before.
  bool polled_since_look();
  void take_waiting();
  void list(QueuePair& queue_pair);
  bool make_progress();
  bool read_what_is_there();
  // After so many polls in vain that others are to run. Counts this one.
  bool patience_is_over();
  void be_patient();
  void let_others_run();
  void end_runs_put_off(Time until);
  [[nodiscard]] bool something_waits() const {
    return deferred_.load() > 0 || runs_put_off_.load() > 0;
  }

  std::shared_ptr<Context> context_;
  std::uint32_t id_;
  std::shared_ptr<CompletionChannel> channel_;
  void* user_;

  mutable SpinLock lock_;  // guards queue_; taken inside a queue pair's lock, never around one
  hca::CompletionQueue queue_;

  // Owner token of the attached queue pairs: who holds it drives them, others go on without.
  std::atomic<bool> driving_{false};
  // Changed only by the holder of the token. Receivers, which queue pairs may share, once each.
  std::vector<QueuePair*> attached_;
  std::vector<Receiver*> receivers_;
  std::atomic<std::size_t> stored_{0};         // size of queue_, to see it without the lock
  std::atomic<std::uint64_t> polls_{0};        // grows with polling; exact with one polling thread
  std::atomic<std::uint32_t> empty_polls_{0};  // in a row
  std::atomic<std::uint32_t> full_polls_{0};
  std::atomic<std::uint32_t> full_at_look_{0};  // full_polls_ when a poll last looked for more
  std::atomic<Looks> looks_;
  std::atomic<Time> waits_since_{Time{}};  // a poll in vain after which others were let run
  // Attached queue pairs of which something waits for a poll; and more than acknowledgements does.
  // Changed, and looked at before the queue is unlisted, in one order with listed_.
  std::atomic<int> deferred_{0};
  std::atomic<int> deferred_sends_{0};
  // Runs of attached queue pairs whose ends were put off. In the same order with listed_.
  std::atomic<int> runs_put_off_{0};
  // Grows when something begins to wait: a hint, to which several threads may add at once.
  std::atomic<std::uint64_t> deferrals_{0};
  PostStreak posts_;
  // The context's list of queues of which something waits for a poll has it; and, as the thread
  // last saw them, deferrals_, what was posted in runs, and polls().
  std::atomic<bool> listed_{false};
  std::uint64_t deferrals_seen_ = 0;
  std::uint64_t in_runs_seen_ = 0;
  std::uint64_t polls_seen_ = 0;
  SpinLock waiting_lock_;            // innermost
  std::vector<QueuePair*> waiting_;  // guarded by it: all whose sends wait, and maybe others
  std::vector<QueuePair*> round_;    // what waited as a poll began; with the token
  std::atomic<bool> armed_{false};
  std::atomic<bool> has_events_{false};
  bool overrun_reported_ = false;  // guarded by lock_

  Unacknowledged completion_events_;
  Unacknowledged async_events_;
};

}  // namespace weft::host

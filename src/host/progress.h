// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/crowding.h"
#include "base/error.h"
#include "base/time.h"
#include "host/alarm_pace.h"
#include "host/queue_pair.h"
#include "io/unique_fd.h"

namespace weft::host {

// The thread that drives queue pairs when their program does not. It sleeps in epoll on the sockets
// of their receivers; when one has something and the program has polled since it last looked, the
// socket is left to the program and looked at again a little later: soon at first, later and later
// while the program keeps polling. A socket that was left in vain is kept for a while: its program
// polls now and then, but waits for memory that a peer writes. One that is kept in vain is left for
// longer. A program that asks for an event is about to sleep, so its sockets come back at once.
//
// Waking a thread on another processor costs its waker more than a datagram does, so the thread
// spins for a moment after it has read something, unless others want its processor.
class Progress {
 public:
  enum class Carrier : std::uint8_t { kKernel, kProcess };
  // `on_news` runs in the thread when `news` has become readable, and takes all that is there.
  // `carrier`: who brings packets.
  static Expected<std::unique_ptr<Progress>> start(int news, std::function<void()> on_news,
                                                   Carrier carrier);
  ~Progress();
  // `on_news` also runs whenever something new comes to `news`, until that is closed.
  Expected<void> watch_news(int news);
  // Ends the thread; nothing is driven any more but by polling. Harmless twice.
  void stop();

  // Up to so many are asked one by one; beyond, receive_ready() has an epoll of its own.
  static constexpr std::size_t kFewReceivers = 8;

  Expected<void> add(const std::shared_ptr<Receiver>& receiver);
  // More descriptors may have appeared (multicast).
  Expected<void> refresh(Receiver& receiver);
  void remove(Receiver& receiver);

  void watch(Receiver& receiver);
  // Has what waits for a poll of `queue` sent at `when`, or somewhat later.
  void arm_flush(const std::shared_ptr<CompletionQueue>& queue, Time when);
  // Have next_burst() called at `when`; not before the thread has looked at an earlier deadline.
  void arm_deadline(QueuePair& queue_pair, Time when);
  // Whose turn it is to send, of all queue pairs; and have the thread serve those who wait at
  // `when`, though nothing was answered.
  [[nodiscard]] SendTurns& turns() { return turns_; }
  void arm_turns(Time when);
  // Has the thread answer what has arrived and send all that waits, and waits for that, though not
  // for long. Takes no lock: it may be called from a signal handler that has interrupted one who
  // holds some.
  void send_owed() noexcept;
  // Reads every receiver that has something, in the caller's thread; returns how many datagrams.
  std::size_t receive_ready();

 private:
  // How soon a socket that was left to a polling program is looked at: first, and at last.
  static constexpr Duration kFirstReview = 20us;
  static constexpr Duration kLastReview = AlarmPace::kMostIfPolled;
  // What wakes the thread now and then falls together, whoever it is for.
  static Time next_multiple(Time now, Duration of) {
    return now - now.time_since_epoch() % of + of;
  }
  static constexpr std::uint32_t kKeptFor = 1000;  // after it was left in vain
  static constexpr Duration kSpin = 50us;          // after something was read
  // A yield that takes longer has let somebody else run. After so many in a row, or one in which
  // somebody spun for all of his time slice, there is no spinning for a while.
  static constexpr Duration kSlowYield = 20us;
  static constexpr unsigned kSlowYields = 3;
  static constexpr Duration kTimeSlice = 500us;
  // Deadlines of queue pairs are met this late at most: alarms cost.
  static constexpr Duration kDeadlineGrain = 50us;
  // An alarm is for all queue pairs that have asked for one. Where that is many, the next one comes
  // no sooner than after several times what it takes to look at them.
  static constexpr Duration look_time(std::size_t queue_pairs) {
    return 1us * static_cast<std::int64_t>(queue_pairs);
  }

  Progress(io::UniqueFd epoll, io::UniqueFd ready, io::UniqueFd timer, io::UniqueFd wake,
           std::function<void()> on_news, Carrier carrier);
  void run();
  // Waits as long as `timeout` says (max: for ever) for something and sees to it.
  void handle_events(Duration timeout);
  void serve(std::uint64_t tag, std::uint32_t events);
  void spin();
  [[nodiscard]] Duration until_review(Time now) const;
  void flush_deferred(Time now);
  void answer_request();
  void meet_deadlines(Time now);
  void serve_turns(Time now);
  void review(Time now);
  [[nodiscard]] Receiver::Acks acks() const;
  bool take_over(Receiver& receiver);
  void leave_to_program(Receiver& receiver, std::uint64_t activity);
  void rearm(Receiver& receiver, int operation);
  // With deferred_mutex_ held.
  void set_timer(Time when);
  void watch_deadline(Time when);
  Expected<void> register_descriptors(Receiver& receiver, int epoll, std::uint32_t events);
  std::shared_ptr<Receiver> find(std::uint64_t tag);

  io::UniqueFd epoll_;  // the thread's: sockets one-shot, timer, wake
  io::UniqueFd ready_;  // receive_ready()'s: sockets level-triggered, once there are many
  io::UniqueFd timer_;
  io::UniqueFd wake_;
  std::function<void()> on_news_;
  const Carrier carrier_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> asked_{0};     // calls of send_owed()
  std::atomic<std::uint32_t> answered_{0};  // as asked_ was when the thread last saw to it

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<Receiver>> receivers_;
  bool many_ = false;  // guarded by mutex_: sockets are in ready_ too

  SendTurns turns_;
  std::mutex deferred_mutex_;
  std::vector<std::weak_ptr<CompletionQueue>> deferred_;  // a poll is waited for, now or lately
  std::vector<std::weak_ptr<QueuePair>> timed_;           // with a deadline, now or lately
  // No deadline of timed_ is watched before. Changed with the mutex.
  std::atomic<Time> next_deadline_{Time::max()};
  Time turns_at_ = Time::max();  // max: nobody waits for a turn
  Time timer_at_ = Time::max();  // max: not set
  AlarmPace pace_;               // of what it rings for deferred_

  // The thread's own: left to programs that poll; read just now and not waited on yet.
  std::vector<std::shared_ptr<Receiver>> hot_;
  Crowding crowding_;
  std::vector<std::weak_ptr<Receiver>> left_;
  int owner_pid_;  // a forked child has no such thread
  std::thread thread_;
};

}  // namespace weft::host

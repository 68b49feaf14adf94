// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/spin_lock.h"
#include "base/time.h"

namespace weft::host {

class QueuePair;

// Whose turn it is to send new requests, where a context has many reliable connections. All of them
// at once would fill the receivers' sockets with more than caches hold, and each would send what
// the acknowledgement of its last few packets has just freed: runs of a packet or two, each with an
// acknowledgement of its own. So, as adapters do, a context serves some at a time, in the order in
// which they came; meanwhile the others' requests gather to runs.
//
// A turn is one pass: what the window allows. It ends when that is answered. An answer that takes
// long, or never comes, holds nobody up: after kLongest a turn does not count any more.
//
// For any thread; its lock is a leaf.
class SendTurns {
  enum class State : std::uint8_t { kOutside, kIdle, kWaiting, kHasTurn, kSpent };

 public:
  // With so many connections nobody waits.
  static constexpr std::size_t kFew = 64;
  // Of those whose turn it is, in bytes that wait for an answer.
  static constexpr std::uint64_t kAtOnce = 2 * 1024 * 1024;
  static constexpr Duration kLongest = 1ms;

  // A connection's part in it: of one that has joined.
  class Member {
   public:
    explicit Member(QueuePair& queue_pair) : queue_pair_(queue_pair) {}

   private:
    friend class SendTurns;
    QueuePair& queue_pair_;
    State state_ = State::kOutside;
    Time since_{};
    std::uint64_t bytes_ = 0;
    std::list<Member*>::iterator place_{};
  };

  // Whether there are so many that somebody may have to wait.
  [[nodiscard]] bool needed() const { return members_.load(std::memory_order_relaxed) > kFew; }
  void join(Member& member);
  // Before the queue pair goes; harmless twice.
  void leave(Member& member);

  enum class Answer : std::uint8_t { kMay, kWaits, kFirstToWait, kSpent };
  // Whether new requests of `member` may go now. If it waits, next() names it when they may; the
  // first to wait has next() asked for kLongest later. kSpent: others wait, so it is to ask again
  // when its last pass is answered.
  Answer ask(Member& member, Time now);
  // So much of them goes.
  void sends(Member& member, std::uint64_t bytes);
  // The pass is over, though not answered.
  void passed(Member& member);
  // The turn is over, or is not needed any more.
  void done(Member& member);

  // Somebody whose turn has just come, and who must be flushed; nobody when none may begin.
  std::shared_ptr<QueuePair> next(Time now);
  [[nodiscard]] bool somebody_waits() const {
    return waiting_count_.load(std::memory_order_relaxed) > 0;
  }

 private:
  void move(Member& member, std::list<Member*>& to, State state);
  void end(Member& member);
  void end_long_ones(Time now);
  void note_waiting() { waiting_count_.store(waiting_.size(), std::memory_order_relaxed); }

  SpinLock lock_;
  std::atomic<std::size_t> members_{0};
  std::uint64_t bytes_ = 0;     // of those whose turn it is
  std::list<Member*> idle_;     // has nothing to send, or need not wait
  std::list<Member*> waiting_;  // longest first
  std::list<Member*> served_;   // longest first
  std::atomic<std::size_t> waiting_count_{0};
};

}  // namespace weft::host

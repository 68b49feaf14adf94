// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among the LAN ports of a thread: of those that have something to do, those whose
// deadline has come, and those that are lively. One that is quiet costs nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"

namespace weft::daemon {

class LanTurns {
 public:
  // So few lively ones look themselves whether their hosts have frames, which is a system call of
  // each in every turn. With more it is cheaper to have the reactor look for all of them.
  static constexpr std::size_t kFewLively = 4;

  class Member {
   public:
    virtual ~Member() = default;

   private:
    friend class LanTurns;
    // What there is to do, up to a bound. `look`: a lively one is to look whether the host has
    // frames, of which the reactor may not have told. True: there was something.
    virtual bool work(Time now, bool look) = 0;
    // When to call it again though nothing has happened; not after `now` of work(): in the next
    // turn.
    [[nodiscard]] virtual Time deadline() const = 0;
    // It is called in every turn, though none need be taken for its sake.
    [[nodiscard]] virtual bool lively(Time now) const = 0;

    bool ready_ = false;   // is among ready_
    bool lively_ = false;  // and among lively_
  };

  LanTurns() = default;
  LanTurns(const LanTurns&) = delete;
  LanTurns& operator=(const LanTurns&) = delete;

  // It is ready(). Not from inside of work(), nor is remove().
  void add(Member& member);
  void remove(Member& member);
  // It has something to do. Not from inside of its own work().
  void ready(Member& member);

  // One turn of each that is to have one. True: there was something to do.
  bool work(Time now, bool look);
  // Of those alone that have become ready since, when nobody else is to have another one.
  bool go_on(Time now) { return run_ready(now, false); }
  // When to call work() again: in the past when somebody is ready.
  [[nodiscard]] Time deadline() const { return ready_.empty() ? earliest_ : now_; }
  // Whether work() would look for frames of all hosts that had some lately.
  [[nodiscard]] bool can_look() const { return !lively_.empty() && lively_.size() <= kFewLively; }

 private:
  void look_at_deadlines(Time now);
  bool run_ready(Time now, bool look);

  std::vector<Member*> members_;
  std::vector<Member*> ready_;
  std::vector<Member*> running_;  // those whose turn it is
  std::vector<Member*> lively_;
  Time earliest_ = Time::max();  // deadline of those that are not ready, or before it
  Time now_{};
};

}  // namespace weft::daemon

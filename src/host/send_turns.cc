// SPDX-License-Identifier: Apache-2.0
#include "host/send_turns.h"

#include <mutex>

#include "host/queue_pair.h"

namespace weft::host {

void SendTurns::move(Member& member, std::list<Member*>& to, State state) {
  std::list<Member*>& from = member.state_ == State::kIdle      ? idle_
                             : member.state_ == State::kWaiting ? waiting_
                                                                : served_;
  to.splice(to.end(), from, member.place_);
  member.state_ = state;
  note_waiting();
}

void SendTurns::end(Member& member) {
  bytes_ -= member.bytes_;
  member.bytes_ = 0;
  move(member, idle_, State::kIdle);
}

void SendTurns::end_long_ones(Time now) {
  while (!served_.empty() && now - served_.front()->since_ > kLongest)
    end(*served_.front());
}

void SendTurns::join(Member& member) {
  const std::lock_guard guard(lock_);
  member.place_ = idle_.insert(idle_.end(), &member);
  member.state_ = State::kIdle;
  ++members_;
}

void SendTurns::leave(Member& member) {
  const std::lock_guard guard(lock_);
  if (member.state_ == State::kOutside) return;
  if (member.state_ != State::kIdle) end(member);
  idle_.erase(member.place_);
  member.state_ = State::kOutside;
  --members_;
}

SendTurns::Answer SendTurns::ask(Member& member, Time now) {
  const std::lock_guard guard(lock_);
  if (member.state_ == State::kHasTurn) return Answer::kMay;
  if (!needed()) {
    if (member.state_ != State::kIdle) end(member);
    return Answer::kMay;
  }
  if (member.state_ == State::kWaiting) return Answer::kWaits;
  end_long_ones(now);
  if (member.state_ == State::kSpent) {
    if (!waiting_.empty()) return Answer::kSpent;
    end(member);
  }
  if (waiting_.empty() && bytes_ < kAtOnce) {
    member.since_ = now;
    move(member, served_, State::kHasTurn);
    return Answer::kMay;
  }
  const bool first = waiting_.empty();
  move(member, waiting_, State::kWaiting);
  return first ? Answer::kFirstToWait : Answer::kWaits;
}

void SendTurns::sends(Member& member, std::uint64_t bytes) {
  const std::lock_guard guard(lock_);
  if (member.state_ != State::kHasTurn) return;
  member.bytes_ += bytes;
  bytes_ += bytes;
}

void SendTurns::passed(Member& member) {
  const std::lock_guard guard(lock_);
  if (member.state_ == State::kHasTurn) member.state_ = State::kSpent;
}

void SendTurns::done(Member& member) {
  const std::lock_guard guard(lock_);
  if (member.state_ != State::kOutside && member.state_ != State::kIdle) end(member);
}

std::shared_ptr<QueuePair> SendTurns::next(Time now) {
  if (!somebody_waits()) return nullptr;
  const std::lock_guard guard(lock_);
  end_long_ones(now);
  while (!waiting_.empty() && bytes_ < kAtOnce) {
    Member& member = *waiting_.front();
    member.since_ = now;
    move(member, served_, State::kHasTurn);
    // Null while it is being destroyed: it leaves in a moment.
    if (auto queue_pair = member.queue_pair_.weak_from_this().lock()) return queue_pair;
  }
  return nullptr;
}

}  // namespace weft::host

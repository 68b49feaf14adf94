// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_turns.h"

#include <algorithm>
#include <utility>

namespace weft::daemon {

void LanTurns::add(Member& member) {
  members_.push_back(&member);
  ready(member);
}

void LanTurns::remove(Member& member) {
  for (auto* const list : {&members_, &ready_, &lively_})
    std::erase(*list, &member);
}

void LanTurns::ready(Member& member) {
  if (!std::exchange(member.ready_, true)) ready_.push_back(&member);
}

bool LanTurns::work(Time now, bool look) {
  now_ = now;
  if (earliest_ <= now) look_at_deadlines(now);
  look = look && can_look();
  for (Member* const member : lively_) {
    member->lively_ = false;
    ready(*member);
  }
  lively_.clear();
  return run_ready(now, look);
}

bool LanTurns::run_ready(Time now, bool look) {
  running_.swap(ready_);
  bool worked = false;
  for (Member* const member : running_) {
    member->ready_ = false;
    // Who has found something is not to wait for others that look.
    worked = member->work(now, look && !worked) || worked;
    if (!member->lively_ && member->lively(now)) {
      member->lively_ = true;
      lively_.push_back(member);
    }
    const Time due = member->deadline();
    if (due <= now) {
      ready(*member);
    } else {
      earliest_ = std::min(earliest_, due);
    }
  }
  running_.clear();
  return worked;
}

void LanTurns::look_at_deadlines(Time now) {
  earliest_ = Time::max();
  for (Member* const member : members_) {
    const Time due = member->deadline();
    if (due <= now) {
      ready(*member);
    } else {
      earliest_ = std::min(earliest_, due);
    }
  }
}

}  // namespace weft::daemon

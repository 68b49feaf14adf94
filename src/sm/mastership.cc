// SPDX-License-Identifier: Apache-2.0
#include "sm/mastership.h"

#include <algorithm>
#include <tuple>

namespace weft::sm {
namespace {

using State = wire::SmState;

// IBA 14.4.1.1.
bool is_above(const wire::SmInfo& a, const wire::SmInfo& b) {
  return std::tuple(b.priority, a.guid.value()) < std::tuple(a.priority, b.guid.value());
}

// The highest of those that `counts` holds for; null: none.
template <class Predicate>
const OtherManager* highest(std::span<const OtherManager> others, Predicate counts) {
  const OtherManager* best = nullptr;
  for (const OtherManager& other : others) {
    if (counts(other.info) && (best == nullptr || is_above(other.info, best->info))) best = &other;
  }
  return best;
}

}  // namespace

wire::SmInfo Mastership::info(std::uint32_t activity) const {
  return {.guid = guid_,
          .sm_key = options_.sm_key,
          .activity = activity,
          .priority = options_.priority,
          .state = state_};
}

bool Mastership::is_above(const wire::SmInfo& other) const {
  return sm::is_above(info(0), other);
}

void Mastership::enter(State state) {
  state_ = state;
  handing_over_ = false;
  misses_ = 0;
  still_ = 0;
}

void Mastership::follow(const OtherManager& other) {
  if (!peer_ || peer_->info.guid != other.info.guid) {
    misses_ = 0;
    still_ = 0;
  }
  peer_ = other;
}

bool Mastership::is_stopped(const wire::SmInfo& other) const {
  return stopped_ && stopped_->guid == other.guid && stopped_->activity == other.activity;
}

bool Mastership::lives(const wire::SmInfo& other) const {
  return other.state != State::kNotActive && !is_stopped(other);
}

bool Mastership::is_master(const wire::SmInfo& other) const {
  return lives(other) && other.state == State::kMaster;
}

bool Mastership::is_higher(const wire::SmInfo& other) const {
  return lives(other) && !is_above(other);
}

Mastership::Verdict Mastership::judge(std::span<const OtherManager> others) {
  others_.assign(others.begin(), others.end());
  if (state_ == State::kMaster) return judge_as_master();
  if (state_ != State::kDiscovering) return Verdict::kStandBy;
  const OtherManager* other =
      highest(others_, [this](const auto& info) { return is_master(info); });
  if (other == nullptr)
    other = highest(others_, [this](const auto& info) { return is_higher(info); });
  if (other != nullptr) {
    enter(State::kStandby);
    follow(*other);
    return Verdict::kStandBy;
  }
  enter(State::kMaster);
  peer_.reset();
  return Verdict::kManage;
}

Mastership::Verdict Mastership::judge_as_master() {
  // One that still discovers takes a HANDOVER for a reason to look once more, and stands by then:
  // it has seen a master.
  const OtherManager* const heir = highest(others_, [this](const wire::SmInfo& info) {
    return is_higher(info) && info.state != State::kDiscovering;
  });
  if (heir != nullptr) {
    follow(*heir);
    handing_over_ = true;
    return Verdict::kHandOver;
  }
  // Without an heir, those that are higher discover, and masters are lower.
  const auto is_to_change = [this](const wire::SmInfo& info) {
    return is_higher(info) || is_master(info);
  };
  std::erase_if(stubborn_, [&](Guid guid) {
    return std::ranges::none_of(others_, [&](const OtherManager& other) {
      return other.info.guid == guid && is_to_change(other.info);
    });
  });
  const OtherManager* const awaited = highest(others_, [&](const wire::SmInfo& info) {
    return is_to_change(info) && std::ranges::find(stubborn_, info.guid) == stubborn_.end();
  });
  if (awaited != nullptr) {
    follow(*awaited);
    return Verdict::kWait;
  }
  peer_.reset();
  return Verdict::kManage;
}

void Mastership::handed_over() {
  if (handing_over_) enter(State::kStandby);
}

void Mastership::isolated() {
  enter(State::kDiscovering);
  peer_.reset();
}

bool Mastership::should_call_peer() const {
  return peer_ && peer_->info.state == State::kMaster && is_above(peer_->info);
}

bool Mastership::missed() {
  if (++misses_ < options_.poll_misses) return false;
  if (state_ == State::kStandby) enter(State::kDiscovering);
  peer_.reset();
  return true;
}

bool Mastership::polled(const std::optional<wire::SmInfo>& answer) {
  if (state_ != State::kStandby && state_ != State::kMaster) return false;
  // A standby without anybody to poll (it was told to stand by, by whom it does not know) must not
  // wait for ever.
  if (!peer_ || !answer || answer->guid != peer_->info.guid || !has_key(*answer)) {
    return missed();
  }
  misses_ = 0;
  const bool anew =
      state_ == State::kStandby ? polled_by_standby(*answer) : polled_by_master(*answer);
  if (anew && state_ == State::kStandby) enter(State::kDiscovering);
  if (peer_) peer_->info = *answer;
  return anew;
}

bool Mastership::polled_by_standby(const wire::SmInfo& answer) {
  if (answer.state == State::kMaster) {
    still_ = answer.activity == peer_->info.activity ? still_ + 1 : 0;
    if (still_ < options_.poll_misses) return false;
    stopped_ = answer;
    return true;
  }
  // A higher one that is about to become master, or follows another one itself. A lower one that
  // is master no more is nobody to wait for.
  return answer.state == State::kNotActive || is_above(answer);
}

bool Mastership::polled_by_master(const wire::SmInfo& answer) {
  const bool waits =
      is_above(answer) ? answer.state == State::kMaster : answer.state == State::kDiscovering;
  if (!waits) return true;
  if (++still_ < options_.poll_misses) return false;
  stubborn_.push_back(answer.guid);
  peer_.reset();
  return true;
}

std::optional<bool> Mastership::command(SmControl control, const wire::SmInfo& from) {
  const bool acknowledges = control == SmControl::kAcknowledge;
  if (from.state != (acknowledges ? State::kStandby : State::kMaster)) return std::nullopt;
  if (!has_key(from) || from.guid == guid_) return std::nullopt;
  switch (state_) {
    case State::kDiscovering:
      if (control == SmControl::kHandover) return true;
      return std::nullopt;
    case State::kMaster:
      if (control == SmControl::kHandover) return true;
      if (acknowledges && handing_over_) {
        handed_over();
        return false;
      }
      return std::nullopt;
    case State::kNotActive: {
      if (control != SmControl::kStandby) return std::nullopt;
      enter(State::kStandby);
      const auto known = std::find_if(others_.begin(), others_.end(), [&](const auto& other) {
        return other.info.guid == from.guid;
      });
      peer_.reset();
      if (known != others_.end()) follow(*known);
      return false;
    }
    case State::kStandby:
      break;
  }
  switch (control) {
    case SmControl::kHandover:
      enter(State::kMaster);
      peer_.reset();
      return true;
    case SmControl::kDiscover:
      enter(State::kDiscovering);
      peer_.reset();
      return true;
    case SmControl::kDisable:
      enter(State::kNotActive);
      peer_.reset();
      return false;
    case SmControl::kAcknowledge:
      return false;
    case SmControl::kStandby:
      break;
  }
  return std::nullopt;
}

}  // namespace weft::sm

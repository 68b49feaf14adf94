// SPDX-License-Identifier: Apache-2.0
#include "lan/host_groups.h"

#include <algorithm>
#include <utility>

namespace weft::lan {

HostGroups::HostGroups(const Options& options, Time now)
    : options_(options),
      next_query_(now),
      response_(options.quick_response),
      complete_at_(now + options.leave) {
}

bool HostGroups::begin_again(Time now) {
  if (starts_up(now)) return false;
  startup_until_ = now + options_.startup;
  begin(now, options_.startup);
  return collect(now);
}

bool HostGroups::heard(const GroupMessage& message, Time now) {
  if (message.kind() == GroupMessage::Kind::kQuery) {
    router_until_ = now + options_.router_for;
    return collect(now);
  }
  bool left = false;
  message.for_each([&](const MacAddress& group, bool wanted) {
    if (!is_reported_group(group)) return;
    const auto known = groups_.find(group);
    if (wanted && known == groups_.end() && groups_.size() >= GroupList::kMost) {
      too_many_until_ = now + options_.lifetime;
    } else if (wanted) {
      groups_[group] = now + options_.lifetime;
    } else if (known != groups_.end()) {
      known->second = std::min(known->second, now + options_.leave);
      left = true;
    }
  });
  if (left) {
    response_ = options_.quick_response;
    next_query_ = queried_ ? std::max(now, *queried_ + options_.quick_response) : now;
  }
  return collect(now);
}

// Who is asked twice anyway has said by then whatever it said to the other one.
void HostGroups::begin_anew(Time now) {
  if (!starts_up(now)) begin(now, Duration::zero());
}

void HostGroups::begin(Time now, Duration startup) {
  response_ = options_.quick_response;
  next_query_ = now;
  complete_at_ = now + startup + options_.leave;
}

void HostGroups::queried(Time now) {
  queried_ = now;
  const bool startup = starts_up(now);
  next_query_ = startup ? *startup_until_ : now + options_.query_every;
  response_ = startup ? options_.quick_response : options_.response;
}

bool HostGroups::run(Time now) {
  if (router_until_ && now >= *router_until_) {
    router_until_.reset();
    next_query_ = now;
  }
  return collect(now);
}

// What is wanted now. True: that has changed.
bool HostGroups::collect(Time now) {
  if (complete_at_ && now >= *complete_at_) complete_at_.reset();
  std::erase_if(groups_, [now](const auto& each) { return now >= each.second; });
  // Who still wants one has reported it by then, and there was room.
  if (too_many_until_ && now >= *too_many_until_) too_many_until_.reset();
  GroupList wanted{.all = router() || too_many_until_ || complete_at_.has_value(), .groups = {}};
  next_end_.reset();
  wanted.groups.reserve(groups_.size());
  for (const auto& [group, until] : groups_) {
    wanted.groups.push_back(group);
    if (!next_end_ || until < *next_end_) next_end_ = until;
  }
  const bool changed = wanted != wanted_;
  wanted_ = std::move(wanted);
  return changed;
}

Time HostGroups::deadline() const {
  Time next = router() ? *router_until_ : next_query_;
  if (complete_at_) next = std::min(next, *complete_at_);
  if (too_many_until_) next = std::min(next, *too_many_until_);
  if (next_end_) next = std::min(next, *next_end_);
  return next;
}

}  // namespace weft::lan

// SPDX-License-Identifier: Apache-2.0
#include "wan/router/multicast_routes.h"

#include <algorithm>

namespace weft::wan {

void MulticastRoutes::tell_all(Site& site, Time now) {
  site.next = 0;
  site.repeat_at = now + options_.repeat_after;
}

void MulticastRoutes::site_changed(std::uint32_t index, bool up, Time now) {
  Site& site = sites_[index];
  site = Site{.up = up, .wanted = {}, .ended = {}};
  tell_all(site, now);
}

void MulticastRoutes::set_local(const std::vector<LocalGroup>& groups, Time now) {
  std::unordered_map<Gid, LocalGroup> local;
  for (const LocalGroup& group : groups) {
    if (is_routed_group(group.mgid) && local.size() < options_.groups) local[group.mgid] = group;
  }
  std::vector<Gid> ended;
  for (const auto& [mgid, group] : local_) {
    if (!local.contains(mgid)) ended.push_back(mgid);
  }
  const bool grown = local.size() + ended.size() > local_.size();
  local_ = std::move(local);
  if (!grown && ended.empty()) return;
  order_.clear();
  for (const auto& [mgid, group] : local_)
    order_.push_back(mgid);
  for (Site& site : sites_) {
    if (!site.up) continue;
    // What ended before, and has not been told yet, may be there again.
    site.ended.insert(site.ended.end(), ended.begin(), ended.end());
    std::erase_if(site.ended, [this](const Gid& mgid) { return local_.contains(mgid); });
    tell_all(site, now);
  }
}

const LocalGroup* MulticastRoutes::find_local(const Gid& mgid) const {
  const auto found = local_.find(mgid);
  return found == local_.end() ? nullptr : &found->second;
}

bool MulticastRoutes::heard(std::uint32_t index, const GroupInterest& interest, Time now) {
  auto& wanted = sites_[index].wanted;
  std::erase_if(wanted, [now](const auto& each) { return each.second <= now; });
  bool room = true;
  for (const Gid& mgid : interest.groups) {
    if (interest.hold.count() == 0) {
      wanted.erase(mgid);
    } else if (wanted.contains(mgid) || wanted.size() < options_.groups) {
      wanted[mgid] = now + interest.hold;
    } else {
      room = false;
    }
  }
  return room;
}

bool MulticastRoutes::wants(std::uint32_t site, const Gid& mgid, Time now) const {
  const auto found = sites_[site].wanted.find(mgid);
  return found != sites_[site].wanted.end() && now < found->second;
}

std::optional<GroupInterest> MulticastRoutes::tell(std::uint32_t index, Time now) {
  Site& site = sites_[index];
  if (!site.up) return std::nullopt;
  GroupInterest out;
  if (!site.ended.empty()) {
    const std::size_t kept = site.ended.size() - std::min(site.ended.size(), GroupInterest::kMost);
    out.groups.assign(site.ended.begin() + static_cast<std::ptrdiff_t>(kept), site.ended.end());
    site.ended.resize(kept);
    return out;
  }
  if (now >= site.repeat_at) tell_all(site, now);
  if (site.next >= order_.size()) return std::nullopt;
  const std::size_t count = std::min(order_.size() - site.next, GroupInterest::kMost);
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(site.next);
  out.hold = options_.hold;
  out.groups.assign(first, first + static_cast<std::ptrdiff_t>(count));
  site.next += count;
  return out;
}

std::optional<Time> MulticastRoutes::deadline() const {
  std::optional<Time> first;
  for (const Site& site : sites_) {
    if (!site.up) continue;
    if (!site.ended.empty() || site.next < order_.size()) return Time{};
    if (!order_.empty()) first = std::min(first.value_or(site.repeat_at), site.repeat_at);
  }
  return first;
}

}  // namespace weft::wan

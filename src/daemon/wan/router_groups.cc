// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/router_groups.h"

#include <algorithm>
#include <set>

#include "daemon/notice_reports.h"
#include "daemon/sa_question.h"
#include "hca/types.h"
#include "io/clock.h"
#include "sm/sa/subscriptions.h"
#include "wire/sm/notice.h"

namespace weft::daemon {
namespace {

using wire::MemberRecord;

// For one answer of the administrator, and how often it is asked again.
constexpr Duration kRouterGroupsPatience = 250ms;
constexpr unsigned kRouterGroupsRetries = 3;

constexpr Duration kLookAgain = 1s;             // while nobody tells, or something has failed
constexpr Duration kLookSeldom = 15s;           // otherwise, and to subscribe again
constexpr Duration kRouterGroupsGather = 20ms;  // what changes within is one change
constexpr Duration kRouterGroupsRenewAfter = 3s;
constexpr std::size_t kMostJoining = 64;  // at a time

constexpr std::array kRouterGroupsTraps{wire::TrapNumber::kGroupCreated,
                                        wire::TrapNumber::kGroupDeleted};

bool is_answer(Bytes mad) {
  const auto header = wire::MadHeader::parse(mad);
  return header && header->method == wire::MadMethod::kGetResponse && header->status == 0;
}

}  // namespace

RouterGroups::RouterGroups(fabric::ChannelAdapter& node, Changed changed)
    : node_(node), changed_(std::move(changed)), agents_(node.management(), *this) {
}

Expected<void> RouterGroups::start() {
  mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kSubnAdm,
                            .class_version = wire::kSaClassVersion,
                            .rmpp = true};
  wanted.methods.set(static_cast<std::size_t>(wire::MadMethod::kReport));
  return agents_.open(node_.port_count(), wanted);
}

void RouterGroups::stop() {
  agents_.close();
  due_.reset();
}

void RouterGroups::use(std::optional<mgmt::PortNumber> port, const Gid& gid, bool anew, Time now) {
  Place place{.port = port, .gid = gid, .lid = {}, .manager = {}};
  if (port) {
    const wire::PortInfo info = node_.port_info(*port);
    place.lid = info.lid;
    place.manager = info.master_sm_lid;
  }
  if (std::exchange(place_, place) == place && !anew) return;
  list_ = 0;
  stale_ = false;
  joining_.clear();
  subscribing_ = {};
  told_ = {};
  subscribe_at_ = now;
  due_ = port ? std::optional(now) : std::nullopt;
  if (in_.empty()) return;
  in_.clear();
  tell();
}

void RouterGroups::tell() {
  std::vector<wan::LocalGroup> groups;
  for (const auto& [mgid, membership] : in_)
    groups.push_back(membership.group);
  changed_(groups);
}

bool RouterGroups::ask(Bytes mad, std::uint64_t cookie, Time now) {
  const wire::PortInfo info = node_.port_info(*place_.port);
  const mgmt::MadRequest request{
      .to = {.lid = info.master_sm_lid, .sl = info.master_sm_sl, .qpn = kQp1, .qkey = kGsiQKey},
      .mad = mad,
      .timeout = kRouterGroupsPatience,
      .retries = kRouterGroupsRetries,
      .cookie = cookie};
  const auto sent = agents_.send(*place_.port, request, now);
  node_.management_used();
  return sent.has_value();
}

void RouterGroups::subscribe(Time now) {
  subscribe_at_ = now + kLookSeldom;
  for (std::size_t i = 0; i < kRouterGroupsTraps.size(); ++i) {
    const std::uint64_t cookie = ++asked_;
    const auto question =
        notice_subscription(kRouterGroupsTraps[i], true, static_cast<std::uint32_t>(cookie));
    subscribing_[i] = ask(question, cookie, now) ? cookie : 0;
  }
}

bool RouterGroups::take_subscribed(std::uint64_t cookie, bool taken) {
  const auto found = std::ranges::find(subscribing_, cookie);
  if (cookie == 0 || found == subscribing_.end()) return false;
  told_[static_cast<std::size_t>(found - subscribing_.begin())] = taken;
  *found = 0;
  if (!taken) look_by(io::now() + kLookAgain);
  return true;
}

void RouterGroups::take_report(mgmt::PortNumber port, const mgmt::ReceivedMad& mad, Time now) {
  const bool ours = place_.port == port;
  const auto notice = ours ? read_notice_report(mad, place_.manager) : std::nullopt;
  if (!notice) return;
  confirm_notice_report(node_, port, agents_.at(port), mad);
  if (!notice->generic ||
      std::ranges::find(kRouterGroupsTraps, notice->trap) == kRouterGroupsTraps.end())
    return;
  ++reports_;
  const Gid mgid = sm::gid_of(*notice);
  // What is answered yet to who has joined before is about the group as it was.
  std::erase_if(joining_, [&](const auto& each) { return each.second == mgid; });
  // One that has ended may have begun anew by the time that the list comes, and may have done so
  // without its end having been told of.
  if (notice->trap == wire::TrapNumber::kGroupDeleted) {
    if (in_.erase(mgid) > 0) tell();
  } else if (const auto known = in_.find(mgid); known != in_.end()) {
    known->second.renew_at = now;
  }
  stale_ = list_ != 0;
  look_by(now + kRouterGroupsGather);
}

void RouterGroups::look_by(Time when) {
  if (list_ == 0 && place_.port) due_ = std::min(due_.value_or(when), when);
}

void RouterGroups::end_list(Duration wait, Time now) {
  list_ = 0;
  due_ = now + (std::exchange(stale_, false) ? kRouterGroupsGather : wait);
}

void RouterGroups::run(Time now) {
  if (!due_ || *due_ > now) return;
  if (now >= subscribe_at_) subscribe(now);
  list_ = ++asked_;
  const auto question =
      sa_question(wire::MadMethod::kGetTable, 0, MemberRecord{}, static_cast<std::uint32_t>(list_));
  due_ = ask(question, list_, now) ? std::nullopt : std::optional(now + kLookAgain);
}

void RouterGroups::join(const Gid& mgid, Time now) {
  constexpr std::uint64_t kJoined =
      MemberRecord::kHasMgid | MemberRecord::kHasPortGid | MemberRecord::kHasJoinState;
  const MemberRecord record{
      .mgid = mgid, .port_gid = place_.gid, .join_state = MemberRecord::kNonMember};
  const std::uint64_t cookie = ++asked_;
  const auto question =
      sa_question(wire::MadMethod::kSet, kJoined, record, static_cast<std::uint32_t>(cookie));
  if (ask(question, cookie, now)) joining_.emplace(cookie, mgid);
}

void RouterGroups::take_list(Bytes mad, Time now) {
  const auto header = wire::MadHeader::parse(mad);
  const auto none = static_cast<std::uint16_t>(wire::SaStatus::kNoRecords);
  if (!header || header->method != wire::MadMethod::kGetTableResponse ||
      (header->status != 0 && header->status != none)) {
    return look_by(now + kLookAgain);
  }
  std::set<Gid> there;
  // A record of the group alone: who is in it is nobody's business.
  for (const MemberRecord& record : sa_records<MemberRecord>(mad)) {
    if (wan::is_routed_group(record.mgid)) there.insert(record.mgid);
  }
  const auto gone =
      std::erase_if(in_, [&](const auto& each) { return !there.contains(each.first); });
  if (gone > 0) tell();
  bool put_off = false;
  for (const Gid& mgid : there) {
    const auto known = in_.find(mgid);
    const bool holds = known != in_.end() && now < known->second.renew_at;
    const bool room = in_.size() + joining_.size() < wan::MulticastRoutes::Options{}.groups;
    if (holds || (known == in_.end() && !room)) continue;
    if (joining_.size() < kMostJoining) {
      join(mgid, now);
    } else {
      put_off = true;
    }
  }
  if (put_off) look_by(now + kLookAgain);
}

void RouterGroups::take_answer(const Gid& mgid, Bytes mad, Time now) {
  const auto record = mad.size() < wire::kMadSize
                          ? std::nullopt
                          : MemberRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  const bool taken = record && is_answer(mad) && record->mgid == mgid &&
                     !hca::is_unicast(record->mlid) && record->mlid != Lid{};
  if (!taken) {
    if (in_.erase(mgid) > 0) tell();
    return look_by(now + kLookAgain);
  }
  Membership& membership = in_[mgid];
  membership.renew_at = now + kRouterGroupsRenewAfter;
  const wan::LocalGroup group{.mgid = mgid,
                              .port = *place_.port,
                              .slid = place_.lid,
                              .mlid = record->mlid,
                              .sl = record->sl};
  if (std::exchange(membership.group, group) != group) tell();
}

void RouterGroups::received(mgmt::PortNumber port, const mgmt::ReceivedMad& mad) {
  const Time now = io::now();
  if (!mad.cookie) return take_report(port, mad, now);
  if (!place_.port) return;
  if (*mad.cookie == list_) {
    end_list(is_told() ? kLookSeldom : kLookAgain, now);
    return take_list(mad.mad, now);
  }
  if (take_subscribed(*mad.cookie, is_answer(mad.mad))) return;
  const auto joined = joining_.find(*mad.cookie);
  if (joined == joining_.end()) return;
  const Gid mgid = joined->second;
  joining_.erase(joined);
  take_answer(mgid, mad.mad, now);
}

void RouterGroups::finished(mgmt::PortNumber, std::uint64_t cookie, mgmt::MadResult) {
  const Time now = io::now();
  if (joining_.erase(cookie) > 0) return look_by(now + kLookAgain);
  if (!place_.port || take_subscribed(cookie, false) || cookie != list_) return;
  end_list(kLookAgain, now);
}

}  // namespace weft::daemon

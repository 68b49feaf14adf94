// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/router_groups.h"

#include <algorithm>
#include <set>

#include "daemon/sa_question.h"
#include "hca/types.h"
#include "io/clock.h"
#include "wire/sa/sa_layout.h"

namespace weft::daemon {
namespace {

using wire::MemberRecord;

// For one answer of the administrator, and how often it is asked again.
constexpr Duration kPatience = 250ms;
constexpr unsigned kRetries = 3;

constexpr Duration kLookAgain = 1s;
constexpr Duration kRenewAfter = 3s;
constexpr std::size_t kMostJoining = 64;  // at a time

// A record of the group alone: who is in it is nobody's business.
std::vector<MemberRecord> read_list(Bytes mad) {
  std::vector<MemberRecord> out;
  const auto sa = wire::SaHeader::parse(mad);
  if (!sa || mad.size() < wire::SaHeader::kDataOffset) return out;
  const std::size_t stride = std::size_t{sa->attribute_offset} * 8;
  Bytes rest = mad.subspan(wire::SaHeader::kDataOffset);
  while (stride >= MemberRecord::kSize && rest.size() >= stride) {
    out.push_back(*MemberRecord::parse(rest));
    rest = rest.subspan(stride);
  }
  return out;
}

}  // namespace

RouterGroups::RouterGroups(fabric::ChannelAdapter& node, Changed changed)
    : node_(node), changed_(std::move(changed)) {
}

Expected<void> RouterGroups::start() {
  for (unsigned number = 1; number <= node_.port_count(); ++number) {
    const auto agent = node_.management()
                           .mad_port(static_cast<mgmt::PortNumber>(number))
                           .add_agent({.mgmt_class = wire::MgmtClass::kSubnAdm,
                                       .class_version = wire::kSaClassVersion,
                                       .rmpp = true},
                                      *this);
    if (!agent) return tl::unexpected(agent.error());
    agents_.push_back(*agent);
  }
  return {};
}

void RouterGroups::stop() {
  for (unsigned number = 1; number <= agents_.size(); ++number) {
    const auto port = static_cast<mgmt::PortNumber>(number);
    node_.management().mad_port(port).remove_agent(agents_[number - 1]);
  }
  agents_.clear();
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
  joining_.clear();
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
      .timeout = kPatience,
      .retries = kRetries,
      .cookie = cookie};
  const auto sent =
      node_.management().mad_port(*place_.port).send(agents_[*place_.port - 1u], request, now);
  node_.management_used();
  return sent.has_value();
}

void RouterGroups::run(Time now) {
  if (!due_ || *due_ > now) return;
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
    return;
  }
  std::set<Gid> there;
  for (const MemberRecord& record : read_list(mad)) {
    if (wan::is_routed_group(record.mgid)) there.insert(record.mgid);
  }
  const auto gone =
      std::erase_if(in_, [&](const auto& each) { return !there.contains(each.first); });
  if (gone > 0) tell();
  for (const Gid& mgid : there) {
    const auto known = in_.find(mgid);
    const bool holds = known != in_.end() && now < known->second.renew_at;
    const bool room = in_.size() + joining_.size() < wan::MulticastRoutes::Options{}.groups;
    if (holds || joining_.size() >= kMostJoining || (known == in_.end() && !room)) continue;
    join(mgid, now);
  }
}

void RouterGroups::take_answer(const Gid& mgid, Bytes mad, Time now) {
  const auto header = wire::MadHeader::parse(mad);
  const auto record = mad.size() < wire::kMadSize
                          ? std::nullopt
                          : MemberRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  const bool taken = header && record && header->status == 0 && record->mgid == mgid &&
                     header->method == wire::MadMethod::kGetResponse &&
                     !hca::is_unicast(record->mlid) && record->mlid != Lid{};
  if (!taken) {
    if (in_.erase(mgid) > 0) tell();
    return;
  }
  Membership& membership = in_[mgid];
  membership.renew_at = now + kRenewAfter;
  const wan::LocalGroup group{.mgid = mgid,
                              .port = *place_.port,
                              .slid = place_.lid,
                              .mlid = record->mlid,
                              .sl = record->sl};
  if (std::exchange(membership.group, group) != group) tell();
}

void RouterGroups::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (!mad.cookie || !place_.port) return;
  const Time now = io::now();
  if (*mad.cookie == list_) {
    list_ = 0;
    due_ = now + kLookAgain;
    return take_list(mad.mad, now);
  }
  const auto joined = joining_.find(*mad.cookie);
  if (joined == joining_.end()) return;
  const Gid mgid = joined->second;
  joining_.erase(joined);
  take_answer(mgid, mad.mad, now);
}

void RouterGroups::finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult) {
  joining_.erase(cookie);
  if (cookie != list_ || !place_.port) return;
  list_ = 0;
  due_ = io::now() + kLookAgain;
}

}  // namespace weft::daemon

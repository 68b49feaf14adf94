// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/groups.h"

#include <algorithm>
#include <utility>

#include "sm/sa/selector.h"
#include "wire/grh.h"
#include "wire/sm/smp.h"
#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

using wire::MemberRecord;
using wire::SaStatus;
using Selector = wire::SaValue::Selector;

constexpr std::size_t kGroupsRecordSize = 56;  // as records follow each other
constexpr std::uint64_t kToJoin =
    MemberRecord::kHasMgid | MemberRecord::kHasPortGid | MemberRecord::kHasJoinState;
constexpr std::uint64_t kToCreate = kToJoin | MemberRecord::kHasQKey |
                                    MemberRecord::kHasTrafficClass | MemberRecord::kHasPKey |
                                    MemberRecord::kHasSl | MemberRecord::kHasFlowLabel;
constexpr std::uint8_t kScopeLinkLocal = 2;
constexpr std::uint8_t kScopeMask = 0xF;
constexpr std::uint8_t kAnyHops = 0xFF;
// IBA 4.1.1: in an MGID that the administrator has given.
constexpr std::uint16_t kGivenSignature = 0xA01B;

// Of an MGID, IBA 4.1.1.
std::uint8_t scope_of(const Gid& mgid) {
  return mgid.bytes()[1] & kScopeMask;
}

// Whether somebody may choose it for a new group: not without a scope, nor with flags that nobody
// has defined, nor where it is like those that are given here.
bool may_be_chosen(const Gid& mgid) {
  constexpr std::uint8_t kReservedFlags = 0xE0;
  const std::uint8_t scope = scope_of(mgid);
  if ((mgid.bytes()[1] & kReservedFlags) != 0) return false;
  const auto signature = static_cast<std::uint16_t>(prefix_of(mgid) >> 32);
  const bool is_given = scope == kScopeLinkLocal && signature == kGivenSignature;
  return scope != 0 && !is_given;
}

Wanted wanted_mtu(std::uint64_t mask, const MemberRecord& asked) {
  return Wanted::of(mask, MemberRecord::kHasMtuSelector, MemberRecord::kHasMtu, asked.mtu);
}
Wanted wanted_rate(std::uint64_t mask, const MemberRecord& asked) {
  return Wanted::of(mask, MemberRecord::kHasRateSelector, MemberRecord::kHasRate, asked.rate);
}
Wanted wanted_life(std::uint64_t mask, const MemberRecord& asked) {
  return Wanted::of(mask, MemberRecord::kHasLifeSelector, MemberRecord::kHasLife,
                    asked.packet_life);
}

// Whether a value that stands is within a bound.
bool within(const Wanted& wanted, std::uint32_t value, std::uint32_t bound) {
  if (!wanted.asked) return true;
  switch (wanted.value.selector) {
    case Selector::kAbove:
      return value > bound;
    case Selector::kBelow:
      return value < bound;
    case Selector::kExactly:
      return value == bound;
    case Selector::kLargest:
      return true;
  }
  return false;
}

bool bounds_hold(std::uint64_t mask, const MemberRecord& asked, const MemberRecord& like) {
  return within(wanted_mtu(mask, asked), like.mtu.value, asked.mtu.value) &&
         within(wanted_rate(mask, asked), wire::rate_mbps(like.rate.value),
                wire::rate_mbps(asked.rate.value)) &&
         within(wanted_life(mask, asked), like.packet_life.value, asked.packet_life.value);
}

// What a question says of the group itself, but for its MGID.
bool is_like(std::uint64_t mask, const MemberRecord& asked, const MemberRecord& like) {
  const auto differs = [&](std::uint64_t component, bool same) {
    return (mask & component) != 0 && !same;
  };
  return !differs(MemberRecord::kHasQKey, asked.qkey == like.qkey) &&
         !differs(MemberRecord::kHasMlid, asked.mlid == like.mlid) &&
         !differs(MemberRecord::kHasTrafficClass, asked.traffic_class == like.traffic_class) &&
         !differs(MemberRecord::kHasPKey,
                  ((asked.pkey.value() ^ like.pkey.value()) & kPartitionBits) == 0) &&
         !differs(MemberRecord::kHasSl, asked.sl == like.sl) &&
         !differs(MemberRecord::kHasFlowLabel, asked.flow_label == like.flow_label) &&
         !differs(MemberRecord::kHasHopLimit, asked.hop_limit == like.hop_limit) &&
         !differs(MemberRecord::kHasScope, asked.scope == like.scope) &&
         bounds_hold(mask, asked, like);
}

// A group is there as long as it is to last, or has a full member.
bool is_kept(const GroupState& group) {
  const auto counts = [](const auto& member) {
    return (member.second.join_state &
            (MemberRecord::kFullMember | MemberRecord::kSendOnlyFullMember)) != 0;
  };
  return group.lasting || std::any_of(group.members.begin(), group.members.end(), counts);
}

void add_record(SaReply& reply, const MemberRecord& record) {
  record.write(reply.add(kGroupsRecordSize));
}

// What a question says of a member, but for its port.
bool is_asked(const SaRequest& request, const MemberRecord& asked,
              const GroupTable::Member& member) {
  const bool state =
      !request.has(MemberRecord::kHasJoinState) || (asked.join_state & member.join_state) != 0;
  return state &&
         (!request.has(MemberRecord::kHasProxyJoin) || asked.proxy_join == member.by_proxy);
}

// The records of a group that are as the question says. Who is in it, only the trusted are told;
// the others, that it is there.
void tell_group(const SaRequest& request, const MemberRecord& asked, const GroupTable::Group& group,
                SaReply& reply) {
  if (!is_like(request.sa.component_mask, asked, group.like)) return;
  const bool one_port = request.has(MemberRecord::kHasPortGid);
  const bool any_member = !one_port && !request.has(MemberRecord::kHasJoinState) &&
                          !request.has(MemberRecord::kHasProxyJoin);
  if (any_member && (!request.trusted || group.members.empty())) {
    return add_record(reply, group.like);
  }
  for (const auto& [gid, member] : group.members) {
    if ((one_port && gid != asked.port_gid) || !is_asked(request, asked, member)) continue;
    if (!request.trusted) return add_record(reply, group.like);
    add_record(reply, member_record(group, gid, member));
  }
}

}  // namespace

MemberRecord member_record(const GroupTable::Group& group, const Gid& port,
                           const GroupTable::Member& member) {
  MemberRecord record = group.like;
  record.port_gid = port;
  record.join_state = member.join_state;
  record.proxy_join = member.by_proxy;
  return record;
}

const GroupTable::Group* GroupTable::find(const Gid& mgid) const {
  const auto found = groups_.find(mgid);
  return found == groups_.end() ? nullptr : &found->second;
}

const GroupTable::Group* GroupTable::find(Lid mlid) const {
  const auto found = by_mlid_.find(mlid);
  return found == by_mlid_.end() ? nullptr : find(found->second);
}

std::optional<Lid> GroupTable::free_mlid() const {
  unsigned next = wire::MulticastBlock::kFirstLid;
  for (const auto& [mlid, mgid] : by_mlid_) {
    if (mlid.value() != next) break;
    ++next;
  }
  constexpr unsigned kPermissive = 0xFFFF;
  if (next - wire::MulticastBlock::kFirstLid >= mlids_ || next >= kPermissive) return std::nullopt;
  return Lid{static_cast<std::uint16_t>(next)};
}

Gid GroupTable::free_mgid(const SubnetView& view, std::uint8_t scope) {
  for (;;) {
    const std::uint64_t high = std::uint64_t{0xFF10} << 48 | std::uint64_t{scope} << 48 |
                               std::uint64_t{kGivenSignature} << 32 | view.gid_prefix() >> 32;
    const Gid mgid = make_gid(high, Guid{view.gid_prefix() << 32 | ++last_drawn_});
    if (!groups_.contains(mgid)) return mgid;
  }
}

GroupTable::Groups::iterator GroupTable::insert(const MemberRecord& like, bool lasting) {
  const auto made = groups_.emplace(like.mgid, Group{.like = like, .lasting = lasting}).first;
  by_mlid_.emplace(like.mlid, like.mgid);
  if (store_ != nullptr) store_->record_group(like, lasting);
  events_.push_back({.created = true, .mgid = like.mgid, .mlid = like.mlid, .pkey = like.pkey});
  ++generation_;
  return made;
}

bool GroupTable::add_lasting(const MemberRecord& like) {
  MemberRecord wanted = like;
  if (const auto found = groups_.find(like.mgid); found != groups_.end()) {
    Group& group = found->second;
    wanted.mlid = group.like.mlid;
    if (group.lasting && group.like == wanted) return true;
    group.lasting = true;
    group.like = wanted;
    if (store_ != nullptr) store_->record_group(wanted, true);
    return true;
  }
  const auto mlid = free_mlid();
  if (!mlid) return false;
  wanted.mlid = *mlid;
  insert(wanted, true);
  return true;
}

bool GroupTable::restore(const Group& group) {
  const MemberRecord& like = group.like;
  const bool has_place = like.mgid.bytes()[0] == 0xFF && !groups_.contains(like.mgid) &&
                         like.mlid.value() >= wire::MulticastBlock::kFirstLid &&
                         like.mlid != wire::kPermissiveLid && !by_mlid_.contains(like.mlid) &&
                         group.members.size() <= options_.most_members - members_;
  constexpr std::uint8_t kAnyState = 0xF;
  const bool has_sense =
      std::all_of(group.members.begin(), group.members.end(), [](const auto& member) {
        const std::uint8_t state = member.second.join_state;
        return state != 0 && state <= kAnyState;
      });
  if (!has_place || !has_sense) return false;
  if (!is_kept(group)) return true;
  insert(like, group.lasting)->second.members = group.members;
  members_ += group.members.size();
  return true;
}

void GroupTable::record_all() const {
  if (store_ == nullptr) return;
  for (const auto& [mgid, group] : groups_) {
    store_->record_group(group.like, group.lasting);
    for (const auto& [gid, member] : group.members)
      store_->record_member(mgid, gid, member);
  }
}

SaStatus GroupTable::check(const SubnetView& view, const SaRequest& request,
                           const MemberRecord& asked, const ViewEnd& port,
                           const Group& group) const {
  const wire::PortInfo& info = *view.port_of(port).info;
  const bool can = info.mtu_cap >= group.like.mtu.value &&
                   wire::rate_mbps(wire::rate_code(info)) >= wire::rate_mbps(group.like.rate.value);
  const bool fits = is_like(request.sa.component_mask, asked, group.like) && can &&
                    view.has_partition(port, group.like.pkey);
  return fits ? SaStatus::kOk : SaStatus::kRequestInvalid;
}

SaStatus GroupTable::create(const SubnetView& view, const SaRequest& request,
                            const MemberRecord& asked, const ViewEnd& port,
                            Groups::iterator& made) {
  if (!request.has(kToCreate)) return SaStatus::kInsufficientComponents;
  if ((asked.join_state & MemberRecord::kFullMember) == 0) return SaStatus::kRequestInvalid;
  if (!view.has_partition(port, asked.pkey)) return SaStatus::kRequestInvalid;
  const std::uint64_t mask = request.sa.component_mask;
  const wire::PortInfo& info = *view.port_of(port).info;
  const std::uint8_t port_rate = wire::rate_code(info);
  const Wanted mtu = wanted_mtu(mask, asked);
  const Wanted rate = wanted_rate(mask, asked);
  const auto usual_rate =
      wire::rate_mbps(options_.rate) < wire::rate_mbps(port_rate) ? options_.rate : port_rate;
  const auto best_mtu =
      greatest(mtu, mtu.asked ? info.mtu_cap : std::min(options_.mtu, info.mtu_cap));
  const auto best_rate = greatest_rate(rate, rate.asked ? port_rate : usual_rate);
  const auto life = lifetime(wanted_life(mask, asked), options_.packet_life);
  const auto mlid = free_mlid();
  if (!best_mtu || !best_rate || !life) return SaStatus::kRequestInvalid;
  if (!mlid) return SaStatus::kNoResources;
  MemberRecord like = asked;
  if (!asked.mgid.is_zero() && !may_be_chosen(asked.mgid)) return SaStatus::kRequestInvalid;
  if (asked.mgid.is_zero()) {
    const bool scoped = (mask & MemberRecord::kHasScope) != 0 && asked.scope != 0;
    like.mgid = free_mgid(view, scoped ? asked.scope : kScopeLinkLocal);
  }
  // The scope is in the MGID too.
  like.scope = scope_of(like.mgid);
  // IBA 8.3.6: beyond the subnet, packets need hops.
  if ((mask & MemberRecord::kHasHopLimit) == 0) {
    like.hop_limit = like.scope > kScopeLinkLocal ? kAnyHops : 0;
  }
  like.port_gid = Gid{};
  like.join_state = 0;
  like.proxy_join = false;
  like.mlid = *mlid;
  like.mtu = exactly(*best_mtu);
  like.rate = exactly(*best_rate);
  like.packet_life = exactly(*life);
  made = insert(like, false);
  return SaStatus::kOk;
}

void GroupTable::join(const SubnetView& view, const SaRequest& request, SaReply& reply) {
  const auto asked = *MemberRecord::parse(request.data);
  if (!request.has(kToJoin)) return reply.fail(SaStatus::kInsufficientComponents);
  const std::uint32_t end = view.end_of(asked.port_gid);
  const bool named = asked.mgid.is_zero() || asked.mgid.bytes()[0] == 0xFF;
  if (end == SubnetView::kNobody || !named || asked.join_state == 0 ||
      request.requester == SubnetView::kNobody) {
    return reply.fail(SaStatus::kRequestInvalid);
  }
  const ViewEnd& port = view.ends()[end];
  const bool by_proxy = request.requester != end;
  if (by_proxy && !view.common_pkey(view.ends()[request.requester], port)) {
    return reply.fail(SaStatus::kRequestInvalid);
  }
  auto group = groups_.find(asked.mgid);
  const Gid gid = view.with_prefix(asked.port_gid);
  const bool is_new = group == groups_.end() || !group->second.members.contains(gid);
  if (is_new && members_ >= options_.most_members) return reply.fail(SaStatus::kNoResources);
  const SaStatus status = group == groups_.end() ? create(view, request, asked, port, group)
                                                 : check(view, request, asked, port, group->second);
  if (status != SaStatus::kOk) return reply.fail(status);
  Member& member = group->second.members[gid];
  // What a port has joined by itself, nobody changes for it.
  if (!is_new && by_proxy && !member.by_proxy) return reply.fail(SaStatus::kRequestInvalid);
  const std::uint8_t before = member.join_state;
  member.join_state |= asked.join_state;
  if (is_new) {
    member.by_proxy = by_proxy;
    member.port = port.guid;
    ++members_;
  }
  if (member.join_state != before) {
    ++generation_;
    if (store_ != nullptr) store_->record_member(group->first, gid, member);
  }
  add_record(reply, member_record(group->second, gid, member));
}

void GroupTable::end_if_empty(Groups::iterator group) {
  if (is_kept(group->second)) return;
  members_ -= group->second.members.size();
  const MemberRecord& like = group->second.like;
  if (store_ != nullptr) store_->forget_group(like.mgid);
  events_.push_back({.created = false, .mgid = like.mgid, .mlid = like.mlid, .pkey = like.pkey});
  by_mlid_.erase(group->second.like.mlid);
  groups_.erase(group);
  ++generation_;
}

void GroupTable::leave(const SubnetView& view, const SaRequest& request, SaReply& reply) {
  const auto asked = *MemberRecord::parse(request.data);
  if (!request.has(kToJoin)) return reply.fail(SaStatus::kInsufficientComponents);
  const std::uint32_t end = view.end_of(asked.port_gid);
  const auto group = groups_.find(asked.mgid);
  if (end == SubnetView::kNobody || group == groups_.end()) {
    return reply.fail(SaStatus::kRequestInvalid);
  }
  const Gid gid = view.with_prefix(asked.port_gid);
  const auto member = group->second.members.find(gid);
  if (member == group->second.members.end() ||
      (member->second.join_state & asked.join_state) != asked.join_state || asked.join_state == 0 ||
      (request.requester != end && !member->second.by_proxy)) {
    return reply.fail(SaStatus::kRequestInvalid);
  }
  member->second.join_state =
      static_cast<std::uint8_t>(member->second.join_state & ~asked.join_state);
  add_record(reply, member_record(group->second, gid, member->second));
  ++generation_;
  if (member->second.join_state == 0) {
    if (store_ != nullptr) store_->forget_member(group->first, gid);
    group->second.members.erase(member);
    --members_;
  } else if (store_ != nullptr) {
    store_->record_member(group->first, gid, member->second);
  }
  end_if_empty(group);
}

void GroupTable::find(const SaRequest& request, SaReply& reply) const {
  const auto asked = *MemberRecord::parse(request.data);
  if (request.has(MemberRecord::kHasMgid)) {
    if (const Group* const group = find(asked.mgid)) tell_group(request, asked, *group, reply);
    return;
  }
  for (const auto& [mgid, group] : groups_) {
    if (reply.full()) return;
    tell_group(request, asked, group, reply);
  }
}

std::vector<MulticastGroup> GroupTable::forwarding() const {
  constexpr std::uint8_t kReceives = MemberRecord::kFullMember | MemberRecord::kNonMember;
  std::vector<MulticastGroup> found;
  for (const auto& [mgid, group] : groups_) {
    MulticastGroup& forwarded = found.emplace_back();
    forwarded.mlid = group.like.mlid;
    for (const auto& [gid, member] : group.members) {
      auto& list = (member.join_state & kReceives) != 0 ? forwarded.members : forwarded.senders;
      list.push_back(member.port);
    }
  }
  return found;
}

void GroupTable::forget(const Gid& port) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    const auto here = group++;
    if (here->second.members.erase(port) == 0) continue;
    if (store_ != nullptr) store_->forget_member(here->first, port);
    --members_;
    ++generation_;
    end_if_empty(here);
  }
}

void GroupTable::forget_missing(const SubnetView& view) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    const auto here = group++;
    const std::size_t gone = std::erase_if(here->second.members, [&](const auto& member) {
      if (view.end_of(member.first) != SubnetView::kNobody) return false;
      if (store_ != nullptr) store_->forget_member(here->first, member.first);
      return true;
    });
    if (gone == 0) continue;
    members_ -= gone;
    ++generation_;
    end_if_empty(here);
  }
}

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_group.h"

#include <utility>

#include "daemon/sa_question.h"
#include "hca/types.h"
#include "rdmacm/path_record.h"
#include "wire/sa/member_record.h"

namespace weft::daemon {
namespace {

using wire::MemberRecord;

// Memberships have no lease, but an administrator may lose them and not say so.
constexpr Duration kLanGroupRenewAfter = 100s;
constexpr Duration kLanGroupTryAfter = 500ms;
constexpr Duration kLanGroupTryAtMost = 60s;

constexpr std::uint64_t kWhich =
    MemberRecord::kHasMgid | MemberRecord::kHasPortGid | MemberRecord::kHasJoinState;
// What makes the group if it is not there yet.
constexpr std::uint64_t kLanGroupToJoin = kWhich | MemberRecord::kHasQKey |
                                          MemberRecord::kHasTrafficClass | MemberRecord::kHasPKey |
                                          MemberRecord::kHasSl | MemberRecord::kHasFlowLabel;

wire::MadBuffer membership(const LanPlace& place, wire::MadMethod method,
                           std::uint32_t transaction) {
  MemberRecord record;
  record.mgid = kLanGroup;
  record.port_gid = place.gid();
  record.qkey = kLanGroupQKey;
  record.pkey = kDefaultPKey;
  record.join_state = MemberRecord::kFullMember;
  const std::uint64_t mask = method == wire::MadMethod::kSet ? kLanGroupToJoin : kWhich;
  return sa_question(method, mask, record, transaction);
}

}  // namespace

std::optional<LanGroup> read_lan_group(Bytes mad) {
  const auto header = wire::MadHeader::parse(mad);
  if (!header || header->method != wire::MadMethod::kGetResponse || header->status != 0 ||
      header->attribute_id != MemberRecord::kAttributeId || mad.size() < wire::kMadSize) {
    return std::nullopt;
  }
  const auto record = MemberRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  const std::uint32_t mtu = rdmacm::mtu_bytes(record->mtu.value);
  const bool is_multicast = record->mlid.value() >= 0xC000 && record->mlid.value() < 0xFFFF;
  if (record->mgid != kLanGroup || record->qkey != kLanGroupQKey || !is_multicast || mtu == 0) {
    return std::nullopt;
  }
  return LanGroup{.mgid = record->mgid,
                  .mlid = record->mlid,
                  .qkey = record->qkey,
                  .sl = record->sl,
                  .mtu = static_cast<std::uint16_t>(mtu)};
}

LanGroupMember::LanGroupMember(const LanPlace& place, LanSubnetCounters& counters,
                               io::Reactor& reactor, LanSubnetOwner& owner)
    : counters_(counters),
      owner_(owner),
      request_(place.node(), place.at.port,
               {.make =
                    [&place](std::uint32_t transaction) {
                      return membership(place, wire::MadMethod::kSet, transaction);
                    },
                .end =
                    [&place](std::uint32_t transaction) {
                      return membership(place, wire::MadMethod::kDelete, transaction);
                    },
                .granted = [this](Bytes mad) { return take(mad); },
                .lost = [this] { lose(); },
                .renew_after = kLanGroupRenewAfter,
                .try_after = kLanGroupTryAfter,
                .try_at_most = kLanGroupTryAtMost},
               reactor) {
}

Expected<void> LanGroupMember::join() {
  return request_.start();
}

bool LanGroupMember::take(Bytes mad) {
  const auto group = read_lan_group(mad);
  if (!group) {
    counters_.add(LanSubnetCounter::kMalformed);
    return false;
  }
  if (std::exchange(in_, group) != group) owner_.group_joined(*group);
  return true;
}

void LanGroupMember::lose() {
  if (std::exchange(in_, std::nullopt)) owner_.group_left();
}

}  // namespace weft::daemon

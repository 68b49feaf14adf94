// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/subscriptions.h"

#include <algorithm>

#include "wire/grh.h"
#include "wire/sa/sa_layout.h"

namespace weft::sm {
namespace {

using wire::InformInfo;
using wire::Notice;
using wire::SaStatus;

constexpr std::size_t kGidInDetails = 6;
constexpr std::size_t kInfoInRecord = 24;

// Traps that are about a GID.
bool is_about_gid(const Notice& notice) {
  return notice.generic && notice.trap >= wire::TrapNumber::kGidInService &&
         notice.trap <= wire::TrapNumber::kGroupDeleted;
}

// Whether two say the same but for whether they subscribe.
bool same_wish(const InformInfo& a, const InformInfo& b) {
  return a.gid == b.gid && a.lid_begin == b.lid_begin && a.lid_end == b.lid_end &&
         a.generic == b.generic && a.type == b.type && a.trap == b.trap && a.producer == b.producer;
}

}  // namespace

Gid gid_of(const Notice& notice) {
  return wire::load_gid(notice.details.data() + kGidInDetails);
}

void set_gid(Notice& notice, const Gid& gid) {
  wire::store_gid(notice.details.data() + kGidInDetails, gid);
}

void Subscriptions::set(const SubnetView& view, const SaRequest& request, SaReply& reply) {
  auto info = *InformInfo::parse(request.data);
  if (request.requester == SubnetView::kNobody) return reply.fail(SaStatus::kRequestInvalid);
  const Gid subscriber = view.gid_of(view.ends()[request.requester]);
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Subscription& each) {
    return each.subscriber == subscriber && same_wish(each.info, info) &&
           each.to.qpn == request.from.qpn;
  });
  if (!info.subscribe) {
    if (found == all_.end()) return reply.fail(SaStatus::kRequestInvalid);
    all_.erase(found);
  } else if (found == all_.end()) {
    if (all_.size() >= most_) return reply.fail(SaStatus::kNoResources);
    info.qpn = request.from.qpn;
    all_.push_back(
        {.subscriber = subscriber, .number = ++last_number_, .to = request.from, .info = info});
  }
  info.write(reply.add((InformInfo::kSize + 7) / 8 * 8));
}

void Subscriptions::find(const SaRequest& request, SaReply& reply) const {
  for (const Subscription& each : all_) {
    if (reply.full()) return;
    const MutableBytes record = reply.add(wire::kInformInfoRecord.size);
    wire::store_gid(record.data(), each.subscriber);
    wire::store_be16(record.data() + 16, each.number);
    each.info.write(record.subspan(kInfoInRecord));
    if (!wire::matches(wire::kInformInfoRecord, request.sa.component_mask, request.data, record))
      reply.drop_last();
  }
}

bool Subscriptions::covers(const SubnetView& view, const Subscription& subscription,
                           const Notice& notice) {
  const InformInfo& info = subscription.info;
  const bool kind =
      info.generic == notice.generic &&
      (info.type == InformInfo::kAnyType || info.type == static_cast<std::uint16_t>(notice.type)) &&
      (info.trap == InformInfo::kAnyTrap || info.trap == static_cast<std::uint16_t>(notice.trap)) &&
      (info.producer == InformInfo::kAnyProducer || info.producer == notice.producer);
  if (!kind) return false;
  if (!info.gid.is_zero()) return is_about_gid(notice) && gid_of(notice) == info.gid;
  const bool any_lid = info.lid_begin == InformInfo::kAnyLid || info.lid_begin == Lid{};
  if (!any_lid && (notice.issuer < info.lid_begin || notice.issuer > info.lid_end)) return false;
  // A port is told of those only that it shares a partition with.
  if (!is_about_gid(notice)) return true;
  const std::uint32_t subject = view.end_of(gid_of(notice));
  const std::uint32_t subscriber = view.end_of(subscription.subscriber);
  return subject == SubnetView::kNobody || subscriber == SubnetView::kNobody ||
         view.common_pkey(view.ends()[subscriber], view.ends()[subject]).has_value();
}

std::vector<mgmt::MadAddress> Subscriptions::who_wants(const SubnetView& view,
                                                       const Notice& notice) const {
  std::vector<mgmt::MadAddress> found;
  for (const Subscription& each : all_) {
    const bool told = std::find(found.begin(), found.end(), each.to) != found.end();
    if (!told && covers(view, each, notice)) found.push_back(each.to);
  }
  return found;
}

void Subscriptions::forget_missing(const SubnetView& view) {
  std::erase_if(all_, [&](const Subscription& each) {
    return view.end_of(each.subscriber) == SubnetView::kNobody;
  });
}

}  // namespace weft::sm

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
  return notice.generic && (notice.trap == wire::TrapNumber::kRePath ||
                            (notice.trap >= wire::TrapNumber::kGidInService &&
                             notice.trap <= wire::TrapNumber::kGroupDeleted));
}

// Whether two say the same but for whether they subscribe.
bool same_wish(const InformInfo& a, const InformInfo& b) {
  return a.gid == b.gid && a.lid_begin == b.lid_begin && a.lid_end == b.lid_end &&
         a.generic == b.generic && a.type == b.type && a.trap == b.trap && a.producer == b.producer;
}

// Of which ports, it says by LIDs.
bool names_lids(const InformInfo& info) {
  return info.gid.is_zero() && info.lid_begin != InformInfo::kAnyLid && info.lid_begin != Lid{};
}

// IBA 13.4.11. Of vendors' notices, trap and producer are DeviceID and VendorID.
bool fits(const InformInfo& info, const Report& report) {
  const Notice& notice = report.notice;
  const bool kind =
      info.generic == notice.generic &&
      (info.type == InformInfo::kAnyType || info.type == static_cast<std::uint16_t>(notice.type)) &&
      (info.trap == InformInfo::kAnyTrap || info.trap == static_cast<std::uint16_t>(notice.trap)) &&
      (info.producer == InformInfo::kAnyProducer || info.producer == notice.producer);
  if (!kind) return false;
  if (!info.gid.is_zero()) {
    return info.gid == report.issuer || (is_about_gid(notice) && info.gid == gid_of(notice));
  }
  return !names_lids(info) || (notice.issuer >= info.lid_begin && notice.issuer <= info.lid_end);
}

}  // namespace

Gid gid_of(const Notice& notice) {
  return wire::load_gid(notice.details.data() + kGidInDetails);
}

void set_gid(Notice& notice, const Gid& gid) {
  wire::store_gid(notice.details.data() + kGidInDetails, gid);
}

bool Subscriptions::may_subscribe(const SubnetView& view, std::uint32_t requester,
                                  const InformInfo& info) {
  const ViewEnd& asker = view.ends()[requester];
  if (!info.gid.is_zero()) {
    const std::uint32_t end = view.end_of(info.gid);
    return end == SubnetView::kNobody || view.shares_partition(asker, view.ends()[end]);
  }
  if (!names_lids(info)) return true;
  return std::all_of(view.ends().begin(), view.ends().end(), [&](const ViewEnd& end) {
    const bool named = end.lid >= info.lid_begin && end.lid <= info.lid_end;
    return !named || view.shares_partition(asker, end);
  });
}

void Subscriptions::set(const SubnetView& view, const SaRequest& request, SaReply& reply) {
  auto info = *InformInfo::parse(request.data);
  if (request.requester == SubnetView::kNobody) return reply.fail(SaStatus::kRequestInvalid);
  if (info.subscribe && !may_subscribe(view, request.requester, info)) {
    return reply.fail(SaStatus::kRequestInvalid);
  }
  const Gid subscriber = view.gid_of(view.ends()[request.requester]);
  const auto found = find_like(subscriber, info, request.from.qpn);
  if (!info.subscribe) {
    if (found == all_.end()) return reply.fail(SaStatus::kRequestInvalid);
    if (store_ != nullptr) store_->forget_subscription(*found);
    all_.erase(found);
  } else if (found == all_.end()) {
    if (all_.size() >= most_) return reply.fail(SaStatus::kNoResources);
    info.qpn = request.from.qpn;
    all_.push_back({.subscriber = subscriber,
                    .number = ++last_number_,
                    .to = request.from,
                    .info = info,
                    .trusted = request.trusted});
    record(all_.back());
  } else if (found->to != request.from || found->trusted != request.trusted) {
    found->to = request.from;
    found->trusted = request.trusted;
    record(*found);
  }
  info.write(reply.add((InformInfo::kSize + 7) / 8 * 8));
}

Subscriptions::All::iterator Subscriptions::find_like(const Gid& subscriber, const InformInfo& info,
                                                      Qpn qpn) {
  return std::find_if(all_.begin(), all_.end(), [&](const SubscriptionState& each) {
    return each.subscriber == subscriber && same_wish(each.info, info) && each.to.qpn == qpn;
  });
}

void Subscriptions::record(const SubscriptionState& subscription) const {
  if (store_ != nullptr) store_->record_subscription(subscription);
}

void Subscriptions::record_all() const {
  for (const SubscriptionState& each : all_)
    record(each);
}

bool Subscriptions::restore(const SubscriptionState& subscription) {
  const InformInfo& info = subscription.info;
  const bool makes_sense = info.subscribe && info.qpn == subscription.to.qpn &&
                           !subscription.subscriber.is_zero() && subscription.to.lid != Lid{};
  if (!makes_sense || all_.size() >= most_ ||
      find_like(subscription.subscriber, info, info.qpn) != all_.end()) {
    return false;
  }
  last_number_ = std::max(last_number_, subscription.number);
  all_.push_back(subscription);
  return true;
}

void Subscriptions::find(const SaRequest& request, SaReply& reply) const {
  for (const SubscriptionState& each : all_) {
    if (reply.full()) return;
    const MutableBytes record = reply.add(wire::kInformInfoRecord.size);
    wire::store_gid(record.data(), each.subscriber);
    wire::store_be16(record.data() + 16, each.number);
    each.info.write(record.subspan(kInfoInRecord));
    if (!wire::matches(wire::kInformInfoRecord, request.sa.component_mask, request.data, record))
      reply.drop_last();
  }
}

bool Subscriptions::may_know(const SubnetView& view, const SubscriptionState& subscription,
                             const Report& report) {
  const std::uint32_t subscriber = view.end_of(subscription.subscriber);
  if (subscriber == SubnetView::kNobody) return false;
  const ViewEnd& asker = view.ends()[subscriber];
  if (report.group) return view.has_partition(asker, *report.group);
  const std::uint32_t subject =
      view.end_of(is_about_gid(report.notice) ? gid_of(report.notice) : report.issuer);
  // Of what is gone, nobody knows the partitions.
  return subject == SubnetView::kNobody || view.shares_partition(asker, view.ends()[subject]);
}

std::vector<Recipient> Subscriptions::who_wants(const SubnetView& view, const Report& report) {
  std::vector<Recipient> found;
  std::erase_if(all_, [&](const SubscriptionState& each) {
    if (!fits(each.info, report)) return false;
    if (!may_know(view, each, report)) {
      if (!names_lids(each.info)) return false;
      if (store_ != nullptr) store_->forget_subscription(each);
      return true;
    }
    const auto known = std::find_if(found.begin(), found.end(),
                                    [&](const Recipient& other) { return other.to == each.to; });
    if (known == found.end()) {
      found.push_back({.to = each.to, .trusted = each.trusted});
    } else {
      known->trusted = known->trusted || each.trusted;
    }
    return false;
  });
  return found;
}

void Subscriptions::view_changed(const SubnetView& view) {
  std::erase_if(all_, [&](SubscriptionState& each) {
    const std::uint32_t subscriber = view.end_of(each.subscriber);
    if (subscriber == SubnetView::kNobody) {
      if (store_ != nullptr) store_->forget_subscription(each);
      return true;
    }
    if (view.end_of(each.to.lid) != subscriber) {
      each.to.lid = view.ends()[subscriber].lid;
      record(each);
    }
    return false;
  });
}

}  // namespace weft::sm

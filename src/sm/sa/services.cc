// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/services.h"

#include <algorithm>
#include <chrono>

#include "wire/sa/sa_layout.h"

namespace weft::sm {
namespace {

using wire::SaStatus;
using wire::ServiceRecord;

constexpr std::uint64_t kIdentity =
    ServiceRecord::kHasId | ServiceRecord::kHasGid | ServiceRecord::kHasPKey;

bool has_key(const ServiceRecord& record) {
  return record.key != decltype(record.key){};
}

}  // namespace

void ServiceTable::put(const Service& service) {
  if (service.ends) next_ = std::min(next_.value_or(*service.ends), *service.ends);
  services_.insert_or_assign(name_of(service.record), service);
}

bool ServiceTable::restore(const ServiceState& service, Time now) {
  if (services_.size() >= most_ || services_.contains(name_of(service.record))) return false;
  Service restored{.record = service.record};
  if (service.left) restored.ends = now + *service.left;
  put(restored);
  return true;
}

void ServiceTable::record(const Service& service, Time now) const {
  if (store_ == nullptr) return;
  ServiceState state{.record = service.record};
  if (service.ends) state.left = *service.ends - now;
  store_->record_service(state);
}

void ServiceTable::record_all(Time now) const {
  for (const auto& [name, service] : services_)
    record(service, now);
}

void ServiceTable::set(const SubnetView& view, const SaRequest& request, SaReply& reply, Time now) {
  auto record = *ServiceRecord::parse(request.data);
  if (!request.has(ServiceRecord::kHasId | ServiceRecord::kHasGid)) {
    return reply.fail(SaStatus::kInsufficientComponents);
  }
  const std::uint32_t end = view.end_of(record.gid);
  const bool in_partition =
      !request.has(ServiceRecord::kHasPKey) || record.pkey == PKey{} ||
      (end != SubnetView::kNobody && view.has_partition(view.ends()[end], record.pkey));
  if (end == SubnetView::kNobody || !in_partition) return reply.fail(SaStatus::kRequestInvalid);
  if (!request.has(ServiceRecord::kHasLease)) record.lease = ServiceRecord::kForEver;
  const Name name = name_of(record);
  const auto found = services_.find(name);
  if (found == services_.end() && services_.size() >= most_) {
    return reply.fail(SaStatus::kNoResources);
  }
  if (found != services_.end() && has_key(found->second.record) &&
      found->second.record.key != record.key) {
    return reply.fail(SaStatus::kRequestInvalid);
  }
  Service service{.record = record};
  if (record.lease != ServiceRecord::kForEver) {
    service.ends = now + std::chrono::seconds(record.lease);
  }
  put(service);
  this->record(service, now);
  record.write(reply.add(ServiceRecord::kSize));
}

void ServiceTable::remove(const SaRequest& request, SaReply& reply) {
  const auto record = *ServiceRecord::parse(request.data);
  if (!request.has(ServiceRecord::kHasId | ServiceRecord::kHasGid)) {
    return reply.fail(SaStatus::kInsufficientComponents);
  }
  for (auto at = services_.begin(); at != services_.end(); ++at) {
    const ServiceRecord& own = at->second.record;
    const bool same = own.id == record.id && own.gid == record.gid &&
                      (!request.has(kIdentity) || own.pkey == record.pkey);
    if (!same) continue;
    if (has_key(own) && own.key != record.key) return reply.fail(SaStatus::kDenied);
    const Service gone = at->second;
    services_.erase(at);
    if (store_ != nullptr) store_->forget_service(gone.record);
    gone.record.write(reply.add(ServiceRecord::kSize));
    return;
  }
  reply.fail(SaStatus::kNoRecords);
}

// The lease that is told is what is left of it. Keys are not told at all.
void ServiceTable::offer(const SaRequest& request, const Service& service, SaReply& reply,
                         Time now) const {
  ServiceRecord record = service.record;
  if (service.ends) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*service.ends - now);
    record.lease = static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0));
  }
  const MutableBytes out = reply.add(ServiceRecord::kSize);
  record.write(out);
  constexpr std::uint64_t kNotCompared = ServiceRecord::kHasLease;
  if (!wire::matches(wire::kServiceRecord, request.sa.component_mask & ~kNotCompared, request.data,
                     out)) {
    return reply.drop_last();
  }
  if (request.trusted) return;
  record.key = {};
  record.write(out);
}

void ServiceTable::find(const SubnetView& view, const SaRequest& request, SaReply& reply,
                        Time now) const {
  for (const auto& [name, service] : services_) {
    if (reply.full()) return;
    // Of a partition that the asker is not in, it is told nothing.
    const PKey pkey = service.record.pkey;
    const bool known = pkey == PKey{} || request.trusted ||
                       (request.requester != SubnetView::kNobody &&
                        view.has_partition(view.ends()[request.requester], pkey));
    if (known) offer(request, service, reply, now);
  }
}

void ServiceTable::run(Time now) {
  if (!next_ || *next_ > now) return;
  next_.reset();
  std::erase_if(services_, [&](const auto& each) {
    const auto& ends = each.second.ends;
    if (ends && *ends <= now) {
      if (store_ != nullptr) store_->forget_service(each.second.record);
      return true;
    }
    if (ends) next_ = std::min(next_.value_or(*ends), *ends);
    return false;
  });
}

}  // namespace weft::sm

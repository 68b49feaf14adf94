// SPDX-License-Identifier: Apache-2.0
#include "service/limiter/limiter.h"

#include <algorithm>

#include "service/qp_map.h"

namespace weft::service {

void Limiter::fill(Bucket& bucket, const Rate& rate, Time now) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (now <= bucket.filled) return;
  const auto elapsed = static_cast<std::uint64_t>((now - bucket.filled).count());
  bucket.filled = now;
  const unsigned __int128 more =
      static_cast<unsigned __int128>(elapsed) * rate.bytes_per_s + bucket.rest;
  const unsigned __int128 bytes = more / kSecond + bucket.bytes;
  bucket.rest = static_cast<std::uint64_t>(more % kSecond);
  bucket.bytes = static_cast<std::uint64_t>(std::min<unsigned __int128>(bytes, rate.burst));
  if (bucket.bytes == rate.burst) bucket.rest = 0;
}

Limiter::Key Limiter::tenant_of(const Fields& fields) const {
  if (options_.by == By::kPartition) return tenant_of(fields.pkey);
  Key tenant{.from = fields.global ? fields.sgid : end_of(fields.slid)};
  if (options_.by == By::kPair) tenant.to = fields.global ? fields.dgid : end_of(fields.dlid);
  return tenant;
}

Verdict Limiter::handle(Packet& packet, Time now) {
  const Fields& fields = packet.fields();
  const Key tenant = tenant_of(fields);
  if (!options_.usual_limited && !rates_.contains(tenant)) return Verdict::forward();
  const Rate& rate = rate_of(tenant);
  Bucket* bucket = buckets_.touch(tenant);
  if (bucket == nullptr) {
    bucket = &buckets_.insert(tenant, {.bytes = rate.burst, .filled = now});
  }
  fill(*bucket, rate, now);
  bucket->bytes = std::min(bucket->bytes, rate.burst);
  if (rate.bytes_per_s == 0 || bucket->bytes < fields.size) {
    ++bucket->dropped;
    const Verdict verdict = Verdict::drop(static_cast<std::uint16_t>(LimiterDrop::kOverRate));
    return options_.mirrors ? verdict.mirrored() : verdict;
  }
  bucket->bytes -= fields.size;
  ++bucket->passed;
  bucket->passed_bytes += fields.size;
  return Verdict::forward();
}

std::vector<Limiter::Tenant> Limiter::tenants(std::size_t most) const {
  std::vector<Tenant> out;
  for (const auto& [tenant, bucket] : buckets_) {
    if (out.size() == most) break;
    Tenant row{.rate = rate_of(tenant),
               .packets = bucket.passed,
               .bytes = bucket.passed_bytes,
               .dropped = bucket.dropped};
    if (options_.by == By::kPartition) {
      row.partition = partition_of(tenant);
    } else {
      row.source = tenant.from;
      row.destination = tenant.to;
    }
    out.push_back(row);
  }
  return out;
}

}  // namespace weft::service

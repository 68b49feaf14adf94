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

Verdict Limiter::handle(Packet& packet, Time now) {
  const Fields& fields = packet.fields();
  Gid tenant = tenant_of(fields.pkey);
  if (options_.by == By::kSource) tenant = fields.global ? fields.sgid : end_of(fields.slid);
  const auto own = rates_.find(tenant);
  if (own == rates_.end() && !options_.usual_limited) return Verdict::forward();
  const Rate& rate = own == rates_.end() ? options_.usual : own->second;
  Bucket* bucket = buckets_.touch(tenant);
  if (bucket == nullptr) {
    bucket = &buckets_.insert(tenant, {.bytes = rate.burst, .filled = now});
  }
  fill(*bucket, rate, now);
  bucket->bytes = std::min(bucket->bytes, rate.burst);
  if (rate.bytes_per_s == 0 || bucket->bytes < fields.size) {
    return Verdict::drop(static_cast<std::uint16_t>(LimiterDrop::kOverRate));
  }
  bucket->bytes -= fields.size;
  return Verdict::forward();
}

}  // namespace weft::service

// SPDX-License-Identifier: Apache-2.0
#include "service/flow_cache.h"

#include <bit>

namespace weft::service {

FlowCache::FlowCache(std::size_t flows, Entropy& entropy) {
  for (std::uint64_t& word : secret_)
    word = entropy.draw();
  const std::size_t sets = std::bit_ceil(std::max<std::size_t>(flows / kWays, 1));
  mask_ = sets - 1;
  flows_.resize(sets * kWays);
}

Flow* FlowCache::place(std::uint64_t hash, const Leases& leases) {
  Flow* const set = &flows_[first(hash)];
  Flow* least = set;
  for (std::size_t i = 0; i < kWays; ++i) {
    if (!set[i].used || !set[i].holds(leases)) return &set[i];
    if (set[i].credit < least->credit) least = &set[i];
  }
  if (least->credit == 0) return least;
  for (std::size_t i = 0; i < kWays; ++i)
    set[i].credit = static_cast<std::uint8_t>(set[i].credit - set[i].credit / 8 - 1);
  return nullptr;
}

}  // namespace weft::service

// SPDX-License-Identifier: Apache-2.0
// Access flags of the C ABI and of the channel adapter, whose values are the same.
#pragma once

#include <cstdint>
#include <optional>

#include "hca/types.h"
#include "verbs/abi.h"

namespace weft::verbs {

static_assert(static_cast<int>(hca::kLocalWrite) == IBV_ACCESS_LOCAL_WRITE);
static_assert(static_cast<int>(hca::kRemoteWrite) == IBV_ACCESS_REMOTE_WRITE);
static_assert(static_cast<int>(hca::kRemoteRead) == IBV_ACCESS_REMOTE_READ);
static_assert(static_cast<int>(hca::kRemoteAtomic) == IBV_ACCESS_REMOTE_ATOMIC);
static_assert(static_cast<int>(hca::kWindowBind) == IBV_ACCESS_MW_BIND);
static_assert(static_cast<int>(hca::kZeroBased) == IBV_ACCESS_ZERO_BASED);

inline constexpr unsigned kRemoteRights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | unsigned{IBV_ACCESS_REMOTE_ATOMIC};
inline constexpr unsigned kRegionRights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | kRemoteRights;
// Programs pass local write here too; it means nothing to a peer.
inline constexpr unsigned kQueuePairRights = IBV_ACCESS_LOCAL_WRITE | kRemoteRights;
inline constexpr unsigned kWindowRights = kQueuePairRights | unsigned{IBV_ACCESS_ZERO_BASED};

// Hints, which change nothing here: nothing is pinned, so a page may be of any size and need not be
// there before it is used; and what is ordered stays so.
inline constexpr unsigned kAccessHints = unsigned{IBV_ACCESS_ON_DEMAND} |
                                         unsigned{IBV_ACCESS_HUGETLB} |
                                         unsigned{IBV_ACCESS_OPTIONAL_RANGE};

// As hca::Access bits; nothing when there is one that is neither in `known` nor a hint.
inline std::optional<std::uint32_t> access_of(unsigned flags, unsigned known) {
  const unsigned rights = flags & ~kAccessHints;
  if ((rights & ~known) != 0) return std::nullopt;
  return rights;
}

}  // namespace weft::verbs

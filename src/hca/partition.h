// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace weft::hca {

// IBA 10.9.1.2: 0 and 0x8000 name no partition; they are what unused entries of a table hold.
[[nodiscard]] constexpr bool names_partition(PKey key) {
  return (key.value() & 0x7FFF) != 0;
}

// IBA 10.9.1.1: the partition is the same and at least one side is a full member of it.
[[nodiscard]] constexpr bool same_partition(PKey a, PKey b) {
  return names_partition(a) && ((a.value() ^ b.value()) & ~kFullMemberBit) == 0 &&
         ((a.value() | b.value()) & kFullMemberBit) != 0;
}

}  // namespace weft::hca

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ids.h"
#include "verbs/abi.h"

namespace weft::verbs {

// A GID of the C ABI is 16 bytes in network order, as ours is.
inline Gid gid_of(const ibv_gid& gid) {
  std::array<std::uint8_t, 16> bytes{};
  std::ranges::copy(gid.raw, bytes.begin());
  return Gid{bytes};
}

}  // namespace weft::verbs

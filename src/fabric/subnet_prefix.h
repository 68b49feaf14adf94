// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/gid_prefix.h"

namespace weft::fabric {

// What the prefix of a subnet must be, for whoever was given another one.
inline constexpr std::string_view kSubnetPrefixWanted =
    "must be the first 64 bits of GIDs, as in \"fd00:0:0:1::/64\"";

// The prefix of a subnet, IBA 4.1.1: 64 bits; those of multicast GIDs begin with ff. Nothing: it is
// none that a subnet can have.
[[nodiscard]] inline std::optional<std::uint64_t> subnet_of(const GidPrefix& prefix) {
  if (prefix.bits() != 64 || prefix.subnet() == 0 || prefix.subnet() >> 56 == 0xFF) {
    return std::nullopt;
  }
  return prefix.subnet();
}

}  // namespace weft::fabric

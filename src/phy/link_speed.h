// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::phy {

// What a lane signals at, in the values of PortInfo's LinkSpeedActive (IBA vol 1, 14.2.5.6).
enum class LinkSpeed : std::uint8_t {
  kSdr = 1,  // 2.5 Gb/s
  kDdr = 2,  // 5.0 Gb/s
};

// Bits per second and lane; a symbol has ten of them.
[[nodiscard]] constexpr std::uint64_t lane_bits_per_s(LinkSpeed speed) {
  return speed == LinkSpeed::kSdr ? 2'500'000'000 : 5'000'000'000;
}

}  // namespace weft::phy

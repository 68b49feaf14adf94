// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::phy {

// What one lane carries, as PortInfo codes LinkSpeedActive (IBA 14.2.5.6).
enum class LinkSpeed : std::uint8_t {
  kSdr = 1,  // 2.5 Gb/s
  kDdr = 2,  // 5.0 Gb/s
};

}  // namespace weft::phy

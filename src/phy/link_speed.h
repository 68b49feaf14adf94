// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::phy {

// As PortInfo codes LinkSpeedActive (IBA 14.2.5.6): 2.5 and 5.0 Gb/s per lane.
enum class LinkSpeed : std::uint8_t { kSdr = 1, kDdr = 2 };

}  // namespace weft::phy

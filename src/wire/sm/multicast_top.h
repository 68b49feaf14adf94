// SPDX-License-Identifier: Apache-2.0
// MulticastFDBTop of SwitchInfo, IBA 14.2.5.4: a switch forwards no multicast LID above it by its
// table.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace weft::wire {

// IsMulticastFDBTopSupported, in the CapabilityMask of the PortInfo of port 0.
inline constexpr std::uint32_t kCapMulticastFdbTop = 1u << 30;
inline constexpr Lid kNoMulticastTop{0xBFFF};  // there are no groups

}  // namespace weft::wire

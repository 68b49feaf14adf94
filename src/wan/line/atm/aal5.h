// SPDX-License-Identifier: Apache-2.0
// The PDU of AAL type 5 (ITU-T I.363.5, 9.2.1):
//
//   payload, 1 to 65,535 octets | pad, 0 to 47 of zero | UU | CPI | length, 2 | CRC-32, 4
//
// as many cells as it takes, all of which say in their header that more follow, but for the last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wan/line/atm/cell.h"

namespace weft::wan::atm {

inline constexpr std::size_t kTrailerSize = 8;
inline constexpr std::size_t kLongestPayload = 65'535;

// How many cells a payload of so many octets takes.
[[nodiscard]] constexpr std::size_t cells_for(std::size_t payload) {
  return (payload + kTrailerSize + kPayloadSize - 1) / kPayloadSize;
}

}  // namespace weft::wan::atm

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace weft {

// An address of Ethernet (IEEE 802, 8.2), as its six octets are sent.
using MacAddress = std::array<std::uint8_t, 6>;

}  // namespace weft

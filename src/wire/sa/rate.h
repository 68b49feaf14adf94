// SPDX-License-Identifier: Apache-2.0
// Codes of rates, as records of paths and groups have them: IBA 15.2.5.16, table 207, with those
// that later links brought.
#pragma once

#include <cstdint>

#include "wire/sm/port_info.h"

namespace weft::wire {

// Mb/s of all lanes together, as the rate is called: 14 Gb/s for a lane of FDR. 0: no such code.
// Codes do not grow with what they stand for.
[[nodiscard]] std::uint32_t rate_mbps(std::uint8_t code);

// The code of what a link runs at; 0: it is not up.
[[nodiscard]] std::uint8_t rate_code(const PortInfo& port);

}  // namespace weft::wire

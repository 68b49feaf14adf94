// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/atm_address.h"

namespace weft::wan {

// A connection of ATM that the two ends of a line have set up by signalling: by whom, to whom. The
// one with the lower address calls the other.
struct SwitchedCircuit {
  AtmAddress own{};
  AtmAddress other{};                    // not the same
  std::uint32_t cells_per_s = 0xFFFFFF;  // at most so many are sent, which the network is told
};

}  // namespace weft::wan

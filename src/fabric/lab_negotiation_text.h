// SPDX-License-Identifier: Apache-2.0
// How a lab file says that the ports of a link negotiate DDR, and over what:
//
//   speed = "auto"
//   negotiation = { transmit = [3, 5], receive = [9, 4], no_sweep = "first" }
//   channel = { length_m = 7, noise_mv = 3, seed = 7 }
#pragma once

#include <string>

#include "fabric/lab_negotiation.h"
#include "fabric/lab_value.h"

namespace weft::fabric {

[[nodiscard]] Done read_negotiation(LabNegotiation& negotiation, const Value& value);
[[nodiscard]] Done read_channel(LabNegotiation& negotiation, const Value& value);

// Lines of a [[link]], what is as usual left out: `speed = "auto"` and so on.
[[nodiscard]] std::string negotiation_lines(const LabNegotiation& negotiation);

}  // namespace weft::fabric

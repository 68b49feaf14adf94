// SPDX-License-Identifier: Apache-2.0
// The three flow diagrams of the specification's clause 2.1.2, played by two of Weft's own ports
// with the numbers of its table 4.
#pragma once

#include <string_view>
#include <vector>

#include "phy/conformance/exchange.h"
#include "phy/negotiation/flow_text.h"

namespace weft::phy::conformance {

inline constexpr unsigned kDiagrams = 3;

// `diagram` is from 1 to kDiagrams: a success in which all arrives; one in which Node 1 misses the
// acknowledgement of its capabilities, and Node 0 that of its result; a failure, in which Node 1
// finds no settings.
[[nodiscard]] Exchange replay(unsigned diagram);
[[nodiscard]] std::string_view diagram_text(unsigned diagram);

// What flow_text() and flow_outline() print of an exchange whose lines were seen.
[[nodiscard]] std::vector<FlowStep> flow_of(const Exchange& exchange);

}  // namespace weft::phy::conformance

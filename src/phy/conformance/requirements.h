// SPDX-License-Identifier: Apache-2.0
// What the DDR auto-negotiation specification (Mellanox document 2429, revision 1.0) requires of a
// port that negotiates, one by one. The sentences are ours.
#pragma once

#include <span>
#include <string_view>

#include "phy/conformance/checks.h"

namespace weft::phy::conformance {

struct Requirement {
  std::string_view id;      // "retries"
  std::string_view clause;  // "2.2", "2.1.3, table 2"
  std::string_view text;    // one sentence
  Outcome (*check)(const Episode& episode) = nullptr;
};

// In the order of a negotiation: messages, exchange, sweep, results, DDR, counts and times.
[[nodiscard]] std::span<const Requirement> requirements();

}  // namespace weft::phy::conformance

// SPDX-License-Identifier: Apache-2.0
// Judges one node of a recorded exchange by what the specification requires.
#pragma once

#include <string_view>
#include <vector>

#include "phy/conformance/requirements.h"

namespace weft::phy::conformance {

struct Finding {
  const Requirement* requirement = nullptr;
  Outcome outcome{};
};

// One finding for each requirement, in their order. Where an exchange holds several negotiations, a
// requirement fails that failed in one of them, and passes that passed in one.
[[nodiscard]] std::vector<Finding> judge(const Exchange& exchange, unsigned node,
                                         const Rules& rules);

// "pass", "fail", "not exercised".
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

}  // namespace weft::phy::conformance

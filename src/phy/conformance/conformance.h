// SPDX-License-Identifier: Apache-2.0
// Puts a port through all scenarios and has each judged.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "phy/conformance/judge.h"
#include "phy/conformance/scenarios.h"

namespace weft::phy::conformance {

struct ScenarioReport {
  std::string_view id;
  std::string_view text;
  Role role{};
  Exchange exchange{};  // the port under test is node kTested
  std::vector<Finding> findings{};
};

struct ConformanceReport {
  std::vector<ScenarioReport> scenarios{};
  // Of all scenarios together: a requirement fails that failed in one, and passes that passed in
  // one; `seen` says where.
  std::vector<Finding> findings{};
};

[[nodiscard]] ScenarioReport run_scenario(const Scenario& scenario, Role role, const MakePort& make,
                                          const Rules& rules);
// `rules`: the parameters of both ends; they are such as NegotiationOptions::check() lets be.
[[nodiscard]] ConformanceReport run_conformance(const MakePort& make, std::span<const Role> roles,
                                                const Rules& rules);
[[nodiscard]] std::size_t failures(std::span<const Finding> findings);

}  // namespace weft::phy::conformance

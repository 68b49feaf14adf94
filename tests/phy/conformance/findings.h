// SPDX-License-Identifier: Apache-2.0
// What tests of the kit ask of its findings.
#pragma once

#include <array>
#include <set>
#include <span>
#include <string>

#include "phy/conformance/judge.h"
#include "phy/conformance/scenarios.h"

namespace weft::phy::conformance::test {

using Ids = std::set<std::string>;

inline constexpr std::array kBothRoles{Role::kRequester, Role::kResponder};

inline Ids with_verdict(std::span<const Finding> findings, Verdict verdict) {
  Ids out;
  for (const Finding& finding : findings)
    if (finding.outcome.verdict == verdict) out.insert(std::string(finding.requirement->id));
  return out;
}
inline Ids failed(std::span<const Finding> findings) {
  return with_verdict(findings, Verdict::kFail);
}
inline Verdict verdict_of(std::span<const Finding> findings, std::string_view id) {
  for (const Finding& finding : findings)
    if (finding.requirement->id == id) return finding.outcome.verdict;
  return Verdict::kFail;
}
inline std::string seen_of(std::span<const Finding> findings, std::string_view id) {
  for (const Finding& finding : findings)
    if (finding.requirement->id == id) return finding.outcome.seen;
  return "no such requirement";
}

}  // namespace weft::phy::conformance::test

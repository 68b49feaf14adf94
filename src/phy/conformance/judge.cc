// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/judge.h"

namespace weft::phy::conformance {

std::vector<Finding> judge(const Exchange& exchange, unsigned node, const Rules& rules) {
  const std::vector<Episode> episodes = episodes_of(exchange, node, rules);
  std::vector<Finding> findings;
  for (const Requirement& requirement : requirements()) {
    Finding finding{&requirement, {}};
    for (const Episode& episode : episodes) {
      Outcome outcome = requirement.check(episode);
      if (outcome.verdict > finding.outcome.verdict) finding.outcome = std::move(outcome);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNotExercised:
      return "not exercised";
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
  }
  return "";
}

}  // namespace weft::phy::conformance

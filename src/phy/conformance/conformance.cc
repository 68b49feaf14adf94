// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::phy::conformance {

ScenarioReport run_scenario(const Scenario& scenario, Role role, const MakePort& make,
                            const Rules& rules) {
  std::array<Bench::Make, 2> ports;
  ports[1 - kTested] = [&](SerdesControl& serdes, PortOutput& output) {
    return make_scripted_peer(scenario.peer, rules, serdes, output);
  };
  ports[kTested] = [&](SerdesControl& serdes, PortOutput& output) {
    return make(scenario.port, serdes, output);
  };
  BenchOptions options = scenario.bench;
  options.lanes = scenario.port.lanes;
  Bench bench(std::move(options), ports);
  bench.run_until(Time(scenario.lasts));
  ScenarioReport report{.id = scenario.id, .text = scenario.text, .role = role};
  report.exchange = bench.exchange();
  report.findings = judge(report.exchange, kTested, rules);
  return report;
}

ConformanceReport run_conformance(const MakePort& make, std::span<const Role> roles,
                                  const Rules& rules) {
  ConformanceReport report;
  for (const Role role : roles) {
    for (const Scenario& scenario : scenarios(role, rules))
      report.scenarios.push_back(run_scenario(scenario, role, make, rules));
  }
  for (const Requirement& requirement : requirements())
    report.findings.push_back({&requirement, {}});
  for (const ScenarioReport& scenario : report.scenarios) {
    for (std::size_t i = 0; i < scenario.findings.size(); ++i) {
      const Outcome& here = scenario.findings[i].outcome;
      Outcome& all = report.findings[i].outcome;
      if (here.verdict <= all.verdict) continue;
      all = {here.verdict,
             fmt::format("{} ({}): {}", scenario.id, role_name(scenario.role), here.seen)};
    }
  }
  return report;
}

std::size_t failures(std::span<const Finding> findings) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(),
      [](const Finding& finding) { return finding.outcome.verdict == Verdict::kFail; }));
}

}  // namespace weft::phy::conformance

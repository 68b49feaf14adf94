// SPDX-License-Identifier: Apache-2.0
// Weft's own port, put through all scenarios.
#include "phy/conformance/conformance.h"

#include <gtest/gtest.h>

#include <array>

#include "findings.h"

namespace weft::phy::conformance {
namespace {

using test::failed;
using test::Ids;
using test::kBothRoles;
using test::verdict_of;
using test::with_verdict;

const ScenarioReport& scenario_of(const ConformanceReport& report, std::string_view id, Role role) {
  for (const ScenarioReport& scenario : report.scenarios)
    if (scenario.id == id && scenario.role == role) return scenario;
  ADD_FAILURE() << "no scenario " << id;
  return report.scenarios.front();
}

TEST(Conformance, of_wefts_port_fails_in_no_requirement) {
  const ConformanceReport report = run_conformance(make_weft_port, kBothRoles, {});
  for (const ScenarioReport& scenario : report.scenarios)
    EXPECT_EQ(failed(scenario.findings), Ids{}) << scenario.id << " " << role_name(scenario.role);
  EXPECT_EQ(failures(report.findings), 0U);
}

// The envelope is that of a link, which the bench does not have.
TEST(Conformance, exercises_each_requirement_that_a_bench_can_see) {
  const Ids unseen{"lane", "queue-pair"};
  for (const Role role : kBothRoles) {
    const ConformanceReport report = run_conformance(make_weft_port, std::array{role}, {});
    Ids missing = unseen;
    if (role == Role::kRequester) {
      missing.insert({"sweeps-unacknowledged", "ddr-unacknowledged"});
    } else {
      missing.insert("unanswered");
    }
    EXPECT_EQ(with_verdict(report.findings, Verdict::kNotExercised), missing) << role_name(role);
  }
  EXPECT_EQ(with_verdict(run_conformance(make_weft_port, kBothRoles, {}).findings,
                         Verdict::kNotExercised),
            unseen);
}

TEST(Conformance, goes_by_the_parameters_it_is_given) {
  Rules rules;
  rules.burst_len = 2;
  rules.max_retry = 3;
  rules.xmit_time_out = 2ms;
  rules.ddr_time_out = 100ms;
  const ConformanceReport good = run_conformance(make_weft_port, kBothRoles, rules);
  EXPECT_EQ(failed(good.findings), Ids{});
  // A port that has the usual ones instead.
  const MakePort usual = [](NegotiationOptions options, SerdesControl& serdes, PortOutput& output) {
    options.burst_len = 4;
    return make_weft_port(options, serdes, output);
  };
  const ConformanceReport bad = run_conformance(usual, kBothRoles, rules);
  EXPECT_EQ(failed(bad.findings), Ids{"burst"});
}

TEST(Conformance, reaches_what_each_scenario_is_for) {
  struct Row {
    std::string_view scenario;
    Role role;
    std::string_view requirement;
  };
  constexpr std::array kRows{
      Row{"longer-sweep", Role::kResponder, "sweep-iterations"},
      Row{"shorter-sweep", Role::kRequester, "sweep-duration"},
      Row{"one-that-works", Role::kResponder, "receives-as-found"},
      Row{"late-answers", Role::kRequester, "xmit-time-out"},
      Row{"last-moment", Role::kRequester, "retries"},
      Row{"reserved-bits", Role::kResponder, "acknowledges"},
      Row{"forbidden-fields", Role::kResponder, "forbidden-fields"},
      Row{"other-attributes", Role::kRequester, "other-attributes"},
      Row{"replay", Role::kResponder, "goes-to-ddr"},
      Row{"missed-acknowledgement", Role::kResponder, "ack-retries"},
      Row{"no-acknowledgement", Role::kResponder, "sweeps-unacknowledged"},
      Row{"no-acknowledgement", Role::kResponder, "ddr-unacknowledged"},
      Row{"no-sweep", Role::kResponder, "skips-sweep"},
      Row{"no-sweep-of-port", Role::kRequester, "no-sweep-set"},
      Row{"not-capable", Role::kRequester, "not-capable"},
      Row{"nothing-found", Role::kResponder, "stays-at-sdr"},
      Row{"nothing-found-by-peer", Role::kResponder, "stays-at-sdr"},
      Row{"no-link-at-ddr", Role::kResponder, "ddr-time-out"},
      Row{"silent", Role::kRequester, "unanswered"},
      Row{"silent-after-sweep", Role::kRequester, "retries"},
  };
  const ConformanceReport report = run_conformance(make_weft_port, kBothRoles, {});
  for (const Row& row : kRows) {
    EXPECT_EQ(verdict_of(scenario_of(report, row.scenario, row.role).findings, row.requirement),
              Verdict::kPass)
        << row.scenario << " " << row.requirement;
  }
}

// The last thing that each port is told by its link.
TEST(Conformance, leads_to_ddr_where_both_can_do_it) {
  const ConformanceReport report = run_conformance(make_weft_port, kBothRoles, {});
  const Ids at_sdr{"not-capable",    "nothing-found", "nothing-found-by-peer",
                   "no-link-at-ddr", "silent",        "silent-after-sweep"};
  for (const ScenarioReport& scenario : report.scenarios) {
    LinkSpeed speed = LinkSpeed::kSdr;
    for (const Observation& seen : scenario.exchange.observations)
      if (seen.node == kTested && seen.kind == Observation::Kind::kLinkUp) speed = seen.speed;
    const bool stays = at_sdr.count(std::string(scenario.id)) != 0;
    EXPECT_EQ(speed, stays ? LinkSpeed::kSdr : LinkSpeed::kDdr)
        << scenario.id << " " << role_name(scenario.role);
  }
}

}  // namespace
}  // namespace weft::phy::conformance

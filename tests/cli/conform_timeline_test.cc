// SPDX-License-Identifier: Apache-2.0
// The timeline that a lab tells of a link, judged.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/conform.h"
#include "daemon/lab/negotiation_report.h"
#include "phy/conformance/judge.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
using phy::conformance::Finding;
using phy::conformance::Verdict;

Json report_of(double length, bool no_sweep, std::uint32_t burst_len = 4) {
  phy::DdrLinkOptions options;
  for (unsigned side = 0; side < 2; ++side) {
    options.settings[side] = {phy::default_transmit_settings(3), phy::default_receive_settings(4)};
    options.ends[side].first_id = 0x1000 * (side + 1);
    options.ends[side].burst_len = burst_len;
  }
  options.ends[1].no_sweep = no_sweep;
  options.channel.length_m = length;
  auto link = phy::DdrLink::make(options);
  EXPECT_TRUE(link) << link.error().message;
  const Time began(77s);
  (*link)->start(began);
  (*link)->run(began + 60s);
  const Json report = daemon::negotiation_report(**link, {"leaf:1", "one:1"}, began + 60s);
  return Json::parse(report.dump());  // as it comes from the daemon
}

Verdict verdict_of(const std::vector<Finding>& findings, std::string_view id) {
  for (const Finding& finding : findings)
    if (finding.requirement->id == id) return finding.outcome.verdict;
  return Verdict::kFail;
}

void expect_verdicts(const Json& report, const std::vector<std::pair<const char*, Verdict>>& rows) {
  const auto exchange = timeline_exchange(report);
  for (unsigned node = 0; node < 2; ++node) {
    const auto findings = judge(exchange, node, timeline_rules(report["ends"][node]));
    for (const Finding& finding : findings) {
      EXPECT_NE(finding.outcome.verdict, Verdict::kFail)
          << finding.requirement->id << ": " << finding.outcome.seen;
    }
    for (const auto& [id, verdict] : rows)
      EXPECT_EQ(verdict_of(findings, id), verdict) << id << " node " << node;
  }
}

TEST(ConformTimeline, of_a_link_that_comes_up_at_ddr_passes) {
  expect_verdicts(report_of(1, false), {{"advertises", Verdict::kPass},
                                        {"acknowledges", Verdict::kPass},
                                        {"burst", Verdict::kPass},
                                        {"sweep-duration", Verdict::kPass},
                                        {"returns", Verdict::kPass},
                                        {"goes-to-ddr", Verdict::kPass},
                                        {"class", Verdict::kNotExercised},
                                        {"polling", Verdict::kNotExercised}});
}

TEST(ConformTimeline, of_a_link_that_stays_at_sdr_passes) {
  expect_verdicts(report_of(14, false),
                  {{"stays-at-sdr", Verdict::kPass}, {"goes-to-ddr", Verdict::kNotExercised}});
}

TEST(ConformTimeline, of_a_link_without_a_sweep_passes) {
  expect_verdicts(report_of(1, true), {{"skips-sweep", Verdict::kPass},
                                       {"sweeps", Verdict::kNotExercised},
                                       {"goes-to-ddr", Verdict::kPass}});
}

TEST(ConformTimeline, is_judged_by_the_parameters_of_the_port) {
  const Json report = report_of(1, false, 7);
  expect_verdicts(report, {{"burst", Verdict::kPass}});
  EXPECT_EQ(verdict_of(judge(timeline_exchange(report), 0, {}), "burst"), Verdict::kFail);
  EXPECT_EQ(timeline_rules(Json{{"burst_len", 0}, {"max_retry", "x"}}).burst_len, 4U);
}

// Every message of `end` with `key` of the step, or of its fields, made `value`.
Json altered(Json report, const char* end, const char* key, unsigned value) {
  for (Json& step : report["timeline"]) {
    if (step["end"] != end) continue;
    if (step.contains(key)) step[key] = value;
    if (step.contains("fields") && step["fields"].contains(key)) step["fields"][key] = value;
  }
  return report;
}

TEST(ConformTimeline, shows_what_a_port_did_wrong) {
  const Json report = report_of(1, false);
  const auto bursts = timeline_exchange(altered(report, "one:1", "copies", 5));
  EXPECT_EQ(verdict_of(judge(bursts, 0, {}), "burst"), Verdict::kPass);
  EXPECT_EQ(verdict_of(judge(bursts, 1, {}), "burst"), Verdict::kFail);
  const auto bandwidth = timeline_exchange(altered(report, "leaf:1", "bandwidth", 2500));
  EXPECT_EQ(verdict_of(judge(bandwidth, 0, {}), "bandwidth"), Verdict::kFail);
}

TEST(ConformTimeline, leaves_out_what_is_odd) {
  EXPECT_TRUE(timeline_exchange(Json()).observations.empty());
  const Json odd = Json::parse(R"({"ends": [{"at": "a"}, 7], "timeline": [3, {}, {"end": "x"},
      {"end": "a", "ns": -1, "message": 1, "copies": 1e18, "fields": []},
      {"end": "a", "ns": "soon", "state": 5}, {"end": "a", "state": "sweeping"}]})");
  const auto exchange = timeline_exchange(odd);
  for (unsigned node = 0; node < 2; ++node)
    EXPECT_EQ(judge(exchange, node, {}).size(), phy::conformance::requirements().size());
}

}  // namespace
}  // namespace weft::cli

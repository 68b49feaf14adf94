// SPDX-License-Identifier: Apache-2.0
// The flow diagrams of the specification's clause 2.1.2, as the kit plays them.
#include "phy/conformance/replay.h"

#include <gtest/gtest.h>

#include <string>

#include "findings.h"
#include "flow_outlines.h"

namespace weft::phy::conformance {
namespace {

using test::failed;
using test::Ids;
using test::verdict_of;

std::string outline_of(unsigned diagram) {
  return "\n" + flow_outline(flow_of(replay(diagram)));
}

TEST(Replay, of_diagram_1_is_the_success_in_which_all_arrives) {
  EXPECT_EQ(outline_of(1), phy::test::kCase1Outline);
}

TEST(Replay, of_diagram_2_is_the_success_without_two_acknowledgements) {
  EXPECT_EQ(outline_of(2), phy::test::kCase2Outline);
}

TEST(Replay, of_diagram_3_is_the_failure) {
  EXPECT_EQ(outline_of(3), phy::test::kCase3Outline);
}

TEST(Replay, has_the_times_of_table_4) {
  const std::string text = flow_text(flow_of(replay(1)), Time{});
  EXPECT_NE(text.find("     3.020 ms  Node 0             sweeping\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  3753.020 ms  Node 0             returning to SDR\n"), std::string::npos)
      << text;
}

TEST(Replay, keeps_to_the_specification_at_both_nodes) {
  for (unsigned diagram = 1; diagram <= kDiagrams; ++diagram) {
    const Exchange exchange = replay(diagram);
    for (unsigned node = 0; node < 2; ++node) {
      const auto findings = judge(exchange, node, {});
      EXPECT_EQ(failed(findings), Ids{}) << diagram << " node " << node;
      EXPECT_EQ(verdict_of(findings, diagram == 3 ? "stays-at-sdr" : "goes-to-ddr"),
                Verdict::kPass);
    }
    EXPECT_EQ(verdict_of(judge(exchange, 1, {}), "sweeps-unacknowledged"),
              diagram == 2 ? Verdict::kPass : Verdict::kNotExercised);
    EXPECT_EQ(verdict_of(judge(exchange, 0, {}), "ddr-unacknowledged"),
              diagram == 2 ? Verdict::kPass : Verdict::kNotExercised);
  }
}

}  // namespace
}  // namespace weft::phy::conformance

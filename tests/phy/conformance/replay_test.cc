// SPDX-License-Identifier: Apache-2.0
// The flow diagrams of the specification's clause 2.1.2, as the kit plays them.
#include "phy/conformance/replay.h"

#include <gtest/gtest.h>

#include <string>

#include "findings.h"

namespace weft::phy::conformance {
namespace {

using test::failed;
using test::Ids;
using test::verdict_of;

constexpr const char* kBegin = R"(
Node 0: SDR up
Node 0 -> Node 1: Capabilities Advertisement
Node 1: SDR up
Node 1 -> Node 0: Capabilities Advertisement
Node 1 -> Node 0: Capabilities Advertisement + ACK
)";
constexpr const char* kAcknowledged = R"(Node 0 -> Node 1: Capabilities Advertisement + ACK
Node 0: sweeping
Node 1: sweeping
Node 0: returning to SDR
Node 1: returning to SDR
Node 0 -> Node 1: Result Advertisement
Node 1 -> Node 0: Result Advertisement
Node 1 -> Node 0: Result Advertisement + ACK
Node 0 -> Node 1: Result Advertisement + ACK
)";
constexpr const char* kMissed = R"(Node 0 -> Node 1: Capabilities Advertisement + ACK (lost)
Node 1: sweeping
Node 0: sweeping
Node 1: returning to SDR
Node 0: returning to SDR
Node 0 -> Node 1: Result Advertisement
Node 1 -> Node 0: Result Advertisement
Node 1 -> Node 0: Result Advertisement + ACK (lost)
Node 0 -> Node 1: Result Advertisement + ACK
)";
constexpr const char* kToDdr = R"(Node 0: going to DDR
Node 1: going to DDR
Node 0: DDR
Node 1: DDR
)";
constexpr const char* kAtSdr = R"(Node 0: ended at SDR
Node 1: ended at SDR
)";

std::string outline_of(unsigned diagram) {
  return "\n" + flow_outline(flow_of(replay(diagram)));
}

TEST(Replay, of_diagram_1_is_the_success_in_which_all_arrives) {
  EXPECT_EQ(outline_of(1), std::string(kBegin) + kAcknowledged + kToDdr);
}

TEST(Replay, of_diagram_2_is_the_success_without_two_acknowledgements) {
  EXPECT_EQ(outline_of(2), std::string(kBegin) + kMissed + kToDdr);
}

TEST(Replay, of_diagram_3_is_the_failure) {
  EXPECT_EQ(outline_of(3), std::string(kBegin) + kAcknowledged + kAtSdr);
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

// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/state_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "phy/negotiation/state_text.h"

namespace weft::phy {
namespace {

std::string page() {
  std::ifstream file(std::string(WEFT_TEST_DATA) + "/../../docs/link-training.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(StateTable, is_in_the_docs_as_it_is_in_the_code) {
  EXPECT_NE(page().find("\n" + state_table_markdown()), std::string::npos)
      << "docs/link-training.md lacks this table:\n"
      << state_table_markdown();
}

TEST(StateTable, is_drawn_in_the_docs_as_it_is_in_the_code) {
  const std::string diagram = "```mermaid\n" + state_diagram_mermaid() + "```\n";
  EXPECT_NE(page().find(diagram), std::string::npos)
      << "docs/link-training.md lacks this diagram:\n"
      << diagram;
}

TEST(StateTable, reaches_each_state_and_leaves_it) {
  std::set<NegotiationState> reached{NegotiationState::kDown};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const NegotiationRow& row : negotiation_table())
      if (reached.contains(row.state)) reached.insert(row.next);
  }
  EXPECT_EQ(reached.size(), static_cast<std::size_t>(NegotiationState::kCount));
  std::set<NegotiationState> left;
  for (const NegotiationRow& row : negotiation_table())
    if (row.next != row.state) left.insert(row.state);
  EXPECT_EQ(left.size(), reached.size());
}

TEST(StateTable, has_for_each_time_out_a_row_that_holds) {
  // A state that could be left waiting for nothing would be one that a port never leaves.
  for (const NegotiationState state :
       {NegotiationState::kRequesting, NegotiationState::kUnacknowledged,
        NegotiationState::kAcknowledging, NegotiationState::kReturning,
        NegotiationState::kResultRequesting, NegotiationState::kResultUnacknowledged,
        NegotiationState::kResultAcknowledging, NegotiationState::kGoingDdr, NegotiationState::kDdr,
        NegotiationState::kEndedSdr}) {
    const auto rows = negotiation_rows(state, NegotiationEvent::kTimeOut);
    ASSERT_FALSE(rows.empty()) << state_name(state);
    EXPECT_EQ(rows.back().guard, NegotiationGuard::kAlways) << state_name(state);
  }
}

TEST(StateTable, finds_the_rows_of_a_state_and_event_in_their_order) {
  const auto rows = negotiation_rows(NegotiationState::kUnacknowledged, NegotiationEvent::kTimeOut);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].guard, NegotiationGuard::kRetriesLeft);
  EXPECT_EQ(rows[1].guard, NegotiationGuard::kNoSweep);
  EXPECT_EQ(rows[2].next, NegotiationState::kSweeping);
  EXPECT_TRUE(negotiation_rows(NegotiationState::kSweeping, NegotiationEvent::kRequest).empty());
}

TEST(StateTable, ends_a_negotiation_with_a_reason) {
  for (const NegotiationRow& row : negotiation_table()) {
    if (row.next == row.state) continue;
    const bool ends = row.next == NegotiationState::kDdr || row.next == NegotiationState::kEndedSdr;
    EXPECT_TRUE(!ends || row.reason != NegotiationReason::kNone) << state_name(row.state);
  }
}

}  // namespace
}  // namespace weft::phy

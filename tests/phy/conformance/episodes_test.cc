// SPDX-License-Identifier: Apache-2.0
// Several negotiations in one exchange.
#include <gtest/gtest.h>

#include "findings.h"
#include "phy/conformance/replay.h"

namespace weft::phy::conformance {
namespace {

using test::failed;
using test::Ids;
using test::verdict_of;

Exchange followed_by(Exchange first, const Exchange& second, Duration later) {
  const Duration shift = first.end - Time{} + later;
  for (Observation seen : second.observations) {
    seen.time += shift;
    if (seen.arrived) *seen.arrived += shift;
    first.observations.push_back(seen);
  }
  first.end = second.end + shift;
  return first;
}

TEST(Episodes, are_told_apart_when_the_link_comes_up_anew) {
  const Exchange twice = followed_by(replay(1), replay(3), 1s);
  const auto episodes = episodes_of(twice, 0, {});
  ASSERT_EQ(episodes.size(), 2U);
  EXPECT_TRUE(episodes[0].first);
  EXPECT_FALSE(episodes[1].first);
  EXPECT_EQ(episodes[1].said(Speech::kCapabilities).size(), 1U);
  const auto findings = judge(twice, 0, {});
  EXPECT_EQ(failed(findings), Ids{});
  EXPECT_EQ(verdict_of(findings, "goes-to-ddr"), Verdict::kPass);
  EXPECT_EQ(verdict_of(findings, "stays-at-sdr"), Verdict::kPass);
}

TEST(Episodes, of_messages_alone_are_told_apart_too) {
  Exchange twice = followed_by(replay(1), replay(2), 1s);
  std::erase_if(twice.observations,
                [](const Observation& seen) { return seen.kind != Observation::Kind::kMessage; });
  twice.lines = twice.configurations = twice.answers = false;
  for (unsigned node = 0; node < 2; ++node) {
    EXPECT_EQ(episodes_of(twice, node, {}).size(), 2U);
    EXPECT_EQ(failed(judge(twice, node, {})), Ids{});
  }
}

TEST(Episodes, have_the_failures_of_any_of_them) {
  Exchange bad = replay(1);
  for (Observation& seen : bad.observations)
    if (seen.node == 1) seen.mad.bandwidth = 2500;
  const Exchange twice = followed_by(bad, replay(1), 1s);
  EXPECT_EQ(verdict_of(judge(twice, 1, {}), "bandwidth"), Verdict::kFail);
  EXPECT_EQ(verdict_of(judge(followed_by(replay(1), bad, 1s), 1, {}), "bandwidth"), Verdict::kFail);
}

TEST(Episodes, of_an_empty_exchange_exercise_nothing) {
  EXPECT_EQ(test::with_verdict(judge({}, 0, {}), Verdict::kNotExercised).size(),
            requirements().size());
}

}  // namespace
}  // namespace weft::phy::conformance

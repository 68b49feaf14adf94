// SPDX-License-Identifier: Apache-2.0
#include "sm/smp_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "running_lab.h"

namespace weft::sm {
namespace {

using Outcome = SmpResult::Outcome;

// A queue at node a of a fabric, where half of what goes to d and back is lost, and port 3 of the
// first switch has no link.
class SmpQueues : public ::testing::Test {
 protected:
  SmpQueues() : lab_(model()) {
    EXPECT_TRUE(
        queue_.open([](const ReceivedTrap&) {}, [](const SmInfoRequest&) { return std::nullopt; }));
  }
  static fabric::Lab model() {
    std::string text = fabric::kFourNodes;
    const std::string end = "ends = [\"d:1\", \"s2:2\"]\n";
    text.insert(text.find(end) + end.size(), "loss = \"40%\"\n");
    return fabric::lab_of(text);
  }
  void ask(const DirectedRoute& route, std::vector<Outcome>& outcomes) {
    queue_.get(route, wire::SmAttribute::kNodeInfo, 0,
               [&](const SmpResult& result) { outcomes.push_back(result.outcome); });
  }
  void run_until_idle() {
    for (int round = 0; round < 10'000; ++round) {
      queue_.run(lab_.now);
      node().management_used();
      lab_.settle();
      if (queue_.idle()) return;
      const auto deadline = lab_.fabric.deadline();
      if (deadline) lab_.now = std::max(lab_.now, *deadline);
    }
    FAIL() << "never ends";
  }
  fabric::Node& node() { return *lab_.fabric.find_node("a"); }

  fabric::RunningLab lab_;
  const SmpLimits limits_{.window = 4};
  SmpQueue queue_{node().management().mad_port(1), limits_};
};

TEST_F(SmpQueues, GiveUpOnWhoDoesNotAnswer) {
  std::vector<Outcome> silent;
  std::vector<Outcome> there;
  for (int i = 0; i < 5000; ++i)
    ask({1, 3}, silent);
  for (int i = 0; i < 50; ++i)
    ask({1}, there);
  const Time begin = lab_.now;
  run_until_idle();
  EXPECT_EQ(silent, std::vector<Outcome>(5000, Outcome::kTimedOut));
  EXPECT_EQ(there, std::vector<Outcome>(50, Outcome::kAnswered));
  EXPECT_LT(lab_.now - begin, 5s) << "of 1,000 s that it would have taken";
  EXPECT_GE(queue_.counts().timed_out, limits_.most_unanswered);
  EXPECT_LE(queue_.counts().timed_out, limits_.most_unanswered + limits_.window);
  EXPECT_EQ(queue_.counts().timed_out + queue_.counts().given_up, 5000u);
  EXPECT_EQ(queue_.counts().sent, queue_.counts().timed_out + 50);
  // It is asked again the next time.
  ask({1, 3}, silent);
  run_until_idle();
  EXPECT_EQ(queue_.counts().sent, queue_.counts().timed_out + 50);
  EXPECT_EQ(queue_.counts().timed_out + queue_.counts().given_up, 5001u);
}

// As long as some of what is asked is answered.
TEST_F(SmpQueues, DoNotGiveUpOnWhoAnswersNowAndThen) {
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 200; ++i)
    ask({1, 4, 2}, outcomes);
  run_until_idle();
  EXPECT_EQ(outcomes.size(), 200u);
  EXPECT_GT(queue_.counts().timed_out, limits_.most_unanswered);
  EXPECT_GT(queue_.counts().answered, 100u);
  EXPECT_EQ(queue_.counts().given_up, 0u);
}

}  // namespace
}  // namespace weft::sm

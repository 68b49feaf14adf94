// SPDX-License-Identifier: Apache-2.0
#include "fabric/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;

constexpr Time kStart{1s};

struct Recorder final : Task {
  void run(Time now) override {
    runs.push_back(now - kStart);
    if (then) then(now);
  }
  [[nodiscard]] std::optional<Time> deadline() const override { return due; }

  std::vector<Duration> runs;
  std::optional<Time> due;
  std::function<void(Time)> then;
};

TEST(Worker, RunsATaskOnceForAllThatWokeIt) {
  Worker worker;
  Recorder task;
  worker.wake(task);
  worker.wake(task);
  EXPECT_EQ(worker.deadline(), Time::min());
  EXPECT_TRUE(worker.run(kStart));
  EXPECT_THAT(task.runs, ElementsAre(0ns));
  EXPECT_EQ(worker.deadline(), std::nullopt);
}

TEST(Worker, RunsWhatIsWokenByARun) {
  Worker worker;
  Recorder first, second;
  first.then = [&](Time) { worker.wake(second); };
  worker.wake(first);
  EXPECT_TRUE(worker.run(kStart));
  EXPECT_THAT(second.runs, ElementsAre(0ns));
}

TEST(Worker, LeavesTheRestWhenItsBudgetIsUsedUp) {
  Worker worker;
  Recorder task;
  task.then = [&](Time) { worker.wake(task); };
  worker.wake(task);
  EXPECT_FALSE(worker.run(kStart, 10));
  EXPECT_EQ(task.runs.size(), 10u);
  EXPECT_EQ(worker.deadline(), Time::min());
  task.then = nullptr;
  EXPECT_TRUE(worker.run(kStart, 10));
  EXPECT_EQ(task.runs.size(), 11u);
}

TEST(Worker, RunsATaskAtItsDeadlineAndNotBefore) {
  Worker worker;
  Recorder task;
  task.due = kStart + 5ms;
  task.then = [&](Time now) { task.due = now + 10ms; };
  worker.reschedule(task);
  EXPECT_EQ(worker.deadline(), kStart + 5ms);
  worker.run(kStart + 4ms);
  EXPECT_TRUE(task.runs.empty());
  worker.run(kStart + 5ms);
  EXPECT_EQ(worker.deadline(), kStart + 15ms);
  worker.run(kStart + 15ms);
  EXPECT_THAT(task.runs, ElementsAre(5ms, 15ms));
}

TEST(Worker, FollowsADeadlineThatComesNearer) {
  Worker worker;
  Recorder task;
  task.due = kStart + 20ms;
  worker.reschedule(task);
  task.due = kStart + 10ms;
  worker.reschedule(task);
  task.then = [&](Time) { task.due = std::nullopt; };
  worker.run(kStart + 10ms);
  worker.run(kStart + 20ms);
  EXPECT_THAT(task.runs, ElementsAre(10ms)) << "the entry at 20 ms is outrun";
  EXPECT_EQ(worker.deadline(), std::nullopt);
}

TEST(Worker, AsksAgainWhenADeadlineHasMovedAway) {
  Worker worker;
  Recorder task;
  task.due = kStart + 10ms;
  worker.reschedule(task);
  task.due = kStart + 30ms;
  worker.run(kStart + 10ms);
  EXPECT_EQ(worker.deadline(), kStart + 30ms);
}

}  // namespace
}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
// Which labs run: those whose lock is held, whoever asks at the same time.
#include "daemon/lab/lab_paths.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace weft::daemon {
namespace {

class LabPathsTest : public testing::Test {
 protected:
  LabPathsTest() {
    std::string pattern = testing::TempDir() + "weft-lab-paths-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    runtime_ = pattern;
  }
  ~LabPathsTest() override { std::filesystem::remove_all(runtime_); }

  LabPaths paths(const char* name) const { return lab_paths(runtime_, name).value(); }
  std::size_t running() const { return running_labs({runtime_}).size(); }

  std::string runtime_;
};

TEST_F(LabPathsTest, ALabRunsWhileItsLockIsHeld) {
  EXPECT_EQ(running(), 0U);
  auto lock = claim_lab(paths("one"));
  ASSERT_TRUE(lock);
  ASSERT_EQ(running(), 1U);
  EXPECT_EQ(running_labs({runtime_}).front().name, "one");
  EXPECT_FALSE(claim_lab(paths("one")));
  EXPECT_TRUE(claim_lab(paths("two")));
  lock->reset();
  EXPECT_EQ(running(), 0U);
  EXPECT_TRUE(claim_lab(paths("one")));
}

// What a lab that was killed leaves behind is looked at by every program that looks for its own.
TEST_F(LabPathsTest, WhoAsksIsNotTakenForALab) {
  constexpr int kAsking = 4;
  constexpr int kTimes = 2000;
  ASSERT_TRUE(claim_lab(paths("left")));  // and given up at once
  std::atomic<std::size_t> seen{0};
  std::vector<std::thread> asking;
  for (int n = 0; n < kAsking; ++n) {
    asking.emplace_back([&] {
      for (int times = 0; times < kTimes; ++times) {
        for (const LabPaths& lab : running_labs({runtime_}))
          seen += lab.name == "left" ? 1 : 0;
      }
    });
  }
  int refused = 0;
  for (int times = 0; times < kTimes; ++times)
    refused += claim_lab(paths("other")) ? 0 : 1;
  for (std::thread& each : asking)
    each.join();
  EXPECT_EQ(seen, 0U);
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#include "io/system_entropy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "io/clock.h"

namespace weft::io {
namespace {

TEST(SystemEntropy, DoesNotRepeatItselfAcrossRefills) {
  SystemEntropy entropy;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i)
    seen.insert(entropy.draw());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(SystemEntropy, GivesAForkedChildWordsOfItsOwn) {
  SystemEntropy entropy;
  (void)entropy.draw();  // a batch is in the buffer now
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::uint64_t word = entropy.draw();
    _exit(write(ends[1], &word, sizeof word) == sizeof word ? 0 : 1);
  }
  std::uint64_t of_child = 0;
  ASSERT_EQ(read(ends[0], &of_child, sizeof of_child), static_cast<ssize_t>(sizeof of_child));
  EXPECT_NE(entropy.draw(), of_child);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  close(ends[0]);
  close(ends[1]);
}

TEST(SystemEntropy, ServesSeveralThreadsWithDistinctWords) {
  SystemEntropy entropy;
  std::vector<std::vector<std::uint64_t>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& words : drawn) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i)
        words.push_back(entropy.draw());
    });
  }
  for (auto& thread : threads)
    thread.join();
  std::set<std::uint64_t> seen;
  for (const auto& words : drawn)
    seen.insert(words.begin(), words.end());
  EXPECT_EQ(seen.size(), 20000u);
}

TEST(Clock, NeverRunsBackwards) {
  Time last = now();
  for (int i = 0; i < 1000; ++i) {
    const Time next = now();
    ASSERT_GE(next, last);
    last = next;
  }
  EXPECT_GT(wall_clock(), Duration{std::chrono::hours{24 * 365 * 50}});
}

}  // namespace
}  // namespace weft::io

// SPDX-License-Identifier: Apache-2.0
#include "host/post_streak.h"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

constexpr std::uint64_t kMany = PostStreak::kMany;

TEST(PostStreak, TellsHowManyWerePostedBeforeTheLastPoll) {
  PostStreak posts;
  posts.add(3, 1);
  posts.add(2, 1);
  EXPECT_EQ(posts.before(), 0u);
  posts.add(1, 2);
  EXPECT_EQ(posts.before(), 5u);
  posts.add(1, 7);
  EXPECT_EQ(posts.before(), 1u);
}

void post(PostStreak& posts, std::uint64_t polls) {
  posts.add(1, polls);
  posts.gather();
}

TEST(PostStreak, CountsWhatComesInRunsOnly) {
  PostStreak posts;
  for (std::uint64_t i = 0; i < kMany; ++i)
    post(posts, 1);
  EXPECT_EQ(posts.in_runs(), 0u);
  post(posts, 1);
  post(posts, 1);
  EXPECT_EQ(posts.in_runs(), 2u);
}

TEST(PostStreak, CountsNothingThatGoesAtOnce) {
  PostStreak posts;
  posts.add(kMany + 1, 1);
  EXPECT_EQ(posts.in_runs(), 0u);
}

TEST(PostStreak, BeginsAnewWithEachPoll) {
  PostStreak posts;
  posts.add(kMany, 1);
  post(posts, 2);
  EXPECT_EQ(posts.in_runs(), 0u);
  posts.add(kMany, 2);
  post(posts, 2);
  EXPECT_EQ(posts.in_runs(), 1u);
}

}  // namespace
}  // namespace weft::host

// SPDX-License-Identifier: Apache-2.0
#include "wan/plan.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::wan {
namespace {

constexpr double kPlanMiB = 1024.0 * 1024;

TEST(Plan, Needs894MiBFor5000KilometresOf15LanesAt10Gigabits) {
  const auto plan = make_plan({.distance_m = 5e6, .lanes = 15});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->one_way, 25ms);
  EXPECT_EQ(plan->round_trip, 50ms);
  EXPECT_EQ(plan->buffer_per_lane, 62'500'000u);
  EXPECT_EQ(plan->buffer, 937'500'000u);
  EXPECT_EQ(std::llround(static_cast<double>(plan->buffer) / kPlanMiB), 894);
  EXPECT_FALSE(plan->standard_is_enough);
}

// 10 Gb/s of signalling carry 1 GB/s of data in 8b/10b code.
TEST(Plan, FindsAStandardLinksCreditJustEnoughFor130MicrosecondsAt10GigabitsOfSignalling) {
  const std::uint64_t rate = data_rate_8b10b(1'250'000'000);
  EXPECT_EQ(rate, 1'000'000'000u);
  const auto plan = make_plan({.round_trip = 130us, .rate_bytes_per_s = rate});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->buffer_per_lane, 130'000u);
  EXPECT_TRUE(plan->standard_is_enough);
  EXPECT_EQ(plan->standard_reach, 131'072ns);
  EXPECT_EQ(plan->block_size, BlockSize(0));
  const auto longer = make_plan({.round_trip = 132us, .rate_bytes_per_s = rate});
  EXPECT_FALSE(longer->standard_is_enough);
  EXPECT_EQ(longer->block_size, BlockSize(1));
}

TEST(Plan, Has5MegabitsUnderWayEachWayIn100Kilometres) {
  const auto plan = make_plan({.distance_m = 100e3});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->one_way, 500us);
  EXPECT_EQ(plan->under_way * 8, 5'000'000u);
  EXPECT_EQ(plan->buffer_per_lane, 2 * plan->under_way);
}

TEST(Plan, GivesEachOtherSiteAShareOfTheBuffer) {
  const auto two = make_plan({.distance_m = 1e6, .lanes = 4, .sites = 2});
  const auto five = make_plan({.distance_m = 1e6, .lanes = 4, .sites = 5});
  EXPECT_EQ(two->remotes, 1u);
  EXPECT_EQ(five->remotes, 4u);
  EXPECT_EQ(five->buffer_per_remote, two->buffer_per_remote);
  EXPECT_EQ(five->buffer, 4 * two->buffer);
}

TEST(Plan, KnowsHowFarALocalLinkThatAdvertises8KiBWouldReach) {
  const auto plan =
      make_plan({.distance_m = 5e6, .rate_bytes_per_s = data_rate_8b10b(1'250'000'000)});
  EXPECT_EQ(plan->local_blocks, 128u);
  EXPECT_EQ(plan->local_reach, 8192ns);  // 819 m of fibre and back
  EXPECT_FALSE(plan->standard_is_enough);
}

TEST(Plan, CountsByLargerBlocksOrByMore) {
  const auto plan = make_plan({.distance_m = 5e6});
  ASSERT_TRUE(plan->block_size);
  EXPECT_EQ(plan->block_size->bytes(), 32u * 1024);  // 2,048 of them hold 64 MiB, of half 32
  EXPECT_LE(plan->block_size->blocks(plan->buffer_per_lane), kStandardBlocks);
  EXPECT_EQ(plan->blocks, 976'563u);
}

TEST(Plan, CountsEquipmentOnTheWayAndSlowerLight) {
  const auto plan = make_plan({.distance_m = 1e6, .fibre_ns_per_m = 4.9, .equipment = 300us});
  EXPECT_EQ(plan->one_way, 5200us);
  const auto measured = make_plan({.distance_m = 1e6, .equipment = 300us, .round_trip = 7ms});
  EXPECT_EQ(measured->round_trip, 7ms);
  EXPECT_EQ(measured->one_way, 3500us);
}

TEST(Plan, IsNoneBeyondAllBounds) {
  EXPECT_FALSE(make_plan({.distance_m = 1e300}));
  EXPECT_FALSE(make_plan({.distance_m = 1e12,
                          .rate_bytes_per_s = std::uint64_t{1} << 61,
                          .lanes = 15,
                          .sites = 65'536}));
  EXPECT_FALSE(make_plan({.equipment = Duration::max()}));
}

}  // namespace
}  // namespace weft::wan

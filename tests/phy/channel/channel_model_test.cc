// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/channel_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace weft::phy {
namespace {

using testing::StartsWith;

struct FieldRange {
  const char* name;
  double ChannelDescription::*field;
  double least;
  double most;
};

class DescriptionField : public testing::TestWithParam<FieldRange> {};

TEST_P(DescriptionField, IsRefusedByNameOutsideItsRange) {
  const FieldRange& range = GetParam();
  for (const double good : {range.least, range.most}) {
    ChannelDescription description;
    description.*range.field = good;
    EXPECT_TRUE(ChannelModel::make(description)) << good;
  }
  for (const double bad :
       {std::nextafter(range.least, -1e300), std::nextafter(range.most, 1e300), -1e300, 1e300,
        std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    ChannelDescription description;
    description.*range.field = bad;
    const auto model = ChannelModel::make(description);
    ASSERT_FALSE(model) << bad;
    EXPECT_EQ(model.error().code, std::errc::invalid_argument);
    EXPECT_THAT(model.error().message, StartsWith(std::string(range.name) + " must be from "));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, DescriptionField,
    testing::Values(
        FieldRange{"length_m", &ChannelDescription::length_m, 0, 100},
        FieldRange{"loss_db_per_m", &ChannelDescription::loss_db_per_m, 0, 20},
        FieldRange{"skin_share", &ChannelDescription::skin_share, 0, 1},
        FieldRange{"board_loss_db", &ChannelDescription::board_loss_db, 0, 40},
        FieldRange{"return_loss_db", &ChannelDescription::return_loss_db, 3, 60},
        FieldRange{"crosstalk_db", &ChannelDescription::crosstalk_db, 10, 120},
        FieldRange{"noise_mv", &ChannelDescription::noise_mv, 0, 1000},
        FieldRange{"random_jitter_ps", &ChannelDescription::random_jitter_ps, 0, 50},
        FieldRange{"sinusoidal_jitter_ps", &ChannelDescription::sinusoidal_jitter_ps, 0, 50},
        FieldRange{"sinusoidal_jitter_hz", &ChannelDescription::sinusoidal_jitter_hz, 1, 1e9},
        FieldRange{"lane_spread", &ChannelDescription::lane_spread, 0, 0.5}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ChannelModel, HasOneToTwelveLanes) {
  for (const std::uint32_t lanes : {1U, 4U, 8U, 12U}) {
    const auto model = ChannelModel::make({.lanes = lanes});
    ASSERT_TRUE(model);
    EXPECT_EQ(model->lanes(), lanes);
  }
  for (const std::uint32_t lanes : {0U, 13U, 4'000'000'000U}) {
    const auto model = ChannelModel::make({.lanes = lanes});
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message, StartsWith("lanes must be from 1 to 12"));
  }
}

TEST(ChannelModel, IsWhatItsSeedMakesIt) {
  const auto one = ChannelModel::make({.seed = 5});
  const auto same = ChannelModel::make({.seed = 5});
  const auto other = ChannelModel::make({.seed = 6});
  EXPECT_EQ(one->lane(2).echoes[1].delay_ps, same->lane(2).echoes[1].delay_ps);
  EXPECT_EQ(one->lane(2).cable_loss_db, same->lane(2).cable_loss_db);
  EXPECT_NE(one->lane(2).cable_loss_db, other->lane(2).cable_loss_db);
  EXPECT_NE(one->lane(2).echoes[1].delay_ps, one->lane(3).echoes[1].delay_ps);
}

TEST(ChannelModel, LanesDifferByNoMoreThanTheirSpread) {
  const ChannelDescription whole{.length_m = 10,
                                 .loss_db_per_m = 2,
                                 .noise_mv = 3,
                                 .lane_spread = 0.1,
                                 .lanes = 12,
                                 .seed = 3};
  const auto model = ChannelModel::make(whole);
  double least = 1e9, most = 0;
  for (std::size_t i = 0; i < model->lanes(); ++i) {
    const LaneChannel& lane = model->lane(i);
    EXPECT_NEAR(lane.cable_loss_db, 20, 2);
    EXPECT_NEAR(lane.noise_mv, 3, 0.3);
    EXPECT_LT(std::abs(lane.echoes[0].gain), 1);
    least = std::min(least, lane.cable_loss_db);
    most = std::max(most, lane.cable_loss_db);
  }
  EXPECT_GT(most - least, 1);
  ChannelDescription alike = whole;
  alike.lane_spread = 0;
  EXPECT_EQ(ChannelModel::make(alike)->lane(7).cable_loss_db, 20);
}

TEST(ChannelModel, AMetreMoreChangesNothingElseThatWasDrawn) {
  const auto shorter = ChannelModel::make({.length_m = 2, .seed = 9});
  const auto longer = ChannelModel::make({.length_m = 4, .seed = 9});
  for (std::size_t i = 0; i < shorter->lanes(); ++i) {
    EXPECT_DOUBLE_EQ(longer->lane(i).cable_loss_db, 2 * shorter->lane(i).cable_loss_db);
    EXPECT_EQ(longer->lane(i).echoes[0].gain, shorter->lane(i).echoes[0].gain);
    EXPECT_EQ(longer->lane(i).noise_mv, shorter->lane(i).noise_mv);
  }
}

TEST(ChannelModel, TheOtherWayIsTheSameCableWithOtherLanes) {
  const ChannelDescription there{.length_m = 7, .seed = 21};
  const ChannelDescription back = there.reverse();
  EXPECT_EQ(back.length_m, 7);
  EXPECT_NE(back.seed, there.seed);
  EXPECT_EQ(back.reverse(), there);
}

TEST(ChannelModel, LossGrowsWithTheRootOfFrequencyOrWithFrequency) {
  const LaneChannel skin{.cable_loss_db = 8, .board_loss_db = 2, .skin_share = 1};
  EXPECT_NEAR(skin.loss_db(2.5e9), 10, 1e-12);
  EXPECT_NEAR(skin.loss_db(0.625e9), 5, 1e-12);
  const LaneChannel dielectric{.cable_loss_db = 8, .board_loss_db = 2, .skin_share = 0};
  EXPECT_NEAR(dielectric.loss_db(0.625e9), 2.5, 1e-12);
  EXPECT_EQ(dielectric.loss_db(0), 0);
}

}  // namespace
}  // namespace weft::phy

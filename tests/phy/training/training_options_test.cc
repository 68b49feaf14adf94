// SPDX-License-Identifier: Apache-2.0
#include "phy/training/training_options.h"

#include <gtest/gtest.h>

namespace weft::phy {
namespace {

TEST(TrainingOptions, AreGoodAsTheyComeAndForEveryPort) {
  EXPECT_TRUE(check(TrainingOptions{}));
  EXPECT_TRUE(check({.lanes = 1, .widths = 0x1}));
  EXPECT_TRUE(check({.lanes = 8, .widths = 0x7}));
  EXPECT_TRUE(check({.lanes = 12, .widths = 0xF, .speeds = 0x3}));
}

TEST(TrainingOptions, AreRefusedWithTheNameOfWhatIsWrong) {
  EXPECT_EQ(check({.lanes = 3, .widths = 0x1}).error().message, "3 lanes: 1, 4, 8 or 12");
  EXPECT_EQ(check({.lanes = 4, .widths = 0x7}).error().message, "widths 0x7: wider than 4 lanes");
  EXPECT_EQ(check({.widths = 0}).error().message,
            "widths 0x0: bits 1 (1x), 2 (4x), 4 (8x), 8 (12x)");
  EXPECT_EQ(check({.lanes = 12, .widths = 0x10}).error().message,
            "widths 0x10: bits 1 (1x), 2 (4x), 4 (8x), 8 (12x)");
  for (const unsigned speeds : {0U, 4U})
    EXPECT_FALSE(check({.speeds = static_cast<std::uint8_t>(speeds)}));
  EXPECT_EQ(check({.error_threshold = 0}).error().message, "error_threshold 0: at least 1");
}

TEST(TrainingOptions, RefusesEveryTimeThatIsNotAboveZeroOrAboveAnHour) {
  for (const TrainingTimeInfo& info : kTrainingTimes) {
    for (const Duration bad : {Duration(0ns), Duration(-1ns), Duration(1h) + 1ns}) {
      TrainingOptions options;
      options.times.*info.time = bad;
      const auto checked = check(options);
      ASSERT_FALSE(checked) << info.name;
      EXPECT_EQ(checked.error().message.find(std::string(info.name) + " of "), 0U) << info.name;
    }
  }
}

TEST(TrainingOptions, RefusesTimesThatDoNotFitTogether) {
  TrainingOptions options;
  options.times.lane_loss = options.times.lane_settle;
  EXPECT_EQ(check(options).error().message, "lane_loss is to be longer than lane_settle");
  options = {};
  options.times.retrain_least = options.times.recovery_retrain;
  EXPECT_EQ(check(options).error().message, "retrain_least is to be shorter than recovery_retrain");
  options = {};
  options.times.narrower_after = options.times.config_rcvr_cfg;
  EXPECT_EQ(check(options).error().message, "narrower_after is to be shorter than config_rcvr_cfg");
}

}  // namespace
}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weft::phy {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(Settings, WhatCannotBeSetIsRefusedByName) {
  for (const double bad : {-1.0, 49.9, 2001.0, kNaN, kInfinite}) {
    const auto checked = check(TransmitSetting{.amplitude_mv = bad});
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code, std::errc::invalid_argument);
    EXPECT_THAT(checked.error().message, StartsWith("amplitude_mv must be from 50 to 2000, not "));
  }
  for (const double bad : {-0.31, 0.31, kNaN}) {
    EXPECT_THAT(check(TransmitSetting{.pre_cursor = bad}).error().message, HasSubstr("pre_cursor"));
  }
  for (const double bad : {-0.41, 0.41, kNaN}) {
    EXPECT_THAT(check(TransmitSetting{.post_cursor = bad}).error().message,
                HasSubstr("post_cursor"));
  }
  for (const double bad : {-0.1, 20.1, kNaN}) {
    EXPECT_THAT(check(ReceiveSetting{.peaking_db = bad}).error().message, HasSubstr("peaking_db"));
  }
  for (const double bad : {-0.1, 0.51, kNaN}) {
    EXPECT_THAT(check(ReceiveSetting{.feedback_1 = bad}).error().message, HasSubstr("feedback_1"));
    EXPECT_THAT(check(ReceiveSetting{.feedback_2 = bad}).error().message, HasSubstr("feedback_2"));
  }
}

TEST(Settings, TheEndsOfARangeAreInIt) {
  EXPECT_TRUE(check(TransmitSetting{.amplitude_mv = 50, .pre_cursor = -0.3, .post_cursor = 0.4}));
  EXPECT_TRUE(check(TransmitSetting{.amplitude_mv = 2000, .pre_cursor = 0.3, .post_cursor = -0.4}));
  EXPECT_TRUE(check(ReceiveSetting{.peaking_db = 20, .feedback_1 = 0.5, .feedback_2 = 0}));
}

TEST(Settings, TapsOfATransmitterAddUpToAllItCanSend) {
  const TransmitSetting setting{.pre_cursor = -0.05, .post_cursor = 0.2};
  EXPECT_DOUBLE_EQ(setting.main_cursor(), 0.75);
  // The main one stays the largest with any setting.
  EXPECT_DOUBLE_EQ((TransmitSetting{.pre_cursor = 0.3, .post_cursor = -0.4}.main_cursor()), 0.3);
}

TEST(Settings, DefaultsAreGoodAndDifferent) {
  for (std::size_t count = 1; count <= kMostSettings; ++count) {
    const auto transmit = default_transmit_settings(count);
    const auto receive = default_receive_settings(count);
    ASSERT_EQ(transmit.size(), count);
    ASSERT_EQ(receive.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(check(transmit[i]));
      EXPECT_TRUE(check(receive[i]));
      if (i == 0) continue;
      EXPECT_LT(transmit[i].post_cursor, transmit[i - 1].post_cursor);
      EXPECT_GT(receive[i].peaking_db, receive[i - 1].peaking_db);
    }
  }
  EXPECT_EQ(default_transmit_settings(2).front(), default_transmit_settings(9).front());
  EXPECT_EQ(default_transmit_settings(2).back(), default_transmit_settings(9).back());
  EXPECT_TRUE(check(sdr_transmit_setting()));
  EXPECT_TRUE(check(sdr_receive_setting()));
}

}  // namespace
}  // namespace weft::phy

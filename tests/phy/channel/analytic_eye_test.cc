// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/analytic_eye.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace weft::phy {
namespace {

// A pulse of one bit, all but flat, and nothing or a part of it in the next, of `amplitude_mv` up
// and down.
EqualisedLane lone_pulse(double amplitude_mv, double noise_mv, double next_cursor = 0) {
  Pulse pulse;
  pulse.peak = 8 * kSamplesInBit;
  for (std::size_t i = 0; i < kSamplesInBit; ++i) {
    const float from_middle = std::abs(static_cast<float>(i) - kSamplesInBit / 2.0F);
    pulse.samples[pulse.peak - kSamplesInBit / 2 + i] = 1 - from_middle * 1e-3F;
    pulse.samples[pulse.peak + kSamplesInBit / 2 + i] = static_cast<float>(next_cursor);
  }
  pulse.noise_gain = 1;
  const LaneResponse response({.noise_mv = noise_mv}, LinkSpeed::kDdr);
  return {response, pulse, {.amplitude_mv = 2 * amplitude_mv}, {}};
}

double tail_of(double x) {
  return std::erfc(x / std::numbers::sqrt2) / 2;
}

TEST(AnalyticEye, BitsInNoiseAreWrongAsOftenAsTheNormalDistributionSays) {
  for (const double deviations : {0.5, 2.0, 4.0, 6.5})
    EXPECT_NEAR(bit_error_rate(lone_pulse(100, 100 / deviations)) / tail_of(deviations), 1, 5e-3);
  EXPECT_EQ(bit_error_rate(lone_pulse(100, 5)), 0);
  EXPECT_EQ(bit_error_rate(lone_pulse(100, 0)), 0);
}

TEST(AnalyticEye, ANeighbourAddsOrTakesWithItsProbability) {
  // The next bit is unlike its predecessor a little more often than not in this code; each case has
  // its own distance from zero.
  const double rate = bit_error_rate(lone_pulse(100, 25, 0.25));
  const double like = tail_of(125.0 / 25), unlike = tail_of(75.0 / 25);
  const double share = (rate - like) / (unlike - like);
  EXPECT_GT(share, 0.5);
  EXPECT_LT(share, 0.62);
}

TEST(AnalyticEye, AMovedThresholdMovesTheDistance) {
  EXPECT_NEAR(bit_error_rate(lone_pulse(100, 20), 0, 40) / tail_of(3), 1, 5e-3);
}

TEST(AnalyticEye, HeightIsWhatNoiseLeaves) {
  // 7.0345 deviations are one in 10^12.
  const EyeOpening eye = eye_opening(lone_pulse(100, 5), 1e-12);
  EXPECT_NEAR(eye.height_mv, 2 * (100 - 5 * 7.0345), 0.5);
  // The pulse stands for a whole bit, and sampling next to its ends meets it no more.
  EXPECT_GT(eye.width_bits, 0.8);
  EXPECT_LE(eye.width_bits, 1);
  const EyeOpening closed = eye_opening(lone_pulse(100, 20), 1e-12);
  EXPECT_EQ(closed.height_mv, 0);
  EXPECT_EQ(closed.width_bits, 0);
}

TEST(AnalyticEye, MoreOfAnyTroubleMakesMoreErrors) {
  const LaneChannel usual{.cable_loss_db = 18,
                          .board_loss_db = 4,
                          .skin_share = 0.8,
                          .noise_mv = 4,
                          .random_jitter_ps = 4,
                          .sinusoidal_jitter_ps = 10,
                          .sinusoidal_jitter_hz = 1e8};
  const auto rate = [](const LaneChannel& lane) {
    const LaneResponse response(lane, LinkSpeed::kDdr);
    const ReceiveSetting receive{.peaking_db = 4};
    return bit_error_rate({response, response.pulse(4), {.post_cursor = -0.2}, receive});
  };
  const double before = rate(usual);
  ASSERT_GT(before, 1e-9);
  ASSERT_LT(before, 1e-2);
  LaneChannel worse = usual;
  worse.noise_mv = 5;
  EXPECT_GT(rate(worse), 1.2 * before);
  worse = usual;
  worse.random_jitter_ps = 7;
  EXPECT_GT(rate(worse), 1.05 * before);
  worse = usual;
  worse.sinusoidal_jitter_ps = 20;
  EXPECT_GT(rate(worse), 1.2 * before);
  worse = usual;
  worse.cable_loss_db = 19;
  EXPECT_GT(rate(worse), 2 * before);
}

TEST(AnalyticEye, TheWorstPatternIsNoBetterThanAnyOther) {
  const LaneResponse response({.cable_loss_db = 5, .skin_share = 0.8}, LinkSpeed::kDdr);
  const EqualisedLane lane(response, response.pulse(4), {.post_cursor = -0.1}, {.peaking_db = 4});
  const double worst = peak_distortion_mv(lane);
  EXPECT_GT(worst, 0);
  EXPECT_LT(worst, lane.sample(0, 0));
  // Without noise the eye is at least as open, and by a code without long runs more.
  EXPECT_GT(eye_opening(lane).height_mv, 2 * worst);
  EXPECT_NEAR(peak_distortion_mv(lone_pulse(100, 5, -0.25)), 75, 1e-3);
}

TEST(AnalyticEye, ASymbolIsWrongWithAnyOfItsBits) {
  EXPECT_EQ(symbol_error_rate(0), 0);
  EXPECT_NEAR(symbol_error_rate(1e-12), 1e-11, 1e-16);
  EXPECT_NEAR(symbol_error_rate(0.1), 1 - std::pow(0.9, 10), 1e-12);
  EXPECT_NEAR(symbol_error_rate(1), 1, 1e-12);
}

}  // namespace
}  // namespace weft::phy

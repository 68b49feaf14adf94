// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/equalised_lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "phy/channel/analytic_eye.h"

namespace weft::phy {
namespace {

const LaneChannel kLongLane{.cable_loss_db = 12,
                            .board_loss_db = 3,
                            .skin_share = 0.8,
                            .cable_echo_gain = 0.04,
                            .crosstalk_gain = 0.01,
                            .noise_mv = 2,
                            .random_jitter_ps = 2,
                            .sinusoidal_jitter_ps = 10,
                            .sinusoidal_jitter_hz = 1e7};

EqualisedLane with(const TransmitSetting& transmit, const ReceiveSetting& receive,
                   const LaneChannel& lane = kLongLane, LinkSpeed speed = LinkSpeed::kDdr) {
  const LaneResponse response(lane, speed);
  return {response, response.pulse(receive.peaking_db), transmit, receive};
}

TEST(EqualisedLane, TapsAddThePulseABitEarlierAndLater) {
  const LaneResponse response(kLongLane, LinkSpeed::kDdr);
  const Pulse pulse = response.pulse(0);
  const TransmitSetting setting{.amplitude_mv = 800, .pre_cursor = -0.1, .post_cursor = -0.2};
  const EqualisedLane lane(response, pulse, setting, {});
  for (const std::size_t i : {40U, 90U, 500U}) {
    EXPECT_NEAR(lane.samples[i],
                400 * (0.7 * pulse.samples[i] - 0.1 * pulse.samples[i + kSamplesInBit] -
                       0.2 * pulse.samples[i - kSamplesInBit]),
                1e-3);
  }
}

TEST(EqualisedLane, DeEmphasisTakesThePostCursorDown) {
  const ReceiveSetting receive{};
  const EqualisedLane flat = with({.post_cursor = 0}, receive);
  const EqualisedLane emphasised = with({.post_cursor = -0.25}, receive);
  EXPECT_GT(flat.sample(1, 0), 0.3 * flat.sample(0, 0));
  EXPECT_LT(emphasised.sample(1, 0), 0.2 * emphasised.sample(0, 0));
}

TEST(EqualisedLane, SettlesWhereNearBitsDisturbLeast) {
  const EqualisedLane lane = with({.post_cursor = -0.1}, {.peaking_db = 3, .feedback_1 = 0.1});
  const auto open = [&](std::ptrdiff_t offset) {
    double left = lane.sample(0, offset);
    for (int n = -2; n <= 8; ++n) {
      if (n == 0) continue;
      double taken = 0;
      if (n == 1) taken = std::min(std::abs(lane.sample(1, offset)), 0.1 * lane.sample(0, offset));
      left -= std::abs(lane.sample(n, offset)) - taken;
    }
    return left;
  };
  for (std::ptrdiff_t offset = -6; offset <= 6; ++offset)
    EXPECT_LE(open(offset), open(0) + 1e-3) << offset;
}

TEST(EqualisedLane, FeedbackTakesOffWhatIsThereUpToItsLimit) {
  const EqualisedLane little = with({}, {.feedback_1 = 0.1, .feedback_2 = 0.5});
  EXPECT_NEAR(little.feedback(1), 0.1 * little.sample(0, 0), 1e-3);
  EXPECT_NEAR(little.feedback(2), little.sample(2, 0), 1e-3);
  EXPECT_EQ(little.feedback(3), 0);
  EXPECT_EQ(little.feedback(-1), 0);
  // An over-equalised lane has its post-cursor below zero: it is lifted.
  const EqualisedLane over = with({.post_cursor = -0.4}, {.peaking_db = 12, .feedback_1 = 0.5}, {});
  EXPECT_LT(over.feedback(1), 0);
}

TEST(EqualisedLane, NoiseIsOfTheReceiverItsNeighboursAndTheFarEcho) {
  const TransmitSetting transmit{.amplitude_mv = 1000};
  LaneChannel lane = kLongLane;
  lane.crosstalk_gain = lane.cable_echo_gain = 0;
  const double own = with(transmit, {}, lane).noise_mv;
  EXPECT_NEAR(own, 2 * LaneResponse(lane, LinkSpeed::kDdr).pulse(0).noise_gain, 1e-9);
  lane.noise_mv = 0;
  lane.crosstalk_gain = 0.01;
  const double neighbours = with(transmit, {}, lane).noise_mv;
  EXPECT_GT(neighbours, 3);
  EXPECT_LT(neighbours, 7);
  EXPECT_NEAR(with({.amplitude_mv = 500}, {}, lane).noise_mv, neighbours / 2, 1e-9);
  lane.crosstalk_gain = 0;
  lane.cable_echo_gain = 0.04;
  const EqualisedLane echoed = with(transmit, {}, lane);
  EXPECT_NEAR(echoed.noise_mv, 0.04 * std::pow(10, -1.2) * echoed.sample(0, 0), 1e-6);
  const EqualisedLane all = with(transmit, {});
  EXPECT_NEAR(all.noise_mv, std::hypot(own, neighbours, echoed.noise_mv), 1e-6);
}

TEST(EqualisedLane, ClockRecoveryFollowsSlowJitter) {
  LaneChannel lane = kLongLane;  // 10 ps are 0.8 samples of a DDR bit
  lane.sinusoidal_jitter_hz = 1e9;
  EXPECT_NEAR(with({}, {}, lane).sinusoidal_jitter_samples, 0.8, 1e-3);
  lane.sinusoidal_jitter_hz = 5e9 / 1667;
  EXPECT_NEAR(with({}, {}, lane).sinusoidal_jitter_samples, 0.8 / std::sqrt(2), 1e-3);
  lane.sinusoidal_jitter_hz = 1e4;
  EXPECT_LT(with({}, {}, lane).sinusoidal_jitter_samples, 0.01);
  // In parts of a bit, SDR has half of it.
  EXPECT_NEAR(with({}, {}, lane, LinkSpeed::kSdr).random_jitter_samples, 0.08, 1e-9);
}

TEST(EqualisedLane, BetweenSamplesThePulseIsSmooth) {
  const EqualisedLane lane = with({}, {});
  for (const int cursor : {-1, 0, 1, 5}) {
    EXPECT_NEAR(lane.at(cursor, 3), lane.sample(cursor, 3), 1e-6);
    EXPECT_NEAR(lane.at(cursor, -2), lane.sample(cursor, -2), 1e-6);
    const double between = lane.at(cursor, 0.5);
    const double low = std::min(lane.sample(cursor, 0), lane.sample(cursor, 1));
    const double high = std::max(lane.sample(cursor, 0), lane.sample(cursor, 1));
    EXPECT_GT(between, low - 0.5);
    EXPECT_LT(between, high + 0.5);
  }
  EXPECT_DOUBLE_EQ(lane.at(0, 16), lane.sample(1, 0));
}

}  // namespace
}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/error_rates.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "phy/channel/eye_matrix.h"
#include "phy/code/code_8b10b.h"
#include "phy/code/idle_data.h"

namespace weft::phy {
namespace {

constexpr int kFirstCursor = -kNearBefore;
constexpr int kCursors = static_cast<int>(kPulseBits) - 1;

// Two periods of IDLE data, as 1 and -1.
std::vector<double> coded_idle() {
  std::vector<double> bits;
  IdleData idle(1);
  Encoder encoder;
  for (unsigned i = 0; i < 2 * kIdlePeriod; ++i) {
    const unsigned code = encoder.encode(idle.next());
    for (unsigned bit = 0; bit < 10; ++bit)
      bits.push_back((code >> bit & 1) != 0 ? 1 : -1);
  }
  return bits;
}

struct Cursors {
  std::array<double, kCursors> level{};
  std::array<double, kCursors> slope{};
};

// At a place of the sine: what random jitter makes of a near cursor, to the second order.
Cursors cursors_at(const EqualisedLane& lane, double offset) {
  Cursors all;
  const double variance = lane.random_jitter_samples * lane.random_jitter_samples;
  for (int i = 0; i < kCursors; ++i) {
    const int cursor = kFirstCursor + i;
    const auto at = static_cast<std::size_t>(i);
    if (cursor > kNearBehind) {
      all.level[at] = lane.sample(cursor, 0);
      continue;
    }
    const double before = lane.at(cursor, offset - 1), after = lane.at(cursor, offset + 1);
    const double here = lane.at(cursor, offset);
    all.level[at] = here + (before + after - 2 * here) / 2 * variance - lane.feedback(cursor);
    all.slope[at] = (after - before) / 2;
  }
  return all;
}

// The same by the words of docs/channel-model.md: each place of the period and each moment of the
// sine by itself.
double rate_one_by_one(const EqualisedLane& lane, double offset, double threshold_mv) {
  static const std::vector<double> bits = coded_idle();
  constexpr int kMoments = 4;
  double errors = 0;
  for (int moment = 0; moment < kMoments; ++moment) {
    const double angle = std::numbers::pi * (moment + 0.5) / kMoments;
    const Cursors cursors =
        cursors_at(lane, offset + lane.sinusoidal_jitter_samples * std::cos(angle));
    for (std::size_t at = 0; at < bits.size(); ++at) {
      double level = 0, slope = 0;
      for (int i = 0; i < kCursors; ++i) {
        const std::size_t from = at + bits.size() - static_cast<std::size_t>(kFirstCursor + i);
        const double other = bits[from % bits.size()];
        level += cursors.level[static_cast<std::size_t>(i)] * other;
        slope += cursors.slope[static_cast<std::size_t>(i)] * other;
      }
      const double deviation = std::hypot(lane.noise_mv, slope * lane.random_jitter_samples);
      errors += std::erfc((level * bits[at] - threshold_mv) / deviation / std::numbers::sqrt2) / 2;
    }
  }
  return errors / (kMoments * static_cast<double>(bits.size()));
}

struct Cable {
  ChannelDescription channel;
  LinkSpeed speed = LinkSpeed::kDdr;
};

class ErrorRatesOver : public testing::TestWithParam<Cable> {};

// What is left out is little where errors are counted in a dwell time, and may be more where they
// hardly ever are.
double tolerated(double rate) {
  return rate < 1e-6 ? 0.4 : 0.15;
}

TEST_P(ErrorRatesOver, AreThoseOfAllPlacesOneByOne) {
  const auto& [channel, speed] = GetParam();
  EyeMatrix matrix = *EyeMatrix::make(*ChannelModel::make(channel), speed,
                                      default_transmit_settings(9), default_receive_settings(9));
  int compared = 0;
  for (std::size_t transmit = 0; transmit < 9; transmit += 2) {
    for (std::size_t receive = transmit / 2 % 2; receive < 9; receive += 3) {
      const EqualisedLane lane = matrix.equalised(0, transmit, receive);
      const double expected = rate_one_by_one(lane, 0, 0);
      const double rate = ErrorRates(lane).at(0, 0);
      if (expected < 1e-15) {
        EXPECT_LT(rate, 2e-15);
        continue;
      }
      const double off = std::abs(std::log(rate / expected));
      EXPECT_LT(off, tolerated(expected))
          << transmit << "," << receive << ": " << rate << " for " << expected;
      ++compared;
    }
  }
  EXPECT_GE(compared, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Cables, ErrorRatesOver,
    testing::Values(Cable{{.length_m = 7, .seed = 1}}, Cable{{.length_m = 9.5, .seed = 5}},
                    Cable{{.length_m = 9.5, .crosstalk_db = 60, .noise_mv = 1, .seed = 2}},
                    Cable{{.length_m = 7, .random_jitter_ps = 6, .seed = 3}},
                    Cable{{.length_m = 7, .sinusoidal_jitter_ps = 16, .seed = 4}},
                    Cable{{.length_m = 7, .return_loss_db = 9, .seed = 7}},
                    Cable{{.length_m = 16, .seed = 6}, LinkSpeed::kSdr}));

TEST(ErrorRates, FollowThePlaceAndTheThreshold) {
  EyeMatrix matrix =
      *EyeMatrix::make(*ChannelModel::make({.length_m = 7, .seed = 1}), LinkSpeed::kDdr,
                       default_transmit_settings(9), default_receive_settings(9));
  const EqualisedLane lane = matrix.equalised(0, 6, 4);
  const ErrorRates rates(lane);
  for (const double offset : {-3.3, -1.0, 2.5}) {
    for (const double threshold_mv : {0.0, 20.0, -10.0}) {
      const double expected = rate_one_by_one(lane, offset, threshold_mv);
      const double rate = rates.at(offset, threshold_mv);
      if (expected < 1e-15) {
        EXPECT_LT(rate, 2e-15);
      } else {
        EXPECT_LT(std::abs(std::log(rate / expected)), tolerated(expected))
            << offset << "," << threshold_mv;
      }
    }
  }
}

}  // namespace
}  // namespace weft::phy

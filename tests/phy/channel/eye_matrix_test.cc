// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/eye_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace weft::phy {
namespace {

using testing::HasSubstr;

EyeMatrix matrix_of(const ChannelDescription& description, LinkSpeed speed = LinkSpeed::kDdr) {
  return *EyeMatrix::make(*ChannelModel::make(description), speed, default_transmit_settings(9),
                          default_receive_settings(9));
}

// Pairs with which all lanes see less than one error in `dwell` on average.
int working_pairs(EyeMatrix& matrix, double symbols) {
  int working = 0;
  for (std::size_t transmit = 0; transmit < matrix.transmit().size(); ++transmit) {
    for (std::size_t receive = 0; receive < matrix.receive().size(); ++receive) {
      bool matched = true;
      double errors = 0;
      for (std::size_t lane = 0; lane < matrix.lanes(); ++lane) {
        const LaneQuality& quality = matrix.quality(lane, transmit, receive);
        matched = matched && quality.matched;
        errors += quality.symbol_error_rate * symbols;
      }
      working += matched && errors < 1 ? 1 : 0;
    }
  }
  return working;
}

constexpr double kSymbolsOfDwell = 25e6;  // of a DDR lane in 50 ms

TEST(EyeMatrix, ALongerCableLeavesFewerPairs) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    int before = 81;
    std::vector<int> counts;
    for (const double length : {0.5, 2.0, 4.0, 5.5, 7.0, 8.5, 10.0, 12.0, 15.0}) {
      EyeMatrix matrix = matrix_of({.length_m = length, .lanes = 2, .seed = seed});
      const int now = working_pairs(matrix, kSymbolsOfDwell);
      // A strong equaliser may not like a cable that needs none.
      EXPECT_LE(now, before + 1) << "seed " << seed << " length " << length;
      before = now;
      counts.push_back(now);
    }
    EXPECT_GE(counts.front(), 75);
    EXPECT_GT(counts[4], 20);  // at 7 m some do and some do not
    EXPECT_LT(counts[4], 65);
    EXPECT_EQ(counts.back(), 0);
  }
}

TEST(EyeMatrix, SdrGoesThroughCablesThatAreTooLongForDdr) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto channel = ChannelModel::make({.length_m = 12, .seed = seed});
    auto sdr = EyeMatrix::make(*channel, LinkSpeed::kSdr, {sdr_transmit_setting()},
                               {sdr_receive_setting()});
    for (std::size_t lane = 0; lane < sdr->lanes(); ++lane)
      EXPECT_LT(sdr->quality(lane, 0, 0).bit_error_rate, 1e-15) << seed;
    EyeMatrix ddr = matrix_of({.length_m = 12, .seed = seed});
    EXPECT_EQ(working_pairs(ddr, kSymbolsOfDwell), 0) << seed;
  }
}

TEST(EyeMatrix, TheSameQuestionHasTheSameAnswer) {
  const ChannelDescription description{.length_m = 8, .seed = 3};
  EyeMatrix one = matrix_of(description);
  EyeMatrix other = matrix_of(description);
  const LaneQuality asked = one.quality(1, 4, 4);
  one.quality(3, 8, 0);
  EXPECT_EQ(one.quality(1, 4, 4).bit_error_rate, asked.bit_error_rate);
  // Whatever was asked before, in whatever order.
  other.quality(3, 8, 0);
  EXPECT_EQ(other.quality(1, 4, 4).bit_error_rate, asked.bit_error_rate);
  EXPECT_NE(one.quality(2, 4, 4).bit_error_rate, asked.bit_error_rate);
  EXPECT_NE(one.quality(1, 4, 5).bit_error_rate, asked.bit_error_rate);
  EXPECT_NE(one.quality(1, 5, 4).bit_error_rate, asked.bit_error_rate);
}

TEST(EyeMatrix, AGoodPairIsCleanAndABadOneDoesNotMatch) {
  EyeMatrix matrix = matrix_of({.length_m = 9, .seed = 2});
  Random random(1);
  const DwellResult best = matrix.dwell_on_all(8, 8, 50ms, random);
  EXPECT_TRUE(best.clean());
  EXPECT_EQ(best.symbol_errors, 0);
  const DwellResult worst = matrix.dwell_on_all(0, 0, 50ms, random);
  EXPECT_FALSE(worst.matched);
  EXPECT_FALSE(worst.clean());
  EXPECT_GT(worst.symbol_errors, 1'000'000);
  EXPECT_GT(best.worst_eye_mv, worst.worst_eye_mv);
}

TEST(EyeMatrix, ErrorsOfADwellAreThoseOfTheRate) {
  EyeMatrix matrix = matrix_of({.length_m = 9, .seed = 2});
  Random random(8);
  int looked_at = 0;
  for (std::size_t transmit = 0; transmit < 9; ++transmit) {
    for (std::size_t receive = 0; receive < 9; ++receive) {
      const LaneQuality& quality = matrix.quality(0, transmit, receive);
      const double each = quality.symbol_error_rate * 5e5;  // in 1 ms
      if (each < 0.01 || each > 1e4) continue;
      double sum = 0;
      for (int i = 0; i < 400; ++i) {
        sum += static_cast<double>(matrix.dwell(0, transmit, receive, 1ms, random).symbol_errors);
      }
      EXPECT_NEAR(sum, 400 * each, 5 * std::sqrt(400 * each) + 1);
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 5);
}

TEST(EyeMatrix, AllLanesMustMatchAndTheirErrorsAddUp) {
  EyeMatrix matrix = matrix_of({.length_m = 9, .lane_spread = 0.3, .lanes = 8, .seed = 4});
  bool partly = false;
  for (std::size_t transmit = 0; transmit < 9; ++transmit) {
    std::size_t matched = 0;
    double errors = 0;
    for (std::size_t lane = 0; lane < matrix.lanes(); ++lane) {
      matched += matrix.quality(lane, transmit, 4).matched ? 1 : 0;
      errors += matrix.quality(lane, transmit, 4).symbol_error_rate * 5e6;  // in 10 ms
    }
    Random random(1);
    const DwellResult all = matrix.dwell_on_all(transmit, 4, 10ms, random);
    EXPECT_EQ(all.matched, matched == matrix.lanes());
    EXPECT_NEAR(static_cast<double>(all.symbol_errors), errors, 6 * std::sqrt(errors) + 1);
    partly = partly || (matched > 0 && matched < matrix.lanes());
  }
  EXPECT_TRUE(partly);
}

TEST(EyeMatrix, OpeningsAreThoseOfItsPairs) {
  EyeMatrix matrix = matrix_of({.length_m = 5, .seed = 2});
  const EyeOpening eye = matrix.opening(0, 4, 4);
  EXPECT_GT(eye.height_mv, 20);
  EXPECT_GT(eye.width_bits, 0.2);
  EXPECT_LT(eye.width_bits, 1);
  EXPECT_LT(matrix.opening(0, 4, 4, 1e-15).height_mv, eye.height_mv);
}

TEST(EyeMatrix, BadConfigurationsAreRefusedByNumberAndName) {
  const auto channel = *ChannelModel::make({});
  const auto make = [&](std::vector<TransmitSetting> transmit,
                        std::vector<ReceiveSetting> receive) {
    return EyeMatrix::make(channel, LinkSpeed::kDdr, std::move(transmit), std::move(receive));
  };
  EXPECT_THAT(make({}, {{}}).error().message, HasSubstr("0 transmit configurations"));
  EXPECT_THAT(make({{}}, std::vector<ReceiveSetting>(10)).error().message,
              HasSubstr("10 receive configurations: must be 1 to 9"));
  EXPECT_THAT(make({{}, {.amplitude_mv = 1e9}}, {{}}).error().message,
              HasSubstr("transmit configuration 1: amplitude_mv"));
  EXPECT_THAT(make({{}}, {{.peaking_db = -1}}).error().message,
              HasSubstr("receive configuration 0: peaking_db"));
}

// Whatever passes the checks is computed without a number that is none.
TEST(EyeMatrix, AnyDescriptionThatPassesHasAnAnswer) {
  Random random(99);
  const auto pick = [&](double least, double most) {
    switch (random.below(4)) {
      case 0:
        return least;
      case 1:
        return most;
      default:
        return least + (most - least) * static_cast<double>(random.below(1000)) / 1000;
    }
  };
  for (int i = 0; i < 300; ++i) {
    const auto channel = ChannelModel::make({.length_m = pick(0, 100),
                                             .loss_db_per_m = pick(0, 20),
                                             .skin_share = pick(0, 1),
                                             .board_loss_db = pick(0, 40),
                                             .return_loss_db = pick(3, 60),
                                             .crosstalk_db = pick(10, 120),
                                             .noise_mv = pick(0, 1000),
                                             .random_jitter_ps = pick(0, 50),
                                             .sinusoidal_jitter_ps = pick(0, 50),
                                             .sinusoidal_jitter_hz = pick(1, 1e9),
                                             .lane_spread = pick(0, 0.5),
                                             .lanes = 1,
                                             .seed = random.next()});
    ASSERT_TRUE(channel);
    auto matrix = EyeMatrix::make(*channel, i % 2 == 0 ? LinkSpeed::kSdr : LinkSpeed::kDdr,
                                  {{pick(50, 2000), pick(-0.3, 0.3), pick(-0.4, 0.4)}},
                                  {{pick(0, 20), pick(0, 0.5), pick(0, 0.5)}});
    ASSERT_TRUE(matrix);
    const LaneQuality& quality = matrix->quality(0, 0, 0);
    EXPECT_GE(quality.bit_error_rate, 0);
    EXPECT_LE(quality.bit_error_rate, 1);
    EXPECT_TRUE(std::isfinite(quality.worst_eye_mv));
    EXPECT_GE(quality.symbol_error_rate, quality.bit_error_rate * 0.999);
    if (i % 10 == 0) {
      const EyeOpening eye = matrix->opening(0, 0, 0);
      EXPECT_GE(eye.height_mv, 0);
      EXPECT_LE(eye.width_bits, 1);
    }
  }
}

}  // namespace
}  // namespace weft::phy

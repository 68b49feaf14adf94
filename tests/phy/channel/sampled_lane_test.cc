// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/sampled_lane.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "phy/channel/analytic_eye.h"
#include "phy/channel/eye_matrix.h"
#include "phy/code/idle_data.h"

namespace weft::phy {
namespace {

std::vector<Character> idle_characters(std::size_t count) {
  IdleData idle(1);
  std::vector<Character> characters;
  characters.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    characters.push_back(idle.next());
  return characters;
}

EyeMatrix pairs_of(const ChannelDescription& description, LinkSpeed speed) {
  return *EyeMatrix::make(*ChannelModel::make(description), speed, default_transmit_settings(9),
                          default_receive_settings(9));
}

struct Agreement {
  ChannelDescription channel;
  LinkSpeed speed;
};

class Agrees : public testing::TestWithParam<Agreement> {};

// In each window of 1 ms, the errors that are counted are those that the analysis expects within
// a tenth, and five deviations of a Poisson count that comes in bursts of up to two.
TEST_P(Agrees, CountedErrorsAreThoseOfTheAnalysis) {
  const auto& [channel, speed] = GetParam();
  EyeMatrix matrix = pairs_of(channel, speed);
  const std::vector<Character> characters =
      idle_characters(static_cast<std::size_t>(baud_hz(speed) * 1e-3 / 10));
  const auto symbols = static_cast<double>(characters.size());
  int compared = 0;
  for (std::size_t transmit = 0; transmit < 9; transmit += 2) {
    for (std::size_t receive = 0; receive < 9; receive += 2) {
      const LaneQuality& quality = matrix.quality(0, transmit, receive);
      const double expected = quality.symbol_error_rate * symbols;
      if (expected < 5 || !quality.matched || compared == 4) continue;
      SampledLane lane(matrix.equalised(0, transmit, receive), Random(77));
      lane.send(characters);
      const auto counted = static_cast<double>(lane.counts().wrong_symbols);
      const double bound = 0.1 * expected + 5 * std::sqrt(2 * expected);
      EXPECT_NEAR(counted, expected, bound) << transmit << "," << receive;
      // What the decoder can see is close to that.
      const auto reported = static_cast<double>(lane.counts().reported_symbols);
      EXPECT_NEAR(reported, counted, 0.1 * counted + 5 * std::sqrt(counted));
      EXPECT_GE(lane.counts().wrong_bits, lane.counts().wrong_symbols);
      ++compared;
    }
  }
  EXPECT_GE(compared, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Channels, Agrees,
    testing::Values(Agreement{{.length_m = 8, .seed = 1}, LinkSpeed::kDdr},
                    Agreement{{.length_m = 9.5, .seed = 5}, LinkSpeed::kDdr},
                    Agreement{{.length_m = 4, .noise_mv = 10, .seed = 2}, LinkSpeed::kDdr},
                    Agreement{{.length_m = 7, .random_jitter_ps = 6, .seed = 3}, LinkSpeed::kDdr},
                    Agreement{{.length_m = 7, .sinusoidal_jitter_ps = 16, .seed = 4},
                              LinkSpeed::kDdr},
                    Agreement{{.length_m = 15, .seed = 6}, LinkSpeed::kSdr}));

TEST(SampledLane, WithoutErrorsEverySymbolIsWhatWasSent) {
  EyeMatrix matrix = pairs_of({.length_m = 5, .seed = 1}, LinkSpeed::kDdr);
  ASSERT_LT(matrix.quality(0, 4, 4).bit_error_rate, 1e-12);
  SampledLane lane(matrix.equalised(0, 4, 4), Random(1));
  const std::vector<Character> characters = idle_characters(50'000);
  lane.send(characters);
  // The last one waits for what comes behind its last bit.
  EXPECT_EQ(lane.counts(), (SampledCounts{.symbols = characters.size() - 1}));
  lane.send(idle_characters(1));
  EXPECT_EQ(lane.counts().symbols, characters.size());
}

TEST(SampledLane, ControlCharactersPassToo) {
  EyeMatrix matrix = pairs_of({.length_m = 3, .seed = 1}, LinkSpeed::kDdr);
  SampledLane lane(matrix.equalised(0, 4, 4), Random(1));
  std::vector<Character> characters;
  for (int i = 0; i < 5'000; ++i)
    characters.insert(characters.end(), {kCom, kSkp, kSkp, kSkp, kSdp, {0x4A, false}, kEgp});
  lane.send(characters);
  EXPECT_EQ(lane.counts(), (SampledCounts{.symbols = characters.size() - 1}));
}

TEST(SampledLane, TheSameSeedMeetsTheSameErrors) {
  EyeMatrix matrix = pairs_of({.length_m = 9.5, .seed = 5}, LinkSpeed::kDdr);
  const std::vector<Character> characters = idle_characters(20'000);
  const auto counts = [&](std::uint64_t seed, std::size_t parts) {
    SampledLane lane(matrix.equalised(0, 4, 4), Random(seed));
    const std::size_t each = characters.size() / parts;
    for (std::size_t part = 0; part < parts; ++part)
      lane.send(std::span(characters).subspan(part * each, each));
    return lane.counts();
  };
  const SampledCounts once = counts(3, 1);
  EXPECT_GT(once.wrong_bits, 100);
  EXPECT_EQ(counts(3, 1), once);
  EXPECT_EQ(counts(3, 10), once);
  EXPECT_NE(counts(4, 1).wrong_bits, once.wrong_bits);
}

}  // namespace
}  // namespace weft::phy

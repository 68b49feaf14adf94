// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/normal.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

namespace weft::phy {
namespace {

double tail_by_erfc(double x) {
  return std::erfc(x / std::numbers::sqrt2) / 2;
}

TEST(Normal, TailIsThatOfTheErrorFunction) {
  const NormalTail& tail = NormalTail::table();
  for (double x = -11.97; x < 11.9; x += 0.173)
    EXPECT_NEAR(tail(static_cast<float>(x)) / tail_by_erfc(x), 1, 2e-3) << x;
  EXPECT_EQ(tail(0), 0.5);
  EXPECT_EQ(tail(40), 0);
  EXPECT_EQ(tail(-40), 1);
}

TEST(Normal, DrawsFillTheMiddleAndTheTailsAsTheyShould) {
  constexpr int kDraws = 8'000'000;
  NormalDraws draws(Random(11));
  double sum = 0, squares = 0;
  std::array<int, 5> beyond{};  // of 0, 1, 2, 3, 4 deviations
  for (int i = 0; i < kDraws; ++i) {
    const double x = draws.next();
    sum += x;
    squares += x * x;
    for (std::size_t k = 0; k < beyond.size(); ++k)
      beyond[k] += x > static_cast<double>(k) ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  for (std::size_t k = 0; k < beyond.size(); ++k) {
    const double expected = kDraws * tail_by_erfc(static_cast<double>(k));
    EXPECT_NEAR(beyond[k], expected, 5 * std::sqrt(expected)) << k << " deviations";
  }
}

struct Trials {
  double trials;
  double probability;
};

class Successes : public testing::TestWithParam<Trials> {};

TEST_P(Successes, HaveTheirMeanAndTheirVariance) {
  constexpr int kTimes = 20'000;
  const auto [trials, probability] = GetParam();
  Random random(5);
  double sum = 0, squares = 0;
  for (int i = 0; i < kTimes; ++i) {
    const auto drawn = static_cast<double>(draw_successes(random, trials, probability));
    ASSERT_LE(drawn, trials);
    sum += drawn;
    squares += drawn * drawn;
  }
  const double mean = trials * probability;
  const double variance = mean * (1 - probability);
  EXPECT_NEAR(sum / kTimes, mean, 5 * std::sqrt(variance / kTimes) + 1e-12);
  const double seen = squares / kTimes - sum / kTimes * sum / kTimes;
  EXPECT_NEAR(seen, variance, 0.1 * variance + 1e-12);
}

INSTANTIATE_TEST_SUITE_P(FewAndMany, Successes,
                         testing::Values(Trials{1e8, 0}, Trials{1e6, 1e-6}, Trials{25e6, 1e-7},
                                         Trials{1e5, 4e-4}, Trials{1e6, 1e-3}, Trials{1e4, 0.4},
                                         Trials{100, 1}));

}  // namespace
}  // namespace weft::phy

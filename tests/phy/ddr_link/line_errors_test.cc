// SPDX-License-Identifier: Apache-2.0
#include "phy/ddr_link/line_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "phy/ddr_link/error_times.h"

namespace weft::phy {
namespace {

constexpr double kSymbolsPerSecond = 2e9;  // four lanes at DDR

TEST(ErrorTimes, AreAsManyAsTheirRateSays) {
  for (const double probability : {1e-9, 1e-7, 1e-4, 1e-2}) {
    double sum = 0;
    constexpr int kSeeds = 40;
    const double expected = kSymbolsPerSecond * probability * 10;
    for (int seed = 0; seed < kSeeds; ++seed) {
      sum += static_cast<double>(
          ErrorTimes(kSymbolsPerSecond, probability, static_cast<std::uint64_t>(seed)).before(10s));
    }
    EXPECT_NEAR(sum / kSeeds, expected, 4 * std::sqrt(expected / kSeeds)) << probability;
  }
}

TEST(ErrorTimes, AreTheSameHoweverTheyAreAskedAbout) {
  for (const double probability : {1e-8, 1e-5, 1e-3}) {
    const ErrorTimes once(kSymbolsPerSecond, probability, 7);
    const ErrorTimes often(kSymbolsPerSecond, probability, 7);
    Random random(3);
    std::uint64_t last = 0;
    for (Duration at = 0s; at < 3s;
         at += Duration(static_cast<std::int64_t>(random.below(5'000'000)))) {
      const std::uint64_t now = often.before(at);
      ASSERT_GE(now, last);
      last = now;
    }
    EXPECT_EQ(once.before(3s), often.before(3s));
    // Nor in which order.
    const ErrorTimes back(kSymbolsPerSecond, probability, 7);
    (void)back.before(2000s);
    EXPECT_EQ(back.before(1s), once.before(1s));
    EXPECT_GE(back.before(2000s), once.before(1999s));
  }
}

// The parts of a time have what the rate says, with the deviation of what comes by chance.
TEST(ErrorTimes, ComeAtAnyTimeAlike) {
  const ErrorTimes times(kSymbolsPerSecond, 1e-5, 11);
  constexpr Duration kPart = 100us;
  constexpr int kParts = 20'000;
  constexpr double kExpected = kSymbolsPerSecond * 1e-5 * 1e-4;  // 2
  std::vector<int> seen(12);
  double square = 0;
  std::uint64_t before = 0;
  for (int part = 1; part <= kParts; ++part) {
    const std::uint64_t now = times.before(part * kPart);
    const auto here = static_cast<double>(now - before);
    before = now;
    square += (here - kExpected) * (here - kExpected);
    if (here < static_cast<double>(seen.size())) ++seen[static_cast<std::size_t>(here)];
  }
  EXPECT_NEAR(square / kParts, kExpected, 0.15);
  double likely = std::exp(-kExpected);
  for (std::size_t n = 0; n < 6; ++n) {
    EXPECT_NEAR(seen[n], likely * kParts, 5 * std::sqrt(likely * kParts)) << n;
    likely *= kExpected / static_cast<double>(n + 1);
  }
}

TEST(ErrorTimes, AreOthersOfAnotherSeed) {
  const ErrorTimes a(kSymbolsPerSecond, 1e-4, 1);
  const ErrorTimes b(kSymbolsPerSecond, 1e-4, 2);
  EXPECT_NE(a.before(1s), b.before(1s));
}

TEST(ErrorTimes, AreNoneWithoutAProbability) {
  EXPECT_EQ(ErrorTimes().before(1000h), 0U);
  EXPECT_EQ(ErrorTimes(kSymbolsPerSecond, 0, 1).before(1000h), 0U);
}

TEST(LineErrors, HitPacketsAsOftenAsTheirLengthInSymbolsSays) {
  for (const std::size_t lanes : {1UL, 4UL, 12UL}) {
    for (const std::size_t symbols : {28UL, 282UL, 4240UL}) {
      LineErrors line;
      const double wrong = 2e-4;
      line.begin(LinkSpeed::kDdr, lanes, wrong, 5, Time{1s});
      constexpr int kPackets = 20'000;
      int hit = 0;
      Time now{1s};
      for (int i = 0; i < kPackets; ++i, now += 50us)
        hit += line.packet(symbols, now) != 0 ? 1 : 0;
      // The last column is filled with other symbols.
      const auto all = static_cast<double>((symbols + lanes - 1) / lanes * lanes);
      const double likely = -std::expm1(all * std::log1p(-wrong));
      EXPECT_NEAR(hit, likely * kPackets, 5 * std::sqrt(likely * kPackets) + 1)
          << lanes << " lanes, " << symbols << " symbols";
    }
  }
}

TEST(LineErrors, OfPacketsAreAmongThoseThatAreCounted) {
  LineErrors line;
  line.begin(LinkSpeed::kSdr, 4, 1e-3, 5, Time{1s});
  std::uint64_t of_packets = 0;
  // Without a pause, so that there is nothing else on the line, and faster than it can.
  for (int i = 0; i < 1000; ++i)
    of_packets += line.packet(1000, Time{1s});
  EXPECT_GT(of_packets, 800U);
  EXPECT_EQ(line.count(Time{1s}), of_packets);
  EXPECT_GT(line.count(Time{2s}), of_packets) << "and idle data";
}

TEST(LineErrors, AreCountedWhileTheLinkIsUpOnly) {
  LineErrors line;
  EXPECT_FALSE(line.any());
  EXPECT_EQ(line.count(Time{5s}), 0U);
  line.begin(LinkSpeed::kDdr, 4, 1e-6, 5, Time{1s});
  EXPECT_TRUE(line.any());
  line.end(Time{2s});
  const std::uint64_t after = line.count(Time{2s});
  EXPECT_NEAR(static_cast<double>(after), 2000, 250);
  EXPECT_EQ(line.count(Time{100s}), after);
  EXPECT_EQ(line.packet(1000, Time{100s}), 0U);
  EXPECT_FALSE(line.any());
  line.begin(LinkSpeed::kSdr, 4, 1e-6, 6, Time{100s});
  EXPECT_NEAR(static_cast<double>(line.count(Time{101s}) - after), 1000, 180);
}

TEST(LineErrors, AreNotExpectedWhereTheyWouldTakeYears) {
  LineErrors line;
  line.begin(LinkSpeed::kDdr, 4, 1e-20, 5, Time{1s});
  EXPECT_FALSE(line.any());
  line.begin(LinkSpeed::kDdr, 4, 1e-13, 5, Time{1s});
  EXPECT_TRUE(line.any());
}

}  // namespace
}  // namespace weft::phy

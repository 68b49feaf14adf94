// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/code_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "phy/code/idle_data.h"

namespace weft::phy {
namespace {

TEST(CodeStatistics, IdleDataGoesThroughAllItsStatesAndBeginsAgain) {
  // Two characters hold all eleven bits of a state.
  IdleData idle(1);
  std::set<std::pair<int, int>> seen;
  Character before = idle.next();
  const Character first = before;
  for (unsigned i = 0; i < kIdlePeriod; ++i) {
    const Character character = idle.next();
    EXPECT_FALSE(character.control);
    seen.emplace(before.value, character.value);
    before = character;
  }
  EXPECT_EQ(seen.size(), kIdlePeriod);
  EXPECT_EQ(before, first);
}

TEST(CodeStatistics, NoPatternHasARunOfMoreThanFiveBits) {
  std::size_t places = 0;
  for (const CodeStatistics::Pattern& pattern : CodeStatistics::idle().patterns()) {
    places += pattern.tails.size();
    // Eleven bits as they are sent, the last one first, 1 where unlike the main one.
    int run = 0, longest = 0, last = -1;
    for (int cursor = -kNearBefore; cursor <= kNearBehind; ++cursor) {
      int unlike = 0;
      for (std::size_t half = 0; half < 2; ++half) {
        for (std::size_t place = 0; place < kNearHalf; ++place) {
          if (near_cursor(half, place) != cursor) continue;
          unlike = (half == 0 ? pattern.first : pattern.second) >> place & 1;
        }
      }
      run = unlike == last ? run + 1 : 1;
      last = unlike;
      longest = std::max(longest, run);
    }
    EXPECT_LE(longest, 5);
  }
  EXPECT_EQ(places, CodeStatistics::idle().places());
  EXPECT_EQ(places, 2U * 10 * kIdlePeriod);
}

TEST(CodeStatistics, TheNeighbourOfABitIsMoreOftenUnlikeItThanNot) {
  // What keeps a code balanced.
  const CodeStatistics& code = CodeStatistics::idle();
  EXPECT_EQ(code.correlation(0), 1);
  double all = 1;
  for (std::size_t distance = 1; distance < kPulseBits; ++distance)
    all += 2 * code.correlation(distance);
  // Power at no frequency at all, of which independent bits have 1.
  EXPECT_LT(std::abs(all), 0.2);
  double unlike = 0;
  for (const CodeStatistics::Pattern& pattern : code.patterns()) {
    // Bit 2 is the place of cursor 1.
    unlike += (pattern.first >> 2 & 1) != 0 ? static_cast<double>(pattern.tails.size()) : 0;
  }
  const double share = unlike / static_cast<double>(code.places());
  EXPECT_NEAR(1 - 2 * share, code.correlation(1), 1e-9);
  EXPECT_GT(share, 0.5);
}

TEST(CodeStatistics, TailsGoOnWhereThePatternEnds) {
  const CodeStatistics& code = CodeStatistics::idle();
  for (std::size_t i = 0; i < kTailCursors; i += 13) {
    double unlike = 0;
    for (const CodeStatistics::Pattern& pattern : code.patterns()) {
      for (const std::uint64_t tail : pattern.tails)
        unlike += static_cast<double>(tail >> i & 1);
    }
    const double share = unlike / static_cast<double>(code.places());
    EXPECT_NEAR(1 - 2 * share, code.correlation(kNearBehind + 1 + i), 1e-9) << i;
  }
}

}  // namespace
}  // namespace weft::phy

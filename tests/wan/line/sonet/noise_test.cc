// SPDX-License-Identifier: Apache-2.0
// A line that does to its octets what it likes: every wrong bit is counted by the parities that
// cover it, and nothing else is; after a slip frames are found again in as many as the standard
// takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "base/random.h"
#include "sim/seeds.h"
#include "sonet_stage.h"

namespace weft::wan::sonet {
namespace {

// What of a frame has wrong bits, as the parities see it: bit by bit the same as long as an even
// number of them is wrong.
struct Wrong {
  explicit Wrong(const Geometry& g) : b2(g.unit()) {}
  std::byte b1{};
  std::vector<std::byte> b2;
  std::byte b3{};
};

std::uint64_t bits_of(Bytes octets) {
  std::uint64_t sum = 0;
  for (const std::byte octet : octets)
    sum += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(octet)));
  return sum;
}

// One wrong bit of a frame: in the section's data channel (row 2), in the line's (rows 5 to 7), or
// in the payload and its stuff. No other octet says anything by itself.
void spoil(std::vector<std::byte>& frame, const Geometry& g, Random& random, Wrong& wrong) {
  std::size_t row = random.below(kRows);
  std::size_t column = 0;
  switch (random.below(4)) {
    case 0:
      row = 2;
      column = g.n * 3 * random.below(3);
      break;
    case 1:
      row = random.between(5, 7);
      column = g.n * 3 * random.below(3);
      break;
    default:
      column = g.overhead() + 1 + random.below(g.vc_row() - 1);
  }
  const auto bit = static_cast<std::byte>(1U << random.below(8));
  frame[g.at(row, 0) + column] ^= bit;
  wrong.b1 ^= bit;
  if (row >= kPointerRow || column >= g.overhead()) wrong.b2[column % g.unit()] ^= bit;
  if (column >= g.overhead()) wrong.b3 ^= bit;
}

TEST(SonetOnABadLine, CountsEachWrongBitInTheParitiesThatCoverIt) {
  for (const std::uint64_t seed : sim::seeds(30)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "SonetOnABadLine.*"));
    Random random(seed);
    const Level level = random.chance(0.5) ? Level::kStm1 : Level::kStm4;
    const Geometry g = geometry(level);
    End west({.level = level});
    End east({.level = level});
    talk(west, east, 60, level);
    ASSERT_TRUE(west.terminal.up());
    std::uint64_t b1 = 0;
    std::uint64_t b2 = 0;
    std::uint64_t b3 = 0;
    for (int i = 0; i < 20; ++i) {
      auto frame = filled(west.terminal, g.frame());
      Wrong wrong(g);
      for (std::uint64_t bits = random.below(9); bits > 0; --bits)
        spoil(frame, g, random, wrong);
      b1 += bits_of({&wrong.b1, 1});
      b2 += bits_of(wrong.b2);
      b3 += bits_of({&wrong.b3, 1});
      east.terminal.take(frame);
      lead(east, west, 1, level);
    }
    talk(west, east, 3, level);
    EXPECT_EQ(east.count(SonetCounter::kB1Errors), b1);
    EXPECT_EQ(east.count(SonetCounter::kB2Errors), b2);
    EXPECT_EQ(east.count(SonetCounter::kB3Errors), b3);
    // The far end is told of all of them, and receives well itself.
    EXPECT_EQ(west.count(SonetCounter::kLineRei), b2);
    EXPECT_EQ(west.count(SonetCounter::kPathRei), b3);
    EXPECT_EQ(west.count(SonetCounter::kB1Errors), 0U);
    EXPECT_TRUE(east.terminal.up() && west.terminal.up());
  }
}

// Octets are lost or doubled, or all of them begin some bits later.
void slip(std::vector<std::byte>& line, Random& random) {
  const auto at =
      line.begin() + static_cast<std::ptrdiff_t>(random.below(geometry(Level::kStm1).frame()));
  const auto size = static_cast<std::ptrdiff_t>(random.between(1, 3000));
  switch (random.below(3)) {
    case 0:
      line.erase(at, at + size);
      break;
    case 1:
      line.insert(at, static_cast<std::size_t>(size), std::byte{0x5A});
      break;
    default: {
      const auto bits = static_cast<unsigned>(random.between(1, 7));
      for (auto octet = line.end() - 1; octet > at; --octet)
        *octet = *(octet - 1) << (8 - bits) | *octet >> bits;
    }
  }
}

// Four frames until a slip is noticed, three until frames are found again (G.783, 6.2.5.1), and
// three until the pointer is believed: what comes then is exact.
TEST(SonetOnABadLine, IsInStepAgainInTheFramesOfTheStandardAfterAnySlip) {
  constexpr Geometry g = geometry(Level::kStm1);
  for (const std::uint64_t seed : sim::seeds(30)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "SonetOnABadLine.*"));
    Random random(seed);
    End west({.level = Level::kStm1});
    End east({.level = Level::kStm1});
    talk(west, east, 60, Level::kStm1);
    const std::uint64_t reframed = east.count(SonetCounter::kReframed);
    auto line = filled(west.terminal, 5 * g.frame());
    slip(line, random);
    east.terminal.take(line);
    EXPECT_EQ(east.count(SonetCounter::kReframed), reframed);
    lead(west, east, 5, Level::kStm1);
    EXPECT_TRUE(east.terminal.receiver().aligner().aligned());
    EXPECT_EQ(east.count(SonetCounter::kReframed), reframed + 1);
    lead(west, east, 2, Level::kStm1);
    east.pieces.clear();
    lead(west, east, 40, Level::kStm1);
    ASSERT_EQ(east.pieces.all.size(), 1U);
    EXPECT_EQ(east.pieces.size(), 40 * g.payload());
    EXPECT_TRUE(place_of(east.pieces.all[0]));
    // So short a time is no loss of frame.
    EXPECT_FALSE(east.terminal.defects().stands(Defect::kLof));
    EXPECT_EQ(east.terminal.defects().counters().get(Defect::kLof), 0U);
  }
}

}  // namespace
}  // namespace weft::wan::sonet

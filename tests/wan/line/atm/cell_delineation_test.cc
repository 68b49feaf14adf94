// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/cell_delineation.h"

#include <gtest/gtest.h>

#include "cell_stage.h"
#include "sim/seeds.h"
#include "wan/line/atm/cell_source.h"

namespace weft::wan::atm {
namespace {

// Octets of a line with so many cells of user data, after so many idle ones.
Octets line_of(std::size_t idle, const std::vector<Octets>& payloads, bool scrambled) {
  QueuedCells cells;
  CellSource source({&cells}, scrambled);
  Octets line((idle + payloads.size()) * kCellSize);
  source.fill(MutableBytes(line).first(idle * kCellSize));
  for (const Octets& payload : payloads)
    cells.push({.channel = kChannel}, payload);
  source.fill(MutableBytes(line).subspan(idle * kCellSize));
  return line;
}

std::vector<Octets> some_payloads(Random& random, std::size_t count) {
  std::vector<Octets> payloads;
  for (std::size_t i = 0; i < count; ++i)
    payloads.push_back(random_octets(random, kPayloadSize));
  return payloads;
}

// What was received is counted to the octet.
std::uint64_t counted_octets(const CellDelineation& in) {
  std::uint64_t cells = 0;
  for (const CellCounter counter : {CellCounter::kUserCells, CellCounter::kIdleCells,
                                    CellCounter::kUnassignedCells, CellCounter::kDiscardedCells}) {
    cells += in.counters().get(counter);
  }
  return cells * kCellSize + in.counters().get(CellCounter::kSkippedOctets);
}

class Delineation : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(ScrambledOrNot, Delineation, testing::Bool());

TEST_P(Delineation, IsInStepAfterOneHeaderAndDeltaMore) {
  KeptCells kept;
  CellDelineation in(kept, GetParam());
  const Octets line = line_of(0, std::vector<Octets>(20, Octets(kPayloadSize)), GetParam());
  // It begins in the middle of a cell.
  in.take(Bytes(line).subspan(20, kCellSize - 20 + kHeaderSize));
  EXPECT_EQ(in.state(), DelineationState::kPresync);
  in.take(Bytes(line).subspan(kCellSize + kHeaderSize, 7 * kCellSize - kHeaderSize - 1));
  EXPECT_EQ(in.state(), DelineationState::kPresync);
  in.take(Bytes(line).subspan(8 * kCellSize - 1, 1));
  EXPECT_EQ(in.state(), DelineationState::kSync);
  EXPECT_TRUE(kept.cells.empty());
  in.take(Bytes(line).subspan(8 * kCellSize));
  EXPECT_EQ(kept.cells.size(), 12U);
  EXPECT_EQ(in.counters().get(CellCounter::kSkippedOctets), 8 * kCellSize - 20);
}

TEST_P(Delineation, HandsOnTheSameCellsInAnyPieces) {
  Random random(3);
  const std::vector<Octets> payloads = some_payloads(random, 60);
  const Octets line = line_of(10, payloads, GetParam());
  for (int round = 0; round < 20; ++round) {
    KeptCells kept;
    CellDelineation in(kept, GetParam());
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random.below(150), line.size() - at);
      in.take(Bytes(line).subspan(at, size));
      at += size;
    }
    ASSERT_EQ(kept.cells.size(), payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      EXPECT_EQ(kept.cells[i].payload, payloads[i]);
      EXPECT_EQ(kept.cells[i].header, (CellHeader{.channel = kChannel}));
    }
    EXPECT_EQ(in.counters().get(CellCounter::kIdleCells), 3U);
  }
}

TEST(DelineationModes, PutOneWrongBitRightAndNoneInTheHeaderBehindIt) {
  Octets line = line_of(7, std::vector<Octets>(10, Octets(kPayloadSize)), false);
  const auto spoil = [&](std::size_t cell, unsigned bit) {
    line[(7 + cell) * kCellSize + bit / 8] ^= static_cast<std::byte>(0x80U >> bit % 8);
  };
  spoil(1, 30);  // put right
  spoil(2, 5);   // in detection mode: discarded
  spoil(4, 39);  // put right: a header between them was
  spoil(6, 1);   // two bits: discarded
  spoil(6, 20);
  KeptCells kept;
  CellDelineation in(kept, false);
  in.take(line);
  EXPECT_EQ(kept.cells.size(), 8U);
  for (const KeptCells::Kept& cell : kept.cells)
    EXPECT_EQ(cell.header, (CellHeader{.channel = kChannel}));
  EXPECT_EQ(in.counters().get(CellCounter::kCorrectedHeaders), 2U);
  EXPECT_EQ(in.counters().get(CellCounter::kDiscardedCells), 2U);
  EXPECT_EQ(in.state(), DelineationState::kSync);
}

TEST(DelineationModes, GoOnAfterAlphaLessOneWrongHeadersAndHuntAfterAlpha) {
  for (const unsigned wrong : {CellDelineation::kAlpha - 1, CellDelineation::kAlpha}) {
    Octets line = line_of(7, std::vector<Octets>(20, Octets(kPayloadSize)), false);
    for (std::size_t cell = 0; cell < wrong; ++cell)
      line[(8 + cell) * kCellSize] ^= std::byte{0xFF};
    KeptCells kept;
    CellDelineation in(kept, false);
    in.take(line);
    EXPECT_EQ(in.counters().get(CellCounter::kSyncLosses), wrong == CellDelineation::kAlpha);
    EXPECT_EQ(kept.cells.size(), wrong == CellDelineation::kAlpha ? 20 - 7 - 7U : 20 - 6U);
  }
}

// What I.432.1 gives: ALPHA cells until it is noticed, less than one until the next header, and
// that header and DELTA more. All-zero payload cannot be taken for a header.
TEST(DelineationModes, AreInStepAgainInTheCellsOfTheStandardAfterAnySlip) {
  for (std::size_t slip = 1; slip < kCellSize; ++slip) {
    for (const bool added : {false, true}) {
      Octets line = line_of(0, std::vector<Octets>(60, Octets(kPayloadSize)), false);
      const auto at = line.begin() + 20 * kCellSize + 10;
      if (added) {
        line.insert(at, slip, std::byte{0});
      } else {
        line.erase(at, at + static_cast<std::ptrdiff_t>(slip));
      }
      KeptCells kept;
      CellDelineation in(kept, false);
      const std::size_t most = CellDelineation::kAlpha + 1 + 1 + CellDelineation::kDelta;
      in.take(Bytes(line).first((20 + 1 + most) * kCellSize));
      EXPECT_EQ(in.state(), DelineationState::kSync) << slip;
      in.take(Bytes(line).subspan((20 + 1 + most) * kCellSize));
      EXPECT_EQ(in.counters().get(CellCounter::kSyncLosses), 1U);
      EXPECT_EQ(in.counters().get(CellCounter::kSyncs), 2U);
    }
  }
}

TEST_P(Delineation, HuntsAnewWhenInterrupted) {
  Random random(4);
  KeptCells kept;
  CellDelineation in(kept, GetParam());
  const Octets line = line_of(7, some_payloads(random, 3), GetParam());
  in.take(line);
  in.take(Bytes(line).first(10));
  EXPECT_EQ(kept.cells.size(), 3U);
  in.interrupted();
  EXPECT_EQ(in.state(), DelineationState::kHunt);
  EXPECT_EQ(counted_octets(in), line.size() + 10);
  in.take(line);
  EXPECT_EQ(kept.cells.size(), 6U);
  EXPECT_EQ(in.counters().get(CellCounter::kSyncLosses), 1U);
}

TEST_P(Delineation, CountsEveryOctetOfAnyLineAndIsInStepAgainBehindIt) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "*Delineation.CountsEveryOctet*"));
    Random random(seed);
    KeptCells kept;
    CellDelineation in(kept, GetParam());
    std::uint64_t octets = 0;
    for (int piece = 0; piece < 30; ++piece) {
      Octets line = line_of(random.below(10), some_payloads(random, random.below(20)), GetParam());
      if (random.chance(0.3)) line = random_octets(random, random.below(300));
      for (std::uint64_t errors = random.below(6); errors > 0 && !line.empty(); --errors)
        line[random.below(line.size())] ^= static_cast<std::byte>(1U << random.below(8));
      if (random.chance(0.5)) line.resize(random.below(line.size() + 1));
      in.take(line);
      octets += line.size();
    }
    EXPECT_LE(counted_octets(in), octets);
    EXPECT_LT(octets - counted_octets(in), kCellSize);
    // Before it notices that it is out of step, it takes what it is not for a cell now and then.
    const std::vector<Octets> payloads = some_payloads(random, 5);
    in.take(line_of(40, payloads, GetParam()));
    EXPECT_EQ(in.state(), DelineationState::kSync);
    ASSERT_GE(kept.cells.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(kept.cells[kept.cells.size() - 5 + i].payload, payloads[i]);
  }
}

}  // namespace
}  // namespace weft::wan::atm

// SPDX-License-Identifier: Apache-2.0
// The numbers of the levels, as they are published.
#include "wan/line/sonet/geometry.h"

#include <gtest/gtest.h>

namespace weft::wan::sonet {
namespace {

TEST(SonetGeometry, Stm64Has155520OctetsAnd9953Mbits) {
  const Geometry g = geometry(Level::kStm64);
  EXPECT_EQ(g.n, 64);
  EXPECT_EQ(g.row(), 17280);
  EXPECT_EQ(g.frame(), 155520);
  EXPECT_EQ(g.bits_per_second(), 9'953'280'000);
  EXPECT_EQ(g.overhead(), 576);
  EXPECT_EQ(g.vc_row(), 16704);
  EXPECT_EQ(g.vc_head(), 64);
  EXPECT_EQ(g.payload_row(), 16640);
  EXPECT_EQ(g.payload() * 8 * kFramesPerSecond, 9'584'640'000);
  EXPECT_EQ(g.unit(), 192);
}

TEST(SonetGeometry, OverheadOctetsAreTheFirstOfTheirColumns) {
  const Geometry g = geometry(Level::kStm64);
  EXPECT_EQ(g.at(0, 3), 192);                        // A2
  EXPECT_EQ(g.at(0, 6), 384);                        // J0
  EXPECT_EQ(g.at(1, 0), 17280);                      // B1
  EXPECT_EQ(g.at(kPointerRow, 3), 3 * 17280 + 192);  // H2
  EXPECT_EQ(g.at(4, 6), 4 * 17280 + 384);            // K2
  EXPECT_EQ(g.m1(), 8 * 17280 + 194);
  EXPECT_EQ(geometry(Level::kStm1).m1(), 8 * 270 + 5);
  EXPECT_EQ(geometry(Level::kStm16).m1(), 8 * 4320 + 50);
}

TEST(SonetGeometry, RatesOfTheLowerLevels) {
  EXPECT_EQ(geometry(Level::kStm1).bits_per_second(), 155'520'000);
  EXPECT_EQ(geometry(Level::kStm4).bits_per_second(), 622'080'000);
  EXPECT_EQ(geometry(Level::kStm16).bits_per_second(), 2'488'320'000);
  EXPECT_EQ(geometry(Level::kStm1).payload() * 8 * kFramesPerSecond, 149'760'000);
  EXPECT_EQ(geometry(Level::kStm4).payload() * 8 * kFramesPerSecond, 599'040'000);
  EXPECT_EQ(geometry(Level::kStm16).payload() * 8 * kFramesPerSecond, 2'396'160'000);
}

TEST(SonetGeometry, PointersCountUnitsOfAWholeContainer) {
  for (const Level level : kAllLevels) {
    const Geometry g = geometry(level);
    EXPECT_EQ(kPointers * g.unit(), g.vc());
    EXPECT_EQ(kAlignedPointer * g.unit(), (kRows - kPointerRow) * g.vc_row());
  }
}

TEST(SonetGeometry, LevelsHaveTwoNames) {
  EXPECT_EQ(level_named("stm-64"), Level::kStm64);
  EXPECT_EQ(level_named("sts-192c"), Level::kStm64);
  EXPECT_EQ(level_named("sts-3c"), Level::kStm1);
  EXPECT_EQ(level_named("stm-2"), std::nullopt);
}

}  // namespace
}  // namespace weft::wan::sonet

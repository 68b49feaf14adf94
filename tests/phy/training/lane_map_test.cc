// SPDX-License-Identifier: Apache-2.0
#include "phy/training/lane_map.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::phy {
namespace {

constexpr std::uint8_t kUpTo4x = 0x3;
constexpr std::uint8_t kUpTo12x = 0xF;

// -1: nothing.
std::vector<LaneInput> lanes_with(LaneSignal signal, std::vector<int> identifiers) {
  std::vector<LaneInput> inputs;
  for (const int lane : identifiers) {
    inputs.push_back(lane < 0
                         ? LaneInput{}
                         : LaneInput{.signal = signal, .lane = static_cast<std::uint8_t>(lane)});
  }
  return inputs;
}

std::vector<LaneInput> ts1(std::vector<int> identifiers) {
  return lanes_with(LaneSignal::kTs1, std::move(identifiers));
}

TEST(LaneMap, FindsTheWidestWidthWhoseLanesAreAllThere) {
  EXPECT_EQ(widest_map(ts1({0, 1, 2, 3}), kUpTo4x, true), (LaneMap{.width = LinkWidth::k4x}));
  EXPECT_EQ(widest_map(ts1({0, 1, -1, 3}), kUpTo4x, true), (LaneMap{.width = LinkWidth::k1x}));
  EXPECT_EQ(widest_map(ts1({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), kUpTo12x, true),
            (LaneMap{.width = LinkWidth::k12x}));
  EXPECT_EQ(widest_map(ts1({0, 1, 2, 3, 4, 5, 6, 7, 8, -1, 10, 11}), kUpTo12x, true),
            (LaneMap{.width = LinkWidth::k8x}));
  EXPECT_EQ(widest_map(ts1({0, 1, 2, 3, 4, 5, -1, 7, 8, -1, 10, 11}), kUpTo12x, true),
            (LaneMap{.width = LinkWidth::k4x}));
}

TEST(LaneMap, TakesNoWidthThatIsNotEnabled) {
  EXPECT_EQ(widest_map(ts1({0, 1, 2, 3}), 0x1, true), (LaneMap{.width = LinkWidth::k1x}));
  EXPECT_EQ(widest_map(ts1({0, 1, -1, 3}), 0x2, true), std::nullopt);
  EXPECT_EQ(widest_map(ts1({-1, 1, 2, 3}), kUpTo4x, true), std::nullopt);
}

TEST(LaneMap, FindsReversedLanesWhereThePortCanPutThemInOrder) {
  const auto reversed = ts1({3, 2, 1, 0});
  EXPECT_EQ(widest_map(reversed, kUpTo4x, true), (LaneMap{.width = LinkWidth::k4x, .mirror = 4}));
  EXPECT_EQ(widest_map(reversed, kUpTo4x, false), std::nullopt);
  EXPECT_EQ(widest_map(ts1({3, -1, 1, 0}), kUpTo4x, true),
            (LaneMap{.width = LinkWidth::k1x, .mirror = 4}));
  // A cable of 4 reversed lanes at a port of 12.
  EXPECT_EQ(widest_map(ts1({3, 2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1}), kUpTo12x, true),
            (LaneMap{.width = LinkWidth::k4x, .mirror = 4}));
}

TEST(LaneMap, CountsNoLaneThatIsInvertedOrCarriesSomethingElse) {
  auto inputs = ts1({0, 1, 2, 3});
  inputs[2].inverted = true;
  EXPECT_EQ(widest_map(inputs, kUpTo4x, true), (LaneMap{.width = LinkWidth::k1x}));
  inputs = ts1({0, 1, 2, 3});
  inputs[0].signal = LaneSignal::kIdle;
  EXPECT_EQ(widest_map(inputs, kUpTo4x, true), std::nullopt);
  inputs[0].signal = LaneSignal::kTs2;
  EXPECT_EQ(widest_map(inputs, kUpTo4x, true), (LaneMap{.width = LinkWidth::k4x}));
}

TEST(LaneMap, LeadsThereAndBack) {
  for (const std::uint8_t mirror : std::initializer_list<std::uint8_t>{0, 4, 8, 12}) {
    for (const LinkWidth width : kWidestFirst) {
      if (mirror != 0 && mirror < lanes_of(width)) continue;
      const LaneMap map{.width = width, .mirror = mirror};
      std::size_t found = 0;
      for (std::size_t physical = 0; physical < kMaxLanes; ++physical) {
        const auto lane = map.lane_at(physical);
        found += lane ? 1 : 0;
        if (lane) {
          EXPECT_EQ(map.physical(*lane), physical);
        }
      }
      EXPECT_EQ(found, lanes_of(width));
    }
  }
}

TEST(NarrowerWidth, IsWhereExactlyThoseLanesCarryTs2) {
  const LaneMap map{.width = LinkWidth::k8x};
  const auto ts2 = [](std::vector<int> lanes) { return lanes_with(LaneSignal::kTs2, lanes); };
  EXPECT_EQ(narrower_width(ts2({0, 1, 2, 3, -1, -1, -1, -1}), 0x7, map), LinkWidth::k4x);
  EXPECT_EQ(narrower_width(ts2({0, -1, -1, -1, -1, -1, -1, -1}), 0x7, map), LinkWidth::k1x);
  EXPECT_EQ(narrower_width(ts2({0, 1, 2, 3, 4, -1, -1, -1}), 0x7, map), std::nullopt);
  EXPECT_EQ(narrower_width(ts2({0, 1, 2, 3, -1, -1, -1, -1}), 0x5, map), std::nullopt);
  EXPECT_EQ(narrower_width(ts1({0, 1, 2, 3, -1, -1, -1, -1}), 0x7, map), std::nullopt);
  EXPECT_EQ(narrower_width(ts2({0, 1, 2, 3, 4, 5, 6, 7}), 0x7, map), std::nullopt);
}

TEST(NarrowerWidth, IsFoundAtTheOtherEndOfReversedLanes) {
  const LaneMap map{.width = LinkWidth::k4x, .mirror = 4};
  EXPECT_EQ(narrower_width(lanes_with(LaneSignal::kTs2, {-1, -1, -1, 0}), kUpTo4x, map),
            LinkWidth::k1x);
  EXPECT_EQ(narrower_width(lanes_with(LaneSignal::kTs2, {0, -1, -1, -1}), kUpTo4x, map),
            std::nullopt);
}

}  // namespace
}  // namespace weft::phy

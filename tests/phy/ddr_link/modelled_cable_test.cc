// SPDX-License-Identifier: Apache-2.0
#include "phy/ddr_link/modelled_cable.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::phy {
namespace {

ModelledCable cable_of(const ChannelDescription& channel) {
  const SerdesSettings all{default_transmit_settings(9), default_receive_settings(9)};
  return *ModelledCable::make(channel, {all, all});
}

// Both ports at DDR: port 0 sends `transmit[0]` and receives with `receive[0]` on every lane.
std::array<SerdesLine, 2> lines_with(std::array<std::uint32_t, 2> transmit,
                                     std::array<std::uint32_t, 2> receive) {
  std::array<SerdesLine, 2> lines;
  for (std::size_t side = 0; side < 2; ++side) {
    lines[side] = {.speed = LinkSpeed::kDdr,
                   .on = true,
                   .transmit = transmit[side],
                   .receive = std::vector<std::uint32_t>(4, receive[side])};
  }
  return lines;
}

TEST(ModelledCables, AreAWayAndItsReverse) {
  const ChannelDescription channel{.length_m = 7, .seed = 11};
  ModelledCable cable = cable_of(channel);
  EXPECT_EQ(cable.eyes(1).channel().description(), channel);
  EXPECT_EQ(cable.eyes(0).channel().description(), channel.reverse());
  EXPECT_NE(cable.eyes(0).quality(0, 4, 4).bit_error_rate,
            cable.eyes(1).quality(0, 4, 4).bit_error_rate);
}

TEST(ModelledCables, BringAPortWhatTheOtherOneSends) {
  auto cable = ModelledCable::make(
      {}, {SerdesSettings{default_transmit_settings(2), default_receive_settings(3)},
           SerdesSettings{default_transmit_settings(4), default_receive_settings(5)}});
  ASSERT_TRUE(cable);
  EXPECT_EQ(cable->eyes(0).transmit(), default_transmit_settings(4));
  EXPECT_EQ(cable->eyes(0).receive(), default_receive_settings(3));
  EXPECT_EQ(cable->eyes(1).transmit(), default_transmit_settings(2));
  EXPECT_EQ(cable->eyes(1).receive(), default_receive_settings(5));
}

TEST(ModelledCables, AreAsGoodAsTheirWorstLane) {
  ModelledCable cable = cable_of({.length_m = 9, .seed = 2});
  auto lines = lines_with({8, 8}, {8, 8});
  for (unsigned to = 0; to < 2; ++to) {
    const double good = cable.bit_error_rate(to, lines);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      auto one_bad = lines;
      one_bad[to].receive[lane] = 0;
      const double bad = cable.eyes(to).quality(lane, 8, 0).bit_error_rate;
      ASSERT_GT(bad, good);
      EXPECT_EQ(cable.bit_error_rate(to, one_bad), bad);
      EXPECT_EQ(cable.bit_error_rate(1 - to, one_bad), cable.bit_error_rate(1 - to, lines));
    }
  }
}

TEST(ModelledCables, CarryWhatThePairOfThatWayGetsAcross) {
  ModelledCable cable = cable_of({.length_m = 9, .seed = 2});
  const auto good = lines_with({8, 8}, {8, 8});
  // What port 1 sends does not reach port 0.
  const auto bad = lines_with({8, 0}, {0, 8});
  for (std::uint32_t lane = 0; lane < cable.lanes(); ++lane) {
    EXPECT_TRUE(cable.carries(0, lane, good));
    EXPECT_TRUE(cable.carries(1, lane, good));
    EXPECT_FALSE(cable.carries(0, lane, bad));
    EXPECT_TRUE(cable.carries(1, lane, bad));
  }
}

TEST(ModelledCables, MeasureThePairThatIsAskedFor) {
  ModelledCable cable = cable_of({.length_m = 9, .seed = 2});
  Random random(1);
  for (unsigned to = 0; to < 2; ++to) {
    const LaneMeasurement good = cable.measure(to, 1, 8, 8, 50ms, random);
    EXPECT_TRUE(good.matched);
    EXPECT_EQ(good.symbol_errors, 0);
    EXPECT_EQ(good.eye, cable.eyes(to).quality(1, 8, 8).worst_eye_mv);
    EXPECT_FALSE(cable.measure(to, 1, 0, 0, 50ms, random).matched);
  }
}

}  // namespace
}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
#include "lan/stations.h"

#include <gtest/gtest.h>

namespace weft::lan::test {
namespace {

MacAddress station(std::uint8_t number) {
  return {0x52, 0x54, 0, 0, 0, number};
}

TEST(Stations, AreWhereTheyWereHeardLast) {
  Stations stations({}, 4);
  EXPECT_EQ(stations.find(station(1)), std::nullopt);
  EXPECT_TRUE(stations.learn(station(1), 2, Time{}));
  EXPECT_TRUE(stations.learn(station(2), 2, Time{}));
  EXPECT_EQ(stations.find(station(1)), PeerId{2});
  EXPECT_TRUE(stations.learn(station(1), 3, Time{}));
  EXPECT_EQ(stations.find(station(1)), PeerId{3});
  EXPECT_EQ(stations.find(station(2)), PeerId{2});
  EXPECT_EQ(stations.count(), 2u);
  EXPECT_EQ(stations.count(2), 1u);
  EXPECT_EQ(stations.count(3), 1u);
}

TEST(Stations, AreForgottenWhenTheyAreNotHeard) {
  Stations stations({}, 4);
  EXPECT_EQ(stations.deadline(), std::nullopt);
  EXPECT_TRUE(stations.learn(station(1), 2, Time{}));
  EXPECT_TRUE(stations.learn(station(2), 2, Time{}));
  EXPECT_TRUE(stations.learn(station(2), 2, Time{20s}));
  ASSERT_EQ(stations.deadline(), Time{300s});
  stations.run(Time{299s});
  EXPECT_EQ(stations.count(), 2u);
  stations.run(Time{300s});
  EXPECT_EQ(stations.find(station(1)), std::nullopt);
  EXPECT_EQ(stations.find(station(2)), PeerId{2});
  EXPECT_EQ(stations.count(2), 1u);
  ASSERT_EQ(stations.deadline(), Time{330s});
  stations.run(Time{330s});
  EXPECT_EQ(stations.count(2), 0u);
  EXPECT_EQ(stations.deadline(), std::nullopt);
}

TEST(Stations, GoWithTheirPeerOrByThemselves) {
  Stations stations({}, 4);
  for (std::uint8_t i = 0; i < 6; ++i)
    EXPECT_TRUE(stations.learn(station(i), i % 2, Time{}));
  stations.forget(station(1));
  stations.forget(station(99));
  EXPECT_EQ(stations.count(1), 2u);
  stations.forget(PeerId{0});
  EXPECT_EQ(stations.count(), 2u);
  EXPECT_EQ(stations.find(station(0)), std::nullopt);
  EXPECT_EQ(stations.find(station(3)), PeerId{1});
  stations.clear();
  EXPECT_EQ(stations.count(), 0u);
  EXPECT_EQ(stations.count(1), 0u);
}

TEST(Stations, AreBoundedBehindAPeerAndInAll) {
  Stations stations({.most = 5, .most_of_one = 3}, 4);
  for (std::uint8_t i = 0; i < 10; ++i)
    EXPECT_EQ(stations.learn(station(i), 1, Time{}), i < 3);
  for (std::uint8_t i = 20; i < 30; ++i)
    EXPECT_EQ(stations.learn(station(i), 2, Time{}), i < 22);
  EXPECT_EQ(stations.count(), 5u);
  // Those that are known stay known, and may move, but not to where there are too many.
  EXPECT_TRUE(stations.learn(station(0), 1, Time{1s}));
  EXPECT_TRUE(stations.learn(station(0), 2, Time{1s}));
  EXPECT_FALSE(stations.learn(station(1), 2, Time{1s}));
  EXPECT_EQ(stations.find(station(1)), PeerId{1});
}

}  // namespace
}  // namespace weft::lan::test

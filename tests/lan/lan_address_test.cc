// SPDX-License-Identifier: Apache-2.0
#include "lan/lan_address.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::lan {
namespace {

PortLids lids(unsigned base, unsigned lmc) {
  return {.base = Lid{static_cast<std::uint16_t>(base)}, .lmc = static_cast<std::uint8_t>(lmc)};
}

// docs/lan.md has these octets as a figure.
TEST(LanAddress, HasTheOctetsOfTheFigure) {
  EXPECT_EQ(mac_of(lids(0x1238, 3)), (MacAddress{0x02, 0x57, 0x4C, 0x03, 0x12, 0x38}));
}

TEST(LanAddress, IsOfOneStationAndLocallyAdministered) {
  for (const unsigned base : {1U, 0x100U, 0xBFFFU}) {
    const MacAddress mac = mac_of(lids(base, 0));
    EXPECT_EQ(mac[0] & 1, 0);
    EXPECT_EQ(mac[0] & 0x0E, 2);  // IEEE 802c: administratively assigned
  }
}

TEST(LanAddress, IsUniqueAndToldBackForEveryPort) {
  std::set<MacAddress> all;
  std::size_t ports = 0;
  for (unsigned lmc = 0; lmc <= PortLids::kMostLmc; ++lmc) {
    for (unsigned base = 1U << lmc; base < 0xC000; base += 1U << lmc) {
      const MacAddress mac = mac_of(lids(base, lmc));
      ASSERT_EQ(lids_of(mac), lids(base, lmc));
      ASSERT_EQ(kind_of(mac), MacKind::kPort);
      all.insert(mac);
      ++ports;
    }
  }
  EXPECT_EQ(all.size(), ports);
}

TEST(LanAddress, IsNotReadFromWhatNoPortHas) {
  const MacAddress good = mac_of(lids(0x1238, 3));
  for (const auto& [octet, value] :
       std::initializer_list<std::pair<std::size_t, std::uint8_t>>{{0, 0x00},
                                                                   {0, 0x06},
                                                                   {0, 0x0A},
                                                                   {1, 'w'},
                                                                   {2, 0},
                                                                   {3, 4},
                                                                   {3, 8},
                                                                   {3, 0x13},
                                                                   {4, 0xC0},
                                                                   {4, 0xFF},
                                                                   {5, 0x39}}) {
    MacAddress bad = good;
    bad[octet] = value;
    EXPECT_FALSE(lids_of(bad)) << octet << ' ' << unsigned{value};
    EXPECT_EQ(kind_of(bad), MacKind::kForeign);
  }
  EXPECT_FALSE(lids_of({0x02, 0x57, 0x4C, 0, 0, 0}));
}

TEST(LanAddress, OfAGroupIsToldFromBroadcast) {
  EXPECT_EQ(kind_of(kBroadcast), MacKind::kBroadcast);
  EXPECT_EQ(kind_of({0x01, 0x00, 0x5E, 0, 0, 1}), MacKind::kGroup);
  EXPECT_EQ(kind_of({0x33, 0x33, 0, 0, 0, 1}), MacKind::kGroup);
  EXPECT_EQ(kind_of({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE}), MacKind::kGroup);
}

TEST(LanAddress, BelongsToAllLidsOfItsPort) {
  const PortLids port = lids(0x1238, 3);
  EXPECT_TRUE(port.contains(Lid{0x1238}));
  EXPECT_TRUE(port.contains(Lid{0x123F}));
  EXPECT_FALSE(port.contains(Lid{0x1237}));
  EXPECT_FALSE(port.contains(Lid{0x1240}));
}

}  // namespace
}  // namespace weft::lan

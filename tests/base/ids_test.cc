// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace weft {
namespace {

Gid gid(std::array<std::uint8_t, 16> bytes) {
  return Gid{bytes};
}

TEST(Psn, WrapsAtTwoToThePowerOf24) {
  EXPECT_EQ(Psn{0xFFFFFF} + 1, Psn{0});
  EXPECT_EQ(Psn{0} - 1, Psn{0xFFFFFF});
  EXPECT_EQ(Psn{5} + 0x1000000, Psn{5});
  EXPECT_EQ(Psn{0x1FFFFFE}.value(), 0xFFFFFEu);
  Psn psn{0xFFFFFE};
  ++psn;
  EXPECT_EQ((++psn).value(), 0u);
}

TEST(Psn, OrdersByTheSigned24BitDifference) {
  EXPECT_EQ(Psn::diff(Psn{7}, Psn{3}), 4);
  EXPECT_EQ(Psn::diff(Psn{3}, Psn{7}), -4);
  EXPECT_EQ(Psn::diff(Psn{1}, Psn{0xFFFFFF}), 2);
  EXPECT_EQ(Psn::diff(Psn{0xFFFFFF}, Psn{1}), -2);
  EXPECT_EQ(Psn::diff(Psn{0x7FFFFF}, Psn{0}), 0x7FFFFF);
  EXPECT_EQ(Psn::diff(Psn{0x800000}, Psn{0}), -0x800000);
}

TEST(Psn, DiffUndoesAdditionFromAnyStart) {
  for (std::uint32_t start = 0; start <= Psn::kMask; start += 0xFFF1) {
    for (const std::int32_t distance : {0, 1, -1, 12345, -12345, 0x7FFFFF, -0x800000}) {
      const Psn moved = Psn{start} + static_cast<std::uint32_t>(distance);
      ASSERT_EQ(Psn::diff(moved, Psn{start}), distance) << start;
    }
  }
}

TEST(Id, KeepsOnlyTheBitsOfItsField) {
  EXPECT_EQ(Qpn{0xFF123456}.value(), 0x123456u);
  EXPECT_EQ(Sl{0xF3}.value(), 3);
  EXPECT_EQ(Vl{0x1F}.value(), 15);
  EXPECT_EQ(Lid{0xFFFF}.value(), 0xFFFF);
  EXPECT_EQ(Guid{~0ULL}.value(), ~0ULL);
  EXPECT_EQ(QKey{0x80010000}, kGsiQKey);
}

TEST(Id, IsATypeOfItsOwn) {
  static_assert(!std::is_convertible_v<std::uint32_t, Qpn>);
  static_assert(!std::is_constructible_v<Lid, PKey>);
  static_assert(!std::is_constructible_v<LKey, RKey>);
  EXPECT_LT(Qpn{1}, Qpn{2});
  EXPECT_EQ((std::unordered_set<Qpn>{Qpn{1}, Qpn{0x1000001}, Qpn{2}}).size(), 2u);
}

TEST(Gid, HoldsIpv4AsAMappedAddress) {
  const Gid v4 = Gid::from_ipv4(0xC0000201);
  EXPECT_TRUE(v4.is_ipv4_mapped());
  EXPECT_EQ(v4.ipv4(), 0xC0000201u);
  EXPECT_EQ(v4.to_string(), "::ffff:192.0.2.1");
  EXPECT_FALSE(Gid{}.is_ipv4_mapped());
  EXPECT_TRUE(Gid{}.is_zero());
}

TEST(Gid, KnowsMulticastOfBothFamilies) {
  EXPECT_TRUE(gid({0xFF, 0x12}).is_multicast());
  EXPECT_TRUE(Gid::from_ipv4(0xE0000001).is_multicast());
  EXPECT_TRUE(Gid::from_ipv4(0xEFFFFFFF).is_multicast());
  EXPECT_FALSE(Gid::from_ipv4(0xDFFFFFFF).is_multicast());
  EXPECT_FALSE(Gid::from_ipv4(0xF0000000).is_multicast());
  EXPECT_FALSE(gid({0xFE, 0x80}).is_multicast());
}

TEST(Gid, KnowsLinkLocalAddresses) {
  EXPECT_TRUE(gid({0xFE, 0x80}).is_link_local());
  EXPECT_TRUE(gid({0xFE, 0xBF}).is_link_local());
  EXPECT_FALSE(gid({0xFE, 0xC0}).is_link_local());
  EXPECT_FALSE(gid({0x20, 0x01}).is_link_local());
}

}  // namespace
}  // namespace weft

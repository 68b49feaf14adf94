// SPDX-License-Identifier: Apache-2.0
#include "base/gid_prefix.h"

#include <gtest/gtest.h>

#include "base/gid_text.h"

namespace weft {
namespace {

GidPrefix prefix(std::string_view text) {
  return parse_gid_prefix(text).value();
}

TEST(GidPrefix, CoversWhatBeginsAsItDoes) {
  const GidPrefix subnet = prefix("fd00:0:0:2::/64");
  EXPECT_TRUE(subnet.covers(*parse_gid("fd00:0:0:2::1")));
  EXPECT_TRUE(subnet.covers(*parse_gid("fd00:0:0:2:ffff:ffff:ffff:ffff")));
  EXPECT_FALSE(subnet.covers(*parse_gid("fd00:0:0:3::1")));
  EXPECT_TRUE(prefix("fd00::/48").covers(subnet));
  EXPECT_FALSE(subnet.covers(prefix("fd00::/48")));
  EXPECT_TRUE(GidPrefix().covers(subnet)) << "::/0 is everybody's";
  const GidPrefix one = prefix("fd00::7/128");
  EXPECT_TRUE(one.covers(*parse_gid("fd00::7")));
  EXPECT_FALSE(one.covers(*parse_gid("fd00::6")));
  EXPECT_EQ(GidPrefix(0xFD00'0000'0000'0002), subnet);
  EXPECT_EQ(subnet.subnet(), 0xFD00'0000'0000'0002);
}

TEST(GidPrefix, ForgetsBitsBeyondItsLength) {
  const Gid gid = *parse_gid("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
  for (unsigned bits = 0; bits <= GidPrefix::kMostBits; ++bits) {
    const GidPrefix cut(gid, bits);
    EXPECT_EQ(cut.bits(), bits);
    EXPECT_EQ(cut, GidPrefix(gid, GidPrefix::kMostBits).first(bits));
    EXPECT_EQ(cut.common_bits(GidPrefix(gid, GidPrefix::kMostBits)), bits);
    EXPECT_TRUE(bits == 0 || cut.bit(bits - 1) == 1) << bits;
    EXPECT_TRUE(bits == GidPrefix::kMostBits || cut.bit(bits) == 0) << bits;
    EXPECT_EQ(parse_gid_prefix(cut.to_string()), cut);
  }
}

TEST(GidPrefix, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(prefix("fd00:0:0:2::").bits(), 64u) << "a subnet's, where nothing is said";
  EXPECT_EQ(prefix("::/0"), GidPrefix());
  EXPECT_EQ(prefix("fd00:0:0:2::").to_string(), "fd00:0:0:2::/64");
  for (const char* const wrong :
       {"", "/64", "fd00::/", "fd00::/129", "fd00::/-1", "fd00::/6 4", "fd00::/64/64", "10.0.0.0/8",
        "fd00::1", "fd00:0:0:1::/48", "8000::/0", "fd00::/64x"}) {
    EXPECT_EQ(parse_gid_prefix(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace weft

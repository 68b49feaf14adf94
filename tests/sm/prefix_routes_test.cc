// SPDX-License-Identifier: Apache-2.0
#include "sm/prefix_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PrefixRoutes, LeadToAnyRouterUntilAFileSaysMore) {
  EXPECT_THAT(PrefixRoutes{}.routes, ElementsAre(PrefixRoute{}));
  const auto none = PrefixRoutes::parse("# nobody\n\n", "f");
  ASSERT_TRUE(none);
  EXPECT_THAT(none->routes, IsEmpty());
}

TEST(PrefixRoutes, AreReadAsOpenSmReadsThem) {
  const auto read = PrefixRoutes::parse(
      "0x20010db800000001 0x0002c90300001dd1\n"
      "  20010DB800000001\t2c90300001dd2  # the other one\r\n"
      "\n#\n"
      "* 0x5\n"
      "0xfec0000000000007 *",
      "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(
      read->routes,
      ElementsAre(
          PrefixRoute{.prefix = 0x2001'0DB8'0000'0001, .router = Guid{0x0002'C903'0000'1DD1}},
          PrefixRoute{.prefix = 0x2001'0DB8'0000'0001, .router = Guid{0x0002'C903'0000'1DD2}},
          PrefixRoute{.router = Guid{5}}, PrefixRoute{.prefix = 0xFEC0'0000'0000'0007}));
  EXPECT_THAT(read->notes, IsEmpty());
}

TEST(PrefixRoutes, SayWhichLinesAreNeverUsed) {
  const auto read = PrefixRoutes::parse("0x7 0x8\n* *\n\n0x9 0xa\n", "routes");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->routes,
              ElementsAre(PrefixRoute{.prefix = 7, .router = Guid{8}}, PrefixRoute{}));
  EXPECT_THAT(read->notes, ElementsAre("routes:4: is never used: line 2 leads to any router"));
}

TEST(PrefixRoutes, AreRefusedByTheLine) {
  for (const std::string line :
       {"0x1", "*", "* * *", "0 0x5", "0x5 0", "2001:db8::/64 0x5", "0x5 gate", "** *", "-1 0x5",
        "0x 0x5", "0x10000000000000000 0x5"}) {
    const auto read = PrefixRoutes::parse("0x7 0x8\n" + line + "\n", "file");
    ASSERT_FALSE(read) << line;
    EXPECT_THAT(read.error().message, HasSubstr("file:2: '" + line + "': want the first 64 bits "));
  }
}

}  // namespace
}  // namespace weft::sm

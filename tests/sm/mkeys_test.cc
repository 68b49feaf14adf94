// SPDX-License-Identifier: Apache-2.0
#include "sm/mkeys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(MKeys, AreReadAsOpenSmWritesThem) {
  const auto keys = MKeys::parse(
      "0x0002c90300001dd1 0x00000000000000ab\n\n# nobody's\n0x0002c90300001dd3\t0x0\r\n\n", "f");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->of(Guid{0x0002'C903'0000'1DD1}), 0xABu);
  EXPECT_EQ(keys->of(Guid{0x0002'C903'0000'1DD3}), 0u);
  EXPECT_EQ(keys->of(Guid{0x0002'C903'0000'1DD2}), std::nullopt);
  EXPECT_EQ(keys->text(),
            "0x0002c90300001dd1 0x00000000000000ab\n\n"
            "0x0002c90300001dd3 0x0000000000000000\n\n");
  EXPECT_EQ(MKeys::parse(keys->text(), "f"), *keys);
}

TEST(MKeys, AreRefusedByTheLineAndNotShown) {
  for (const std::string line :
       {"0x1", "0x1 key", "0 0x5", "0x1 0x5 0x6", "guid 0x5", "0x1 0x10000000000000000"}) {
    const auto keys = MKeys::parse("0x7 0x8\n" + line + "\n", "file");
    ASSERT_FALSE(keys) << line;
    EXPECT_THAT(keys.error().message, HasSubstr("file:2: want a port GUID and its M_Key")) << line;
    EXPECT_EQ(keys.error().message.find("0x5"), std::string::npos);
  }
}

TEST(MKeys, AreTriedWithThoseOfManyPortsFirst) {
  MKeys keys;
  for (std::uint64_t port = 1; port <= 6; ++port)
    keys.put(Guid{port}, port <= 3 ? 0x30 : port <= 5 ? 0x20 : 0);
  keys.put(Guid{7}, 0x10);
  EXPECT_THAT(keys.others(0x99), ElementsAre(0x30, 0x20, 0x10));
  EXPECT_THAT(keys.others(0x30), ElementsAre(0x20, 0x10));
  for (std::uint64_t port = 100; port < 200; ++port)
    keys.put(Guid{port}, port);
  EXPECT_THAT(keys.others(0x99), SizeIs(MKeys::kMostTried));
  EXPECT_EQ(keys.others(0x99).front(), 0x30u);
  EXPECT_THAT(MKeys().others(0), IsEmpty());
}

}  // namespace
}  // namespace weft::sm

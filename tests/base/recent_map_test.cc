// SPDX-License-Identifier: Apache-2.0
#include "base/recent_map.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(RecentMap, FindsWhatItHasAndNothingElse) {
  RecentMap<int, std::string> map;
  EXPECT_EQ(map.find(1), nullptr);
  map[1] = "one";
  map[2] = "two";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*map.find(1), "one");
    EXPECT_EQ(*map.find(1), "one");
    EXPECT_EQ(*map.find(2), "two");
    EXPECT_EQ(map.find(3), nullptr);
  }
}

TEST(RecentMap, ValuesStayWhereTheyAre) {
  RecentMap<int, int> map;
  int* const first = &map[0];
  for (int i = 1; i < 1000; ++i)
    map[i] = i;
  EXPECT_EQ(&map[0], first);
  EXPECT_EQ(map.find(0), first);
}

TEST(RecentMap, ForgetsWhatIsErasedThoughItWasFoundLast) {
  RecentMap<int, int> map;
  map[1] = 10;
  map[2] = 20;
  ASSERT_NE(map.find(1), nullptr);
  map.erase(1);
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(*map.find(2), 20);
  map.erase(1);
  map.erase(2);
  EXPECT_EQ(map.begin(), map.end());
  EXPECT_EQ(map[1], 0) << "a new one";
}

}  // namespace
}  // namespace weft

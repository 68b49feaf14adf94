// SPDX-License-Identifier: Apache-2.0
#include "base/looks.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Looks, AreFewWhereAYieldLetsSomebodyRunBriefly) {
  Looks looks(8, 256);
  EXPECT_EQ(looks.before_yield(), 8u);
  looks.yielded(5us);
  EXPECT_EQ(looks.before_yield(), 0u);
}

TEST(Looks, BecomeMoreWhereNobodyWantsTheProcessor) {
  Looks looks(0, 256);
  for (int i = 0; i < 4; ++i)
    looks.yielded(200ns);
  EXPECT_EQ(looks.before_yield(), 15u);
  for (int i = 0; i < 20; ++i)
    looks.yielded(200ns);
  EXPECT_EQ(looks.before_yield(), 256u);
}

TEST(Looks, AreManyWhereAYieldCostsATimeSlice) {
  Looks looks(0, 256);
  looks.yielded(3ms);
  EXPECT_EQ(looks.before_yield(), 256u);
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "link/link_integrity.h"

#include <gtest/gtest.h>

namespace weft::link {
namespace {

TEST(LinkIntegrity, IsExceededByOneFaultMoreThanTheThresholdWithoutGoodPacketsBetween) {
  for (std::uint8_t threshold = 0; threshold <= LinkIntegrity::kMostThreshold; ++threshold) {
    LinkIntegrity integrity(threshold);
    for (int round = 1; round <= 2; ++round) {
      for (std::uint8_t i = 0; i < threshold; ++i)
        EXPECT_FALSE(integrity.fault());
      EXPECT_TRUE(integrity.fault()) << int{threshold};
    }
  }
}

TEST(LinkIntegrity, ForgetsOneFaultForEachGoodPacket) {
  LinkIntegrity integrity(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(integrity.fault());
    integrity.sound();
  }
  EXPECT_EQ(integrity.count(), 0);
  integrity.sound();
  EXPECT_FALSE(integrity.fault());
  EXPECT_FALSE(integrity.fault());
  EXPECT_TRUE(integrity.fault());
}

TEST(LinkIntegrity, GoesByTheThresholdThatWasSetLast) {
  LinkIntegrity integrity(8);
  EXPECT_FALSE(integrity.fault());
  EXPECT_FALSE(integrity.fault());
  integrity.set_threshold(1);
  EXPECT_TRUE(integrity.fault());
  integrity.set_threshold(0x10);  // of four bits: 0
  EXPECT_TRUE(integrity.fault());
}

}  // namespace
}  // namespace weft::link

// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/pointer.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::wan::sonet {
namespace {

constexpr Geometry kStm4 = geometry(Level::kStm4);

class SonetPointer : public testing::Test {
 protected:
  PointerStep take(std::uint16_t word) {
    std::vector<std::byte> row(kStm4.overhead());
    write_pointers(row, kStm4, word, true);
    return pointer_.take(row, kStm4);
  }
  PointerStep normal(std::uint16_t value, int times = 1) {
    PointerStep step = PointerStep::kNone;
    for (int i = 0; i < times; ++i)
      step = take(pointer_word(PointerFlag::kNormal, value, true));
    return step;
  }
  PointerStep turned(std::uint16_t value, std::uint16_t bits) {
    return take(pointer_word(PointerFlag::kNormal, value ^ bits, true));
  }
  PointerInterpreter pointer_{kStm4.n - 1};
};

TEST_F(SonetPointer, WordsAreAsTheStandardHasThem) {
  EXPECT_EQ(pointer_word(PointerFlag::kNormal, 522, true), 0x6A0A);
  EXPECT_EQ(pointer_word(PointerFlag::kNormal, 522, false), 0x620A);
  EXPECT_EQ(pointer_word(PointerFlag::kNewData, 782, true), 0x9B0E);
  std::vector<std::byte> row(kStm4.overhead());
  write_pointers(row, kStm4, 0x6A0A, true);
  EXPECT_EQ(row[0], std::byte{0x6A});
  EXPECT_EQ(row[1], std::byte{0x9B});
  EXPECT_EQ(row[11], std::byte{0x9B});
  EXPECT_EQ(row[12], std::byte{0x0A});
  EXPECT_EQ(row[13], std::byte{0xFF});
  EXPECT_EQ(row[24], std::byte{0x00});
  write_pointers(row, kStm4, 0x620A, false);
  EXPECT_EQ(row[1], std::byte{0x93});
}

TEST_F(SonetPointer, ThreeEqualOnesAreInForce) {
  EXPECT_EQ(normal(100, 2), PointerStep::kNone);
  EXPECT_EQ(pointer_.state(), PointerState::kSearching);
  EXPECT_EQ(normal(100), PointerStep::kNewData);
  EXPECT_EQ(pointer_.value(), 100);
  EXPECT_EQ(normal(101, 2), PointerStep::kNone);
  EXPECT_EQ(normal(102), PointerStep::kNone);
  EXPECT_EQ(pointer_.value(), 100);
  EXPECT_EQ(normal(102, 2), PointerStep::kNewData);
  EXPECT_EQ(pointer_.value(), 102);
}

TEST_F(SonetPointer, InvertedBitsMoveIt) {
  normal(782, 6);
  EXPECT_EQ(turned(782, kIncrementBits), PointerStep::kIncrement);
  EXPECT_EQ(pointer_.value(), 0);
  normal(0, 3);
  EXPECT_EQ(turned(0, kDecrementBits), PointerStep::kDecrement);
  EXPECT_EQ(pointer_.value(), 782);
}

TEST_F(SonetPointer, ThreeInvertedBitsOfFiveAreEnoughAndTwoAreNot) {
  normal(300, 6);
  EXPECT_EQ(turned(300, 0x2A0), PointerStep::kIncrement);
  normal(301, 3);
  // Two of the others may be wrong, too.
  EXPECT_EQ(turned(301, 0x2AA | 0x005), PointerStep::kIncrement);
  normal(302, 3);
  EXPECT_EQ(turned(302, 0x280), PointerStep::kNone);
  EXPECT_EQ(turned(302, 0x3FF), PointerStep::kNone);
  EXPECT_EQ(pointer_.value(), 302);
}

TEST_F(SonetPointer, StepsSoonerThanTheFourthFrameDoNotCount) {
  normal(300, 6);
  EXPECT_EQ(turned(300, kIncrementBits), PointerStep::kIncrement);
  normal(301, 2);
  EXPECT_EQ(turned(301, kIncrementBits), PointerStep::kNone);
  EXPECT_EQ(turned(301, kIncrementBits), PointerStep::kIncrement);
}

TEST_F(SonetPointer, NewDataIsTakenAtOnceWithThreeBitsOfFour) {
  normal(300, 3);
  EXPECT_EQ(take(pointer_word(PointerFlag::kNewData, 17, true)), PointerStep::kNewData);
  EXPECT_EQ(pointer_.value(), 17);
  EXPECT_EQ(take(0x1 << 12 | 0x800 | 18), PointerStep::kNewData);
  EXPECT_EQ(take(0x3 << 12 | 0x800 | 19), PointerStep::kNone);
  EXPECT_EQ(take(pointer_word(PointerFlag::kNewData, 783, true)), PointerStep::kNone);
  EXPECT_EQ(pointer_.value(), 18);
}

TEST_F(SonetPointer, ThreeOnesAreAnAisAndNewDataEndsIt) {
  normal(300, 3);
  take(kAisPointer);
  take(kAisPointer);
  EXPECT_EQ(pointer_.state(), PointerState::kNormal);
  take(kAisPointer);
  EXPECT_EQ(pointer_.state(), PointerState::kAis);
  EXPECT_EQ(pointer_.value(), std::nullopt);
  EXPECT_EQ(take(pointer_word(PointerFlag::kNewData, 5, true)), PointerStep::kNewData);
  EXPECT_EQ(pointer_.state(), PointerState::kNormal);
}

TEST_F(SonetPointer, EightInvalidOnesLoseIt) {
  normal(300, 3);
  for (int i = 0; i < 7; ++i)
    take(0x0800);
  EXPECT_EQ(pointer_.state(), PointerState::kNormal);
  take(0x0800);
  EXPECT_EQ(pointer_.state(), PointerState::kLost);
  EXPECT_EQ(take(pointer_word(PointerFlag::kNewData, 5, true)), PointerStep::kNone);
  EXPECT_EQ(normal(7, 3), PointerStep::kNewData);
  EXPECT_EQ(pointer_.state(), PointerState::kNormal);
}

TEST_F(SonetPointer, EightWithNewDataLoseIt) {
  normal(300, 3);
  for (int i = 0; i < 8; ++i)
    take(pointer_word(PointerFlag::kNewData, 5, true));
  EXPECT_EQ(pointer_.state(), PointerState::kLost);
}

TEST_F(SonetPointer, EightFramesWithoutConcatenationLoseItAndThreeWithItFindIt) {
  normal(300, 3);
  std::vector<std::byte> row(kStm4.overhead());
  write_pointers(row, kStm4, pointer_word(PointerFlag::kNormal, 300, true), true);
  row[2] = std::byte{0x6A};
  for (int i = 0; i < 7; ++i)
    pointer_.take(row, kStm4);
  EXPECT_EQ(pointer_.state(), PointerState::kNormal);
  pointer_.take(row, kStm4);
  EXPECT_EQ(pointer_.state(), PointerState::kLost);
  normal(300, 2);
  EXPECT_EQ(pointer_.state(), PointerState::kLost);
  normal(300);
  EXPECT_EQ(pointer_.state(), PointerState::kNormal);
}

}  // namespace
}  // namespace weft::wan::sonet

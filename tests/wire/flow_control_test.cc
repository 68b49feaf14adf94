// SPDX-License-Identifier: Apache-2.0
#include "wire/flow_control.h"

#include <gtest/gtest.h>

#include <array>

namespace weft::wire {
namespace {

std::array<std::byte, 6> raw(std::uint64_t value) {
  std::array<std::byte, 6> out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::byte(static_cast<std::uint8_t>(value >> (8 * (5 - i))));
  return out;
}

// LPCRCs computed by a bitwise reference apart from this code: 0x100B, least significant bit first.
TEST(FlowControl, IsWrittenByteForByte) {
  EXPECT_EQ((FlowControl{.vl = Vl{0}, .fctbs = 0, .fccl = 1}.bytes()), raw(0x0000'0001'1279));
  EXPECT_EQ((FlowControl{.op = FlowControl::Op::kInitialize}.bytes()), raw(0x1000'0000'5805));
  EXPECT_EQ((FlowControl{.vl = Vl{1}, .fctbs = 0xABC, .fccl = 0xDEF}.bytes()),
            raw(0x0ABC'1DEF'3A46));
}

TEST(FlowControl, IsReadBack) {
  const FlowControl packet{
      .op = FlowControl::Op::kInitialize, .vl = Vl{7}, .fctbs = 4095, .fccl = 2048};
  EXPECT_EQ(FlowControl::parse(packet.bytes()), packet);
}

TEST(FlowControl, IsRefusedWhenAnyBitIsWrong) {
  const auto good = FlowControl{.vl = Vl{3}, .fctbs = 77, .fccl = 1023}.bytes();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto packet = FlowControl::parse(bytes);
    ASSERT_FALSE(packet) << bit;
    EXPECT_EQ(packet.error(), FlowControlError::kBadLpcrc) << bit;
  }
}

TEST(FlowControl, IsRefusedWithAReservedOp) {
  for (int op = 3; op < 16; ++op) {
    const auto bytes = FlowControl{.op = static_cast<FlowControl::Op>(op)}.bytes();
    EXPECT_EQ(FlowControl::parse(bytes).error(), FlowControlError::kBadOp) << op;
  }
}

TEST(FlowControl, IsSixBytesLong) {
  const auto good = FlowControl{}.bytes();
  EXPECT_EQ(FlowControl::parse(Bytes(good).first(5)).error(), FlowControlError::kBadLength);
  std::array<std::byte, 7> longer{};
  EXPECT_EQ(FlowControl::parse(longer).error(), FlowControlError::kBadLength);
}

}  // namespace
}  // namespace weft::wire

// SPDX-License-Identifier: Apache-2.0
#include "wan/line/msb_crc.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "base/random.h"

namespace weft::wan {
namespace {

Bytes octets_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The published check values of these CRCs are over these nine digits.
constexpr std::string_view kDigits = "123456789";

TEST(MsbCrc, HasThePublishedCheckValues) {
  EXPECT_EQ(crc8_update(0, octets_of(kDigits)) ^ kHecCoset, 0xA1);
  EXPECT_EQ(crc10_update(0, octets_of(kDigits)), 0x199);
  EXPECT_EQ(crc16_msb_update(0, octets_of(kDigits)), 0x31C3);
  EXPECT_EQ(~crc32_msb_update(kCrc32MsbPreset, octets_of(kDigits)), 0xFC89'1918);
}

TEST(MsbCrc, OfAnIdleCellIsTheOneOfTheStandard) {
  constexpr std::array<std::byte, 4> kIdle{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}};
  EXPECT_EQ(crc8_update(0, kIdle) ^ kHecCoset, 0x52);
}

TEST(MsbCrc, IsCarriedOverSpans) {
  for (std::size_t cut = 0; cut <= kDigits.size(); ++cut) {
    const Bytes first = octets_of(kDigits.substr(0, cut));
    const Bytes second = octets_of(kDigits.substr(cut));
    EXPECT_EQ(crc8_update(crc8_update(0, first), second), crc8_update(0, octets_of(kDigits)));
    EXPECT_EQ(crc10_update(crc10_update(0, first), second), 0x199);
    EXPECT_EQ(crc16_msb_update(crc16_msb_update(0, first), second), 0x31C3);
    EXPECT_EQ(~crc32_msb_update(crc32_msb_update(kCrc32MsbPreset, first), second), 0xFC89'1918);
  }
}

TEST(MsbCrc, Of32BitsIsTheSameByEachKernel) {
  Random random(1);
  std::array<std::byte, 1500> octets;
  for (std::byte& octet : octets)
    octet = static_cast<std::byte>(random.next());
  for (const Crc32MsbKernel& kernel : crc32_msb_kernels()) {
    SCOPED_TRACE(kernel.name);
    std::uint32_t bit_by_bit = 0x1234'5678;
    for (std::size_t size = 0; size < octets.size(); ++size) {
      const Bytes all = Bytes(octets).first(size);
      ASSERT_EQ(kernel.update(0x1234'5678, all), bit_by_bit) << size;
      for (int bit = 7; bit >= 0; --bit) {
        const unsigned next = std::to_integer<unsigned>(octets[size]) >> bit & 1;
        const bool top = (bit_by_bit >> 31 ^ next) != 0;
        bit_by_bit = bit_by_bit << 1 ^ (top ? 0x04C1'1DB7U : 0U);
      }
    }
  }
}

TEST(MsbCrc, LeavesItsResidueWhereItIsCovered) {
  constexpr std::array<std::byte, 4> kSent{std::byte{0xFC}, std::byte{0x89}, std::byte{0x19},
                                           std::byte{0x18}};
  EXPECT_EQ(crc32_msb_update(crc32_msb_update(kCrc32MsbPreset, octets_of(kDigits)), kSent),
            kCrc32MsbResidue);
}

}  // namespace
}  // namespace weft::wan

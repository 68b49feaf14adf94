// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Quantity, IntegersAreDecimalOrHexadecimal) {
  EXPECT_EQ(parse_integer("0"), 0u);
  EXPECT_EQ(parse_integer("0017"), 17u);
  EXPECT_EQ(parse_integer("0xfF"), 255u);
  EXPECT_EQ(parse_integer("18446744073709551615"), ~std::uint64_t{0});
  for (const char* text : {"", "0x", "0x0x1", "x1", " 1", "1 ", "-1", "+1", "1.0", "1e3", "ff",
                           "18446744073709551616", "0x10000000000000000"}) {
    EXPECT_FALSE(parse_integer(text)) << text;
  }
}

TEST(Quantity, IsANumberWithAUnit) {
  EXPECT_EQ(parse_quantity("2.5Gb/s", kRateUnits), 312'500'000u);
  EXPECT_EQ(parse_quantity("20ms", kTimeUnits), 20'000'000u);
  EXPECT_EQ(parse_quantity("1e-3s", kTimeUnits), 1'000'000u);
  EXPECT_EQ(parse_quantity("512MiB", kSizeUnits), 512u * 1024 * 1024);
  EXPECT_EQ(parse_quantity("1.25GB", kSizeUnits), 1'250'000'000u);
  EXPECT_EQ(parse_quantity("9000B", kSizeUnits), 9000u);
  EXPECT_EQ(parse_quantity("0B", kSizeUnits), 0u);
}

TEST(Quantity, IsNothingElse) {
  for (const char* text : {"", "B", "9000", "9000b", "-1B", "1 B", "0x10B", "infB", "nanB",
                           "1e300GB", "4611686018427387904B", "1Bx", "1,5MB"}) {
    EXPECT_FALSE(parse_quantity(text, kSizeUnits)) << text;
  }
}

TEST(Quantity, IsWrittenSoThatItReadsBackTheSame) {
  for (const std::uint64_t bytes : {0u, 1u, 1000u, 1024u, 1500u, 131'072u, 1'250'000'000u}) {
    EXPECT_EQ(parse_quantity(size_text(bytes), kSizeUnits), bytes) << size_text(bytes);
  }
  EXPECT_EQ(size_text(131'072), "128KiB");
  EXPECT_EQ(size_text(1'250'000'000), "1.25GB");
  EXPECT_EQ(size_text(9000), "9kB");
  EXPECT_EQ(time_text(1500us), "1.5ms");
  EXPECT_EQ(quantity_text(312'500'000, kRateUnits), "2.5Gb/s");
}

}  // namespace
}  // namespace weft

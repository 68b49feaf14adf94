// SPDX-License-Identifier: Apache-2.0
#include "wan/line/gfp/gfp_header.h"

#include <array>

namespace weft::wan {
namespace {

constexpr std::uint16_t kHecGenerator = 0x1021;

// What each octet adds to the HEC of two: the first one, and the second one. A table of either, so
// that who hunts through a stream octet by octet looks up twice for each.
struct HecTables {
  std::array<std::uint16_t, 256> first{};
  std::array<std::uint16_t, 256> second{};
};

consteval std::uint16_t hec_of(std::uint16_t value) {
  std::uint32_t state = std::uint32_t{value} << 16;
  for (unsigned bit = 0; bit < 16; ++bit)
    state = state << 1 ^ ((state >> 31) != 0 ? std::uint32_t{kHecGenerator} << 16 : 0U);
  return static_cast<std::uint16_t>(state >> 16);
}

consteval HecTables make_hec_tables() {
  HecTables tables;
  for (unsigned octet = 0; octet < 256; ++octet) {
    tables.first[octet] = hec_of(static_cast<std::uint16_t>(octet << 8));
    tables.second[octet] = hec_of(static_cast<std::uint16_t>(octet));
  }
  return tables;
}

constexpr HecTables kHec = make_hec_tables();

std::uint16_t hec(std::uint16_t value) {
  return kHec.first[value >> 8] ^ kHec.second[value & 0xFF];
}

// Zero where value and HEC agree; else it tells which bit is wrong, if it is one.
std::uint16_t syndrome(std::uint32_t word) {
  return hec(static_cast<std::uint16_t>(word >> 16)) ^ static_cast<std::uint16_t>(word);
}

}  // namespace

std::uint32_t gfp_with_hec(std::uint16_t value) {
  return std::uint32_t{value} << 16 | hec(value);
}

bool gfp_is_right(std::uint32_t word) {
  return syndrome(word) == 0;
}

GfpChecked gfp_check(std::uint32_t word) {
  using Outcome = GfpChecked::Outcome;
  const std::uint16_t wrong = syndrome(word);
  const auto value = static_cast<std::uint16_t>(word >> 16);
  if (wrong == 0) return {Outcome::kRight, value};
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t error = std::uint32_t{1} << bit;
    if (syndrome(error) == wrong)
      return {Outcome::kCorrected, static_cast<std::uint16_t>((word ^ error) >> 16)};
  }
  return {Outcome::kWrong, 0};
}

}  // namespace weft::wan

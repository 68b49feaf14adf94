// SPDX-License-Identifier: Apache-2.0
// The 8b/10b code as its tables are printed, both columns of each half, and nothing derived: what
// src/phy/code is compared with. Bits are characters, 'a' first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "phy/code/character.h"

namespace weft::phy::reference {

struct Columns {
  std::string_view minus;
  std::string_view plus;
};

inline constexpr std::array<Columns, 32> kSixBits{{
    {"100111", "011000"}, {"011101", "100010"}, {"101101", "010010"}, {"110001", "110001"},
    {"110101", "001010"}, {"101001", "101001"}, {"011001", "011001"}, {"111000", "000111"},
    {"111001", "000110"}, {"100101", "100101"}, {"010101", "010101"}, {"110100", "110100"},
    {"001101", "001101"}, {"101100", "101100"}, {"011100", "011100"}, {"010111", "101000"},
    {"011011", "100100"}, {"100011", "100011"}, {"010011", "010011"}, {"110010", "110010"},
    {"001011", "001011"}, {"101010", "101010"}, {"011010", "011010"}, {"111010", "000101"},
    {"110011", "001100"}, {"100110", "100110"}, {"010110", "010110"}, {"110110", "001001"},
    {"001110", "001110"}, {"101110", "010001"}, {"011110", "100001"}, {"101011", "010100"},
}};

inline constexpr std::array<Columns, 8> kFourBits{{
    {"1011", "0100"},
    {"1001", "1001"},
    {"0101", "0101"},
    {"1100", "0011"},
    {"1101", "0010"},
    {"1010", "1010"},
    {"0110", "0110"},
    {"1110", "0001"},
}};
inline constexpr Columns kAlternateSeven{"0111", "1000"};

// Control characters are listed whole.
struct ControlRow {
  unsigned x;
  unsigned y;
  std::string_view minus;
  std::string_view plus;
};
inline constexpr std::array<ControlRow, 12> kControls{{
    {28, 0, "0011110100", "1100001011"},
    {28, 1, "0011111001", "1100000110"},
    {28, 2, "0011110101", "1100001010"},
    {28, 3, "0011110011", "1100001100"},
    {28, 4, "0011110010", "1100001101"},
    {28, 5, "0011111010", "1100000101"},
    {28, 6, "0011110110", "1100001001"},
    {28, 7, "0011111000", "1100000111"},
    {23, 7, "1110101000", "0001010111"},
    {27, 7, "1101101000", "0010010111"},
    {29, 7, "1011101000", "0100010111"},
    {30, 7, "0111101000", "1000010111"},
}};

inline int surplus_of_ones(std::string_view bits) {
  int surplus = 0;
  for (const char bit : bits)
    surplus += bit == '1' ? 1 : -1;
  return surplus;
}

// The ten bits of a character; `positive` is the running disparity, which follows. Nothing if it
// is not in the code.
inline std::optional<std::string> encode(Character character, bool& positive) {
  const unsigned x = character.value & 31U;
  const unsigned y = character.value >> 5;
  std::string bits;
  if (character.control) {
    for (const ControlRow& row : kControls) {
      if (row.x == x && row.y == y) bits = positive ? row.plus : row.minus;
    }
    if (bits.empty()) return std::nullopt;
  } else {
    bits = positive ? kSixBits[x].plus : kSixBits[x].minus;
    const bool between = surplus_of_ones(bits) == 0 ? positive : surplus_of_ones(bits) > 0;
    Columns four = kFourBits[y];
    const bool alternate = between ? x == 11 || x == 13 || x == 14 : x == 17 || x == 18 || x == 20;
    if (y == 7 && alternate) four = kAlternateSeven;
    bits += between ? four.plus : four.minus;
  }
  const int surplus = surplus_of_ones(bits);
  if (surplus != 0) positive = surplus > 0;
  return bits;
}

inline std::uint16_t word(std::string_view bits) {
  unsigned value = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    value |= static_cast<unsigned>(bits[i] == '1') << i;
  }
  return static_cast<std::uint16_t>(value);
}

}  // namespace weft::phy::reference

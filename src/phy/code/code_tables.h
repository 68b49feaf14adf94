// SPDX-License-Identifier: Apache-2.0
// The 8b/10b code as tables, made by the compiler from its two halves (Widmer and Franaszek, "A
// DC-Balanced, Partitioned-Block, 8B/10B Transmission Code", IBM J. Res. Dev. 27, 1983): five bits
// become the six abcdei, three bits the four fghj. A code word has 'a', which is sent first, in
// bit 0 and 'j' in bit 9.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "phy/code/character.h"

namespace weft::phy {

// Whether more ones or more zeros have been sent, up to the end of a half of a code word.
enum class Disparity : std::uint8_t { kMinus = 0, kPlus = 1 };

[[nodiscard]] constexpr Disparity flip(Disparity disparity) {
  return disparity == Disparity::kMinus ? Disparity::kPlus : Disparity::kMinus;
}

namespace detail {

// Six or four bits as they are printed in tables: the first in bit 0.
consteval std::uint8_t code_bits(std::string_view text) {
  std::uint8_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bits = static_cast<std::uint8_t>(bits | (text[i] - '0') << i);
  }
  return bits;
}

// abcdei of D0 to D31 at negative disparity.
inline constexpr std::array<std::uint8_t, 32> kSix{
    code_bits("100111"), code_bits("011101"), code_bits("101101"), code_bits("110001"),
    code_bits("110101"), code_bits("101001"), code_bits("011001"), code_bits("111000"),
    code_bits("111001"), code_bits("100101"), code_bits("010101"), code_bits("110100"),
    code_bits("001101"), code_bits("101100"), code_bits("011100"), code_bits("010111"),
    code_bits("011011"), code_bits("100011"), code_bits("010011"), code_bits("110010"),
    code_bits("001011"), code_bits("101010"), code_bits("011010"), code_bits("111010"),
    code_bits("110011"), code_bits("100110"), code_bits("010110"), code_bits("110110"),
    code_bits("001110"), code_bits("101110"), code_bits("011110"), code_bits("101011")};
inline constexpr std::uint8_t kSixOfK28 = code_bits("001111");

// fghj of y at negative disparity, for data and for K28. The one of y = 7 is that of D.x.P7.
inline constexpr std::array<std::uint8_t, 8> kFour{
    code_bits("1011"), code_bits("1001"), code_bits("0101"), code_bits("1100"),
    code_bits("1101"), code_bits("1010"), code_bits("0110"), code_bits("1110")};
inline constexpr std::array<std::uint8_t, 8> kFourOfControl{
    code_bits("1011"), code_bits("0110"), code_bits("1010"), code_bits("1100"),
    code_bits("1101"), code_bits("0101"), code_bits("1001"), code_bits("0111")};
// D.x.A7, where P7 would make a run of five equal bits; it is that of all control characters.
inline constexpr std::uint8_t kFourOfA7 = code_bits("0111");

constexpr bool is_unbalanced(std::uint8_t bits, int width) {
  return 2 * std::popcount(bits) != width;
}

// A half at positive disparity is the complement of the one at negative disparity, where it is
// unbalanced or, though balanced, of two shapes (D7 and D.x.3; the 4b halves of control
// characters, so that a comma cannot come from anything else).
constexpr std::uint8_t half_at(Disparity disparity, std::uint8_t minus, int width,
                               bool two_shapes) {
  if (disparity == Disparity::kMinus || (!is_unbalanced(minus, width) && !two_shapes)) return minus;
  return static_cast<std::uint8_t>(~minus & ((1 << width) - 1));
}

constexpr bool takes_a7(unsigned x, Disparity before_four) {
  return before_four == Disparity::kMinus ? x == 17 || x == 18 || x == 20
                                          : x == 11 || x == 13 || x == 14;
}

struct CodeWord {
  std::uint16_t bits = 0;
  Disparity after = Disparity::kMinus;
};

// By the definition. `character` is of the code.
constexpr CodeWord define(Character character, Disparity before) {
  const unsigned x = character.value & 31U;
  const unsigned y = character.value >> 5;
  const bool k28 = character.control && x == 28;
  const std::uint8_t six_minus = k28 ? kSixOfK28 : kSix[x];
  const std::uint8_t six = half_at(before, six_minus, 6, x == 7);
  const Disparity between = is_unbalanced(six_minus, 6) ? flip(before) : before;
  std::uint8_t four_minus = character.control ? kFourOfControl[y] : kFour[y];
  if (!character.control && y == 7 && takes_a7(x, between)) four_minus = kFourOfA7;
  const std::uint8_t four = half_at(between, four_minus, 4, y == 3 || character.control);
  return {static_cast<std::uint16_t>(six | four << 6),
          is_unbalanced(four_minus, 4) ? flip(between) : between};
}

// One word of 32 bits for a character, by its value and, at 256 and above, for control.
struct EncodeEntry {
  static constexpr unsigned kPlusShift = 16;  // the code word at positive disparity is above this
  static constexpr unsigned kFlipShift = 31;  // whether the disparity changes
  static constexpr std::uint32_t kCodeMask = 0x3FF;
};

consteval std::array<std::uint32_t, 512> make_encode_table() {
  std::array<std::uint32_t, 512> table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    const Character character{static_cast<std::uint8_t>(i), i >= 256};
    if (!is_in_code(character)) continue;
    const CodeWord minus = define(character, Disparity::kMinus);
    const CodeWord plus = define(character, Disparity::kPlus);
    table[i] = minus.bits | std::uint32_t{plus.bits} << EncodeEntry::kPlusShift |
               std::uint32_t{minus.after == Disparity::kPlus} << EncodeEntry::kFlipShift;
  }
  return table;
}
inline constexpr std::array<std::uint32_t, 512> kEncode = make_encode_table();

// What a decoder makes of ten bits.
struct DecodeEntry {
  static constexpr unsigned kControl = 1U << 8;
  static constexpr unsigned kValidAt = 1U << 9;  // << disparity: is in the code there
  static constexpr unsigned kAfter = 1U << 11;   // << disparity: leaves it positive
  static constexpr unsigned kValid = kValidAt | kValidAt << 1;
};

// A half of more ones than zeros leaves the disparity positive, of more zeros negative; of the
// balanced ones, 000111 and 0011 may only come at positive disparity and leave it so, 111000 and
// 1100 the other way round; all others keep what was there. So a receiver that has seen an error
// comes to agree with the sender again (IEEE 802.3, 36.2.4.4, the same code).
constexpr Disparity after_half(unsigned bits, int width, Disparity before) {
  const int twice = 2 * std::popcount(bits);
  if (twice != width) return twice > width ? Disparity::kPlus : Disparity::kMinus;
  const unsigned low = (1U << (width / 2)) - 1;  // the first half of the bits are ones
  if (bits == low) return Disparity::kMinus;
  if (bits == low << (width / 2)) return Disparity::kPlus;
  return before;
}

consteval std::array<std::uint16_t, 1024> make_decode_table() {
  std::array<std::uint16_t, 1024> table{};
  for (unsigned code = 0; code < table.size(); ++code) {
    for (const unsigned before : {0U, 1U}) {
      const Disparity between = after_half(code & 0x3F, 6, Disparity(before));
      const Disparity after = after_half(code >> 6, 4, between);
      if (after == Disparity::kPlus)
        table[code] |= static_cast<std::uint16_t>(DecodeEntry::kAfter << before);
    }
  }
  for (unsigned i = 0; i < 512; ++i) {
    const Character character{static_cast<std::uint8_t>(i), i >= 256};
    if (!is_in_code(character)) continue;
    for (const unsigned before : {0U, 1U}) {
      const unsigned code = define(character, Disparity(before)).bits;
      table[code] = static_cast<std::uint16_t>(table[code] | i | DecodeEntry::kValidAt << before);
    }
  }
  return table;
}
inline constexpr std::array<std::uint16_t, 1024> kDecode = make_decode_table();

}  // namespace detail
}  // namespace weft::phy

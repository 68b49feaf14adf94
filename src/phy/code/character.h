// SPDX-License-Identifier: Apache-2.0
// Characters of the 8b/10b code, and the control symbols of a link among them (IBA vol 2, 5.3).
#pragma once

#include <cstdint>

namespace weft::phy {

// Dx.y or Kx.y: x is bits 0-4 of the value, y bits 5-7.
struct Character {
  std::uint8_t value = 0;
  bool control = false;  // K, not D

  friend constexpr bool operator==(const Character&, const Character&) = default;
};

[[nodiscard]] constexpr Character data_character(unsigned x, unsigned y) {
  return {static_cast<std::uint8_t>(y << 5 | x), false};
}
[[nodiscard]] constexpr Character control_character(unsigned x, unsigned y) {
  return {static_cast<std::uint8_t>(y << 5 | x), true};
}

inline constexpr Character kCom = control_character(28, 5);  // begins an ordered set
inline constexpr Character kSdp = control_character(27, 7);  // starts a data packet
inline constexpr Character kSlp = control_character(28, 2);  // starts a link packet
inline constexpr Character kEgp = control_character(29, 7);  // ends a good packet
inline constexpr Character kEbp = control_character(30, 7);  // ends a bad packet
inline constexpr Character kPad = control_character(23, 7);  // fills lanes behind a packet's end
inline constexpr Character kSkp = control_character(28, 0);  // may be added or left out on the way

// The code has twelve control characters: K28.y, and Kx.7 with x of 23, 27, 29 or 30.
[[nodiscard]] constexpr bool is_in_code(Character character) {
  const unsigned x = character.value & 31U;
  const unsigned y = character.value >> 5;
  return !character.control || x == 28 || (y == 7 && (x == 23 || x == 27 || x == 29 || x == 30));
}

}  // namespace weft::phy

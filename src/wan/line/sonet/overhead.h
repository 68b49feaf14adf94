// SPDX-License-Identifier: Apache-2.0
// Values of overhead octets (G.707, 9.2 and 9.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::wan::sonet {

inline constexpr std::byte kA1{0xF6};
inline constexpr std::byte kA2{0x28};
// The rest of the first row, which is not scrambled: anything that changes often enough.
inline constexpr std::byte kZ0{0xCC};
// S1: nobody should take his clock from this line.
inline constexpr std::byte kDoNotUse{0x0F};
// K2: bits 6 to 8.
inline constexpr std::byte kK2Signal{0x07};
inline constexpr std::byte kK2Ais{0x07};
inline constexpr std::byte kK2Rdi{0x06};
// G1: bits 1 to 4 count errors, bit 5 is the defect.
inline constexpr unsigned kG1Most = 8;
inline constexpr std::byte kG1Rdi{0x08};
inline constexpr unsigned kM1Most = 255;

// Rows of the path overhead, the first column of a container.
enum class PathRow : std::uint8_t { kJ1, kB3, kC2, kG1, kF2, kH4, kF3, kK3, kN1, kCount };

// C2: what a container has.
namespace label {
inline constexpr std::uint8_t kUnequipped = 0x00;
inline constexpr std::uint8_t kEquipped = 0x01;  // nobody says with what
inline constexpr std::uint8_t kAtm = 0x13;
inline constexpr std::uint8_t kPpp = 0x16;  // HDLC-like framing, payload scrambled (RFC 2615)
inline constexpr std::uint8_t kWis = 0x1A;  // 10GBASE-W
inline constexpr std::uint8_t kGfp = 0x1B;
inline constexpr std::uint8_t kPppPlain = 0xCF;  // HDLC-like framing, not scrambled
inline constexpr std::uint8_t kTest = 0xFE;
}  // namespace label

// What is meant by a label; "other" for one that is not above.
[[nodiscard]] constexpr std::string_view label_name(std::uint8_t label) {
  switch (label) {
    case label::kUnequipped:
      return "unequipped";
    case label::kEquipped:
      return "equipped";
    case label::kAtm:
      return "ATM";
    case label::kPpp:
      return "PPP";
    case label::kWis:
      return "10GBASE-W";
    case label::kGfp:
      return "GFP";
    case label::kPppPlain:
      return "PPP, not scrambled";
    case label::kTest:
      return "test signal";
    default:
      return "other";
  }
}

}  // namespace weft::wan::sonet

// SPDX-License-Identifier: Apache-2.0
// The 64b/66b code, one block at a time (IEEE 802.3, 49.2.4): eight lanes as a header of two bits
// and 64 more. `block_stream.h` scrambles and packs them.
//
//   type lanes 0-3      lanes 4-7         type lanes
//   1E   C0 C1 C2 C3    C4 C5 C6 C7       87   T0 C1 ... C7
//   2D   C0 C1 C2 C3    O4 D5 D6 D7       99   D0 T1 C2 ... C7
//   33   C0 C1 C2 C3    S4 D5 D6 D7       AA   D0 D1 T2 C3 ... C7
//   66   O0 D1 D2 D3    S4 D5 D6 D7       B4   D0 ... D2 T3 C4 ... C7
//   55   O0 D1 D2 D3    O4 D5 D6 D7       CC   D0 ... D3 T4 C5 C6 C7
//   78   S0 D1 D2 D3    D4 D5 D6 D7       D2   D0 ... D4 T5 C6 C7
//   4B   O0 D1 D2 D3    C4 C5 C6 C7       E1   D0 ... D5 T6 C7
//                                         FF   D0 ... D6 T7
//
// C has 7 bits, O has 4, D has 8; S and T are said by the type. C of lane n is at bit 8 + 7n, O of
// lanes 0 and 4 at bits 32 and 36. D of lane n is at bit 8n, but where the block has a T at bit
// 8 + 8n.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wan/line/pcs/xgmii.h"

namespace weft::wan {

struct Block {
  // Of the header, the bit that goes first in bit 0: on the line they are "01" and "10" (49.2.4.3).
  static constexpr std::uint8_t kData = 0b10;
  static constexpr std::uint8_t kControl = 0b01;

  std::uint8_t header = kControl;
  std::uint64_t payload = 0;  // the bit that goes first in bit 0; the type is the lowest octet

  friend constexpr bool operator==(const Block&, const Block&) = default;
};

[[nodiscard]] constexpr bool is_header(std::uint8_t header) {
  return header == Block::kData || header == Block::kControl;
}

// R_BLOCK_TYPE and T_BLOCK_TYPE (49.2.13.2.3).
enum class BlockKind : std::uint8_t {
  kControl,    // C
  kStart,      // S
  kTerminate,  // T
  kData,       // D
  kError,      // E: none of the others
};

struct DecodedBlock {
  BlockKind kind = BlockKind::kError;
  XgmiiWord word = kErrorWord;  // where it is an error: eight of /E/
};
struct EncodedBlock {
  BlockKind kind = BlockKind::kError;
  Block block{};  // where it is an error: that of eight /E/
};

// Bits that no lane has are not looked at.
[[nodiscard]] DecodedBlock decode_block(const Block& block);
[[nodiscard]] EncodedBlock encode_block(const XgmiiWord& word);

// Where lanes of a block of control characters are.
struct BlockLayout {
  std::uint8_t type = 0;
  std::uint8_t codes = 0;   // bit n: lane n has a control code
  std::uint8_t data = 0;    // bit n: lane n has an octet
  std::uint8_t sets = 0;    // bits 0 and 4: an ordered set begins there
  std::uint8_t start = 0;   // bit 0 or 4: a frame begins there
  std::uint8_t finish = 0;  // bit n: it ends there

  [[nodiscard]] constexpr unsigned data_at(unsigned lane) const {
    return finish != 0 ? 8 + 8 * lane : 8 * lane;
  }
  [[nodiscard]] static constexpr unsigned code_at(unsigned lane) { return 8 + 7 * lane; }
  [[nodiscard]] static constexpr unsigned set_at(unsigned lane) { return lane == 0 ? 32 : 36; }
};

inline constexpr std::array<BlockLayout, 15> kBlockLayouts{{
    {.type = 0x1E, .codes = 0xFF},
    {.type = 0x2D, .codes = 0x0F, .data = 0xE0, .sets = 0x10},
    {.type = 0x33, .codes = 0x0F, .data = 0xE0, .start = 0x10},
    {.type = 0x66, .data = 0xEE, .sets = 0x01, .start = 0x10},
    {.type = 0x55, .data = 0xEE, .sets = 0x11},
    {.type = 0x78, .data = 0xFE, .start = 0x01},
    {.type = 0x4B, .codes = 0xF0, .data = 0x0E, .sets = 0x01},
    {.type = 0x87, .codes = 0xFE, .finish = 0x01},
    {.type = 0x99, .codes = 0xFC, .data = 0x01, .finish = 0x02},
    {.type = 0xAA, .codes = 0xF8, .data = 0x03, .finish = 0x04},
    {.type = 0xB4, .codes = 0xF0, .data = 0x07, .finish = 0x08},
    {.type = 0xCC, .codes = 0xE0, .data = 0x0F, .finish = 0x10},
    {.type = 0xD2, .codes = 0xC0, .data = 0x1F, .finish = 0x20},
    {.type = 0xE1, .codes = 0x80, .data = 0x3F, .finish = 0x40},
    {.type = 0xFF, .data = 0x7F, .finish = 0x80},
}};

// Nothing: no block has that type.
[[nodiscard]] const BlockLayout* find_layout(std::uint8_t type);

}  // namespace weft::wan

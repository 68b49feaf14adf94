// SPDX-License-Identifier: Apache-2.0
// The two CRCs bit by bit, straight from their definition: what every kernel is compared with.
#pragma once

#include "base/bytes.h"

namespace weft::wire::test {

template <class Register>
inline Register reference_crc(Register state, Register reflected_generator, Bytes bytes) {
  for (const std::byte byte : bytes) {
    state = static_cast<Register>(state ^ std::to_integer<std::uint8_t>(byte));
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = (state & 1) != 0;
      state = static_cast<Register>(state >> 1);
      if (carry) state = static_cast<Register>(state ^ reflected_generator);
    }
  }
  return state;
}

inline std::uint32_t reference_crc32(std::uint32_t state, Bytes bytes) {
  return reference_crc<std::uint32_t>(state, 0xEDB8'8320, bytes);
}

inline std::uint16_t reference_crc16(std::uint16_t state, Bytes bytes) {
  return reference_crc<std::uint16_t>(state, 0xD008, bytes);
}

}  // namespace weft::wire::test

// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/frame_check.h"

#include <array>

#include "wire/crc.h"

namespace weft::wan {
namespace {

constexpr std::uint16_t kFcs16Generator = 0x8408;  // x^16 + x^12 + x^5 + 1, reflected

consteval std::array<std::uint16_t, 256> make_fcs16_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned octet = 0; octet < 256; ++octet) {
    unsigned state = octet;
    for (unsigned bit = 0; bit < 8; ++bit)
      state = state >> 1 ^ ((state & 1) != 0 ? kFcs16Generator : 0U);
    table[octet] = static_cast<std::uint16_t>(state);
  }
  return table;
}

constexpr auto kFcs16Table = make_fcs16_table();

}  // namespace

std::uint32_t ppp_fcs_update(PppFcs fcs, std::uint32_t state, Bytes bytes) {
  if (fcs == PppFcs::k32) return wire::crc32_update(state, bytes);
  for (const std::byte byte : bytes)
    state = state >> 8 ^ kFcs16Table[(state ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
  return state;
}

}  // namespace weft::wan

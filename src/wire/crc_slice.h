// SPDX-License-Identifier: Apache-2.0
// CRC by tables, kSlices bytes at a step (Kounavis and Berry, "Novel Table Lookup-Based Algorithms
// for High-Performance CRC Generation", IEEE Trans. Computers 2008). Runs anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "wire/crc.h"
#include "wire/crc_polynomial.h"
#include "wire/endian.h"

namespace weft::wire::detail {

template <class Register, std::size_t kSlices>
using SliceTables = std::array<std::array<Register, 256>, kSlices>;

// tables[k][b]: what byte b, followed by k zero bytes, does to a zero register.
template <class Register, std::size_t kSlices>
consteval SliceTables<Register, kSlices> make_slice_tables(Register reflected_generator) {
  SliceTables<Register, kSlices> tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    auto reg = static_cast<Register>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      reg = static_cast<Register>((reg >> 1) ^ ((reg & 1) != 0 ? reflected_generator : 0));
    }
    tables[0][byte] = reg;
  }
  for (std::size_t k = 1; k < kSlices; ++k) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const Register before = tables[k - 1][byte];
      tables[k][byte] = static_cast<Register>((before >> 8) ^ tables[0][before & 0xFF]);
    }
  }
  return tables;
}

template <std::size_t kSlices>
inline constexpr auto kSlices32 = make_slice_tables<std::uint32_t, kSlices>(kP32Reflected);
template <std::size_t kSlices>
inline constexpr auto kSlices16 = make_slice_tables<std::uint16_t, kSlices>(kP16Reflected);

template <class Register>
inline Register update_bytewise(const std::array<Register, 256>& table, Register state,
                                const std::byte* at, std::size_t size) {
  for (; size != 0; ++at, --size) {
    state = static_cast<Register>((state >> 8) ^ table[(state ^ load_u8(at)) & 0xFF]);
  }
  return state;
}

template <class Register, std::size_t kSlices, std::size_t... kByte>
inline Register slice_word(const SliceTables<Register, kSlices>& tables, std::size_t top,
                           std::uint64_t word, std::index_sequence<kByte...> /*0 to 7*/) {
  return static_cast<Register>((tables[top - kByte][word >> (8 * kByte) & 0xFF] ^ ...));
}

// One step: the register after `kSlices` bytes, 8 or 16.
template <class Register, std::size_t kSlices>
inline Register slice_step(const SliceTables<Register, kSlices>& tables, Register state,
                           const std::byte* at) {
  static_assert(kSlices == 8 || kSlices == 16);
  constexpr std::make_index_sequence<8> kBytes;
  Register next = slice_word(tables, kSlices - 1, load_le64(at) ^ state, kBytes);
  if constexpr (kSlices == 16) {
    next = static_cast<Register>(next ^ slice_word(tables, 7, load_le64(at + 8), kBytes));
  }
  return next;
}

template <class Register, std::size_t kSlices>
inline Register update_sliced(const SliceTables<Register, kSlices>& tables, Register state,
                              Bytes bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kSlices; at += kSlices, left -= kSlices) {
    state = slice_step<Register, kSlices>(tables, state, at);
  }
  return update_bytewise(tables[0], state, at, left);
}

}  // namespace weft::wire::detail

// SPDX-License-Identifier: Apache-2.0
#include "wan/line/msb_crc.h"

#include <isa-l/crc.h>

#include <array>
#include <cstddef>

#include "wan/line/msb_crc_kernels.h"

namespace weft::wan {
namespace {

// What a byte does to a register of `kWidth` bits.
template <class Register, unsigned kWidth, Register kGenerator>
constexpr std::array<Register, 256> make_table() {
  std::array<Register, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned state = byte << (kWidth - 8);
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool top = (state >> (kWidth - 1) & 1U) != 0;
      state = (state << 1 & ((1U << kWidth) - 1)) ^ (top ? kGenerator : 0U);
    }
    table[byte] = static_cast<Register>(state);
  }
  return table;
}

template <class Register, unsigned kWidth, Register kGenerator>
Register update(Register state, Bytes bytes) {
  static constexpr auto kTable = make_table<Register, kWidth, kGenerator>();
  for (const std::byte byte : bytes) {
    const unsigned at = (state >> (kWidth - 8) ^ std::to_integer<unsigned>(byte)) & 0xFF;
    const unsigned rest = static_cast<unsigned>(state) << 8 & ((1U << kWidth) - 1);
    state = static_cast<Register>(rest ^ kTable[at]);
  }
  return state;
}

struct Crc32MsbKernels {
  std::array<Crc32MsbKernel, 2> all{};
  std::size_t count = 0;
};

Crc32MsbKernels find_crc32_msb_kernels() {
  Crc32MsbKernels found;
  found.all[found.count++] = {"isa-l", detail::crc32_msb_by_isal};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq") &&
      !__builtin_cpu_supports("avx512f")) {
    found.all[found.count++] = {"vpclmul", detail::crc32_msb_by_vpclmul};
  }
#endif
  return found;
}

}  // namespace

std::uint8_t crc8_update(std::uint8_t state, Bytes bytes) {
  return update<std::uint8_t, 8, 0x07>(state, bytes);
}

std::uint16_t crc10_update(std::uint16_t state, Bytes bytes) {
  return update<std::uint16_t, 10, 0x233>(state, bytes);
}

std::uint16_t crc16_msb_update(std::uint16_t state, Bytes bytes) {
  return update<std::uint16_t, 16, 0x1021>(state, bytes);
}

std::uint32_t detail::crc32_msb_by_isal(std::uint32_t state, Bytes bytes) {
  // The library complements at either end, and does not write to what it reads.
  auto* const data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
  return ~crc32_ieee(~state, data, bytes.size());
}

std::span<const Crc32MsbKernel> crc32_msb_kernels() {
  static const Crc32MsbKernels kernels = find_crc32_msb_kernels();
  return {kernels.all.data(), kernels.count};
}

std::uint32_t crc32_msb_update(std::uint32_t state, Bytes bytes) {
  static const Crc32MsbKernel& best = crc32_msb_kernels().back();
  return best.update(state, bytes);
}

}  // namespace weft::wan

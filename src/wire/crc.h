// SPDX-License-Identifier: Apache-2.0
// The two CRCs of an IBA packet (IBA 7.8), as arithmetic over bytes; which bytes they cover, and
// what is masked, is icrc.h's and roce.h's business.
//
//   ICRC  CRC-32, generator 0x04C11DB7    VCRC  CRC-16, generator 0x100B
//
// Both are reflected (a byte enters least significant bit first), start at all ones, end with a
// complement and go on the wire low-order byte first. Functions named *_update take and return the
// raw register, so that a CRC can be carried over several spans:
//
//   std::uint32_t state = crc32_update(kIcrcPreset, headers);
//   store_le32(out, crc32_finish(crc32_update(state, payload)));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace weft::wire {

inline constexpr std::uint32_t kIcrcPreset = 0xFFFF'FFFF;
inline constexpr std::uint16_t kVcrcPreset = 0xFFFF;

// Registers of both CRCs over the same bytes.
struct CrcPair {
  std::uint32_t icrc = kIcrcPreset;
  std::uint16_t vcrc = kVcrcPreset;
  friend constexpr bool operator==(CrcPair, CrcPair) = default;
};

[[nodiscard]] std::uint32_t crc32_update(std::uint32_t state, Bytes bytes);
[[nodiscard]] std::uint16_t crc16_update(std::uint16_t state, Bytes bytes);
// crc32_update, and copies the bytes to `to` on the way, which has as much room and does not
// overlap with them: for less than the two one after the other.
[[nodiscard]] std::uint32_t crc32_copy(std::uint32_t state, std::byte* to, Bytes bytes);
// Both in one pass, for about the price of one.
[[nodiscard]] CrcPair crc_both_update(CrcPair state, Bytes bytes);

// The CRC as it is stored, from the register.
[[nodiscard]] constexpr std::uint32_t crc32_finish(std::uint32_t state) {
  return ~state;
}
[[nodiscard]] constexpr std::uint16_t crc16_finish(std::uint16_t state) {
  return static_cast<std::uint16_t>(~state);
}

// The register after `count` more zero bytes.
[[nodiscard]] std::uint32_t crc32_shift(std::uint32_t state, std::size_t count);
[[nodiscard]] std::uint16_t crc16_shift(std::uint16_t state, std::size_t count);
// The inverse: the register before `count` (at most 65,535) zero bytes.
[[nodiscard]] std::uint32_t crc32_unshift(std::uint32_t state, std::size_t count);

// The register after A then B, from the register after A and that of B alone *started at zero*
// (crc32_update(0, b)). So a payload's CRC can be taken before its headers are known.
[[nodiscard]] std::uint32_t crc32_combine(std::uint32_t after_a, std::uint32_t b_from_zero,
                                          std::size_t b_size);
[[nodiscard]] std::uint16_t crc16_combine(std::uint16_t after_a, std::uint16_t b_from_zero,
                                          std::size_t b_size);

// What a change does to a CRC, without rereading the rest. `difference` is old XOR new of some
// consecutive bytes, of which the first in memory is the low-order one (load_le64(old) ^
// load_le64(new)); after these 8 bytes, `distance` more bytes are covered up to the end. XOR the
// result into the CRC, finished or not.
[[nodiscard]] std::uint32_t crc32_change(std::uint64_t difference, std::size_t distance);
[[nodiscard]] std::uint16_t crc16_change(std::uint64_t difference, std::size_t distance);
// The same for a difference of any length; `distance` counts from its end.
[[nodiscard]] std::uint32_t crc32_change(Bytes difference, std::size_t distance);
[[nodiscard]] std::uint16_t crc16_change(Bytes difference, std::size_t distance);

// One way to do the arithmetic. The functions above use the best that the machine can run; tests,
// benchmarks and fuzzers compare them all.
struct CrcKernel {
  std::string_view name;
  std::uint32_t (*crc32)(std::uint32_t state, Bytes bytes);
  std::uint32_t (*copy32)(std::uint32_t state, std::byte* to, Bytes bytes);
  std::uint16_t (*crc16)(std::uint16_t state, Bytes bytes);
  CrcPair (*both)(CrcPair state, Bytes bytes);
  // Product of two polynomials modulo the generator. `a` has bit i for x^(63-i), `b` and the result
  // are registers: bit i for x^(width-1-i).
  std::uint32_t (*multiply32)(std::uint64_t a, std::uint32_t b);
  std::uint16_t (*multiply16)(std::uint64_t a, std::uint16_t b);
};

// The kernels that this machine can run, the one in use last.
[[nodiscard]] std::span<const CrcKernel> crc_kernels();

}  // namespace weft::wire

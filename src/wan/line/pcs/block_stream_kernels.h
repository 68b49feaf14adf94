// SPDX-License-Identifier: Apache-2.0
// The kernels one by one, for block_stream.cc to choose from. A kernel may be called only on a
// machine that has its instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wan/line/pcs/block_stream.h"
#include "wire/endian.h"

namespace weft::wan::detail {

extern const BlockStreamKernel kPortableBlockStream;  // a payload at a time, by P^2
#if defined(__x86_64__)
extern const BlockStreamKernel kAvx2BlockStream;    // four payloads at a time, by P^8
extern const BlockStreamKernel kAvx512BlockStream;  // eight payloads at a time, by P^16
// That of both, with AVX2.
[[nodiscard]] std::uint64_t unpack_by_fours(Bytes octets, std::size_t at, std::size_t count,
                                            std::uint64_t* payloads, std::uint8_t* headers,
                                            std::uint64_t heard);
#endif

// A payload on the line from the one before and what it says. Of the bits that went out 39 and 58
// before those of a word, the ones of the word before are taken in first, and then the word's own.
[[nodiscard]] constexpr std::uint64_t scramble_word(std::uint64_t word, std::uint64_t sent) {
  const std::uint64_t first = word ^ sent >> 25 ^ sent >> 6;
  return first ^ first << 39 ^ first << 58;
}
// What it says, from it and the one before.
[[nodiscard]] constexpr std::uint64_t descramble_word(std::uint64_t word, std::uint64_t heard) {
  return word ^ word << 39 ^ heard >> 25 ^ word << 58 ^ heard >> 6;
}

// The n-th of four blocks begins 2n bits behind an octet, and so ends 2n + 2 bits behind one: what
// does not fit in its eight octets is the beginning of the next ones, and returned. Each n is a
// constant where this is called, which shifts by it are quicker for; and the sum of a header and
// four words is one instruction, where their union takes two.
inline std::uint64_t put_block(unsigned n, std::uint64_t over, std::uint64_t header,
                               std::uint64_t word, std::byte* octets) {
  wire::store_le64(octets + 8 * std::size_t{n}, over | (4 * word + header) << (2 * n));
  return word >> (62 - 2 * n);
}

// Four payloads as they go out, each asked for in its turn, and their headers.
template <class Next>
inline void put_group(const std::uint8_t* headers, std::byte* octets, Next next) {
  std::uint64_t over = put_block(0, 0, headers[0], next(0), octets);
  over = put_block(1, over, headers[1], next(1), octets);
  over = put_block(2, over, headers[2], next(2), octets);
  over = put_block(3, over, headers[3], next(3), octets);
  octets[kGroupOctets - 1] = static_cast<std::byte>(over);
}

}  // namespace weft::wan::detail

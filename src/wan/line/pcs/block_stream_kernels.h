// SPDX-License-Identifier: Apache-2.0
// The kernels one by one, for block_stream.cc to choose from. A kernel may be called only on a
// machine that has its instructions.
#pragma once

#include "wan/line/pcs/block_stream.h"

namespace weft::wan::detail {

extern const BlockStreamKernel kPortableBlockStream;  // a payload at a time
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

}  // namespace weft::wan::detail

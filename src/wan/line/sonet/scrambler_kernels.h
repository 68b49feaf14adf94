// SPDX-License-Identifier: Apache-2.0
// One way to add a sequence and to sum up parities, for vectors of any size: compiled once for each
// kind of processor, by functions that say which. The loops are those of vectors because a parity
// kept in registers is what compilers do not make of loops over octets.
#pragma once

#include <array>
#include <cstring>

#include "wan/line/sonet/scrambler.h"

namespace weft::wan::sonet::detail {

#define WEFT_SONET_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define WEFT_SONET_UNROLL _Pragma("unroll")
#else
#define WEFT_SONET_UNROLL _Pragma("GCC unroll 12")
#endif

using Word16 = std::uint64_t __attribute__((vector_size(16)));
using Word32 = std::uint64_t __attribute__((vector_size(32)));
using Word64 = std::uint64_t __attribute__((vector_size(64)));

// Vectors are read and written in place, not passed: how they are passed depends on the processor.
template <class Word>
WEFT_SONET_INLINE void read(Word& word, const std::byte* from) {
  std::memcpy(&word, from, sizeof word);
}

template <class Word>
WEFT_SONET_INLINE void add(const std::byte* from, const std::byte* sequence, std::byte* to,
                           std::size_t size) {
  std::size_t at = 0;
  for (; at + sizeof(Word) <= size; at += sizeof(Word)) {
    Word word;
    Word key;
    read(word, from + at);
    read(key, sequence + at);
    word ^= key;
    std::memcpy(to + at, &word, sizeof word);
  }
  for (; at < size; ++at)
    to[at] = from[at] ^ sequence[at];
}

template <class Word>
WEFT_SONET_INLINE void add_with_parity(const std::byte* from, const std::byte* sequence,
                                       std::byte* to, std::size_t blocks, Parity& parity) {
  constexpr std::size_t kWords = kParityLanes / sizeof(Word);
  std::array<Word, kWords> sums;
  std::memcpy(sums.data(), parity.data(), kParityLanes);
  for (std::size_t block = 0; block < blocks; ++block) {
    WEFT_SONET_UNROLL
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::size_t at = block * kParityLanes + i * sizeof(Word);
      Word word;
      Word key;
      read(word, from + at);
      read(key, sequence + at);
      sums[i] ^= word;
      word ^= key;
      std::memcpy(to + at, &word, sizeof word);
    }
  }
  std::memcpy(parity.data(), sums.data(), kParityLanes);
}

template <class Word>
WEFT_SONET_INLINE std::byte bip8_of(const std::byte* octets, std::size_t size) {
  Word first{};
  Word second{};
  std::size_t at = 0;
  for (; at + 2 * sizeof(Word) <= size; at += 2 * sizeof(Word)) {
    Word one;
    Word other;
    read(one, octets + at);
    read(other, octets + at + sizeof(Word));
    first ^= one;
    second ^= other;
  }
  first ^= second;
  std::uint64_t folded = 0;
  for (std::size_t i = 0; i < sizeof(Word) / 8; ++i)
    folded ^= first[i];
  folded ^= folded >> 32;
  folded ^= folded >> 16;
  folded ^= folded >> 8;
  auto sum = static_cast<std::byte>(folded);
  for (; at < size; ++at)
    sum ^= octets[at];
  return sum;
}

}  // namespace weft::wan::sonet::detail

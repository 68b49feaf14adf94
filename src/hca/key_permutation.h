// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "base/entropy.h"

namespace weft::hca {

// A permutation of the numbers of kBits bits, drawn when it is made: small numbers in, keys out,
// and back. It is a small Feistel network, not a cipher: it keeps a peer that was given some keys
// from counting on to the next one, not a cryptanalyst who has collected thousands.
template <unsigned kBits>
class KeyPermutation {
 public:
  static_assert(kBits <= 32 && kBits % 2 == 0);

  explicit KeyPermutation(Entropy& entropy) {
    for (std::uint64_t& key : round_keys_)
      key = entropy.draw();
  }

  [[nodiscard]] std::uint32_t encode(std::uint32_t plain) const {
    std::uint32_t left = plain >> kHalf & kHalfMask;
    std::uint32_t right = plain & kHalfMask;
    for (const std::uint64_t key : round_keys_) {
      const std::uint32_t next = left ^ mix(right, key);
      left = right;
      right = next;
    }
    return left << kHalf | right;
  }

  [[nodiscard]] std::uint32_t decode(std::uint32_t key) const {
    std::uint32_t left = key >> kHalf & kHalfMask;
    std::uint32_t right = key & kHalfMask;
    for (unsigned round = kRounds; round-- > 0;) {
      const std::uint32_t previous = right ^ mix(left, round_keys_[round]);
      right = left;
      left = previous;
    }
    return left << kHalf | right;
  }

 private:
  static constexpr unsigned kRounds = 4;
  static constexpr unsigned kHalf = kBits / 2;
  static constexpr std::uint32_t kHalfMask = (1u << kHalf) - 1;

  // One round: half a number from half a number and a key.
  static std::uint32_t mix(std::uint32_t half, std::uint64_t round_key) {
    std::uint64_t x = (half ^ round_key) * 0x9E37'79B9'7F4A'7C15;
    x ^= x >> 32;
    x *= round_key | 1;
    return static_cast<std::uint32_t>(x >> (64 - kHalf));
  }

  std::array<std::uint64_t, kRounds> round_keys_{};
};

}  // namespace weft::hca

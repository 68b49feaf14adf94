// SPDX-License-Identifier: Apache-2.0
// A stream of bits in bytes: the first on the wire is bit 0 of byte 0. Ten-bit code words lie in it
// back to back.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace weft::phy {

inline constexpr unsigned kSymbolBits = 10;

// Bits of somebody else's memory; `count` is at most 8 times the bytes.
struct BitSpan {
  Bytes bytes;
  std::size_t count = 0;

  [[nodiscard]] bool bit(std::size_t i) const {
    return (std::to_integer<unsigned>(bytes[i / 8]) >> (i % 8) & 1) != 0;
  }
  // `size` bits from `at` on, at most 32; what lies beyond the end is zero.
  [[nodiscard]] std::uint32_t take(std::size_t at, unsigned size) const {
    assert(size <= 32);
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 5 && at / 8 + i < bytes.size(); ++i) {
      word |= std::to_integer<std::uint64_t>(bytes[at / 8 + i]) << (8 * i);
    }
    return static_cast<std::uint32_t>(word >> (at % 8) & ((std::uint64_t{1} << size) - 1));
  }
};

// Bits that grow at their end.
class BitVector {
 public:
  // The lower `size` bits of `bits`, bit 0 first; at most 32.
  void put(std::uint32_t bits, unsigned size) {
    assert(size <= 32);
    for (unsigned done = 0; done < size;) {
      const unsigned used = count_ % 8;
      if (used == 0) bytes_.push_back(std::byte{0});
      const unsigned now = size - done < 8 - used ? size - done : 8 - used;
      const unsigned part = bits >> done & ((1U << now) - 1);
      bytes_.back() |= static_cast<std::byte>(part << used);
      done += now;
      count_ += now;
    }
  }
  void put_symbol(std::uint16_t code) { put(code & 0x3FFU, kSymbolBits); }
  void flip(std::size_t at) { bytes_[at / 8] ^= static_cast<std::byte>(1U << (at % 8)); }
  void clear() {
    bytes_.clear();
    count_ = 0;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] BitSpan span() const { return {bytes_, count_}; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_ = 0;
};

}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
// The hash that adapters spread flows by: the sum, modulo 2, of the 32-bit windows of a key that
// begin where the input has its ones (Krawczyk: "LFSR-based hashing and authentication", 1994; with
// a Toeplitz matrix, as receive side scaling has it). Who does not know the key cannot tell which
// inputs meet.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::hca {

class ToeplitzHash {
 public:
  // Takes inputs of up to 4 bytes less than the key has, which is at least 5.
  explicit ToeplitzHash(Bytes key) : rows_((key.size() - kWindow) * 2) {
    assert(key.size() > kWindow);
    for (std::size_t at = 0; at < longest_input(); ++at) {
      const std::uint64_t five_bytes = std::uint64_t{wire::load_be32(key.data() + at)} << 8 |
                                       wire::load_u8(key.data() + at + kWindow);
      rows_[at * 2] = row(five_bytes >> 4);
      rows_[at * 2 + 1] = row(five_bytes);
    }
  }

  [[nodiscard]] std::size_t longest_input() const { return rows_.size() / 2; }

  // Of an input that begins `at` bytes behind the first that the key has windows for. The hash of
  // an input is the sum (XOR) of those of its stretches, and that of zeros is 0.
  [[nodiscard]] std::uint32_t hash(Bytes input, std::size_t at = 0) const {
    assert(at + input.size() <= longest_input());
    std::uint32_t sum = 0;
    const Row* rows = rows_.data() + at * 2;
    for (const std::byte byte : input) {
      const auto value = std::to_integer<std::uint8_t>(byte);
      sum ^= rows[0][value >> 4] ^ rows[1][value & 0xF];
      rows += 2;
    }
    return sum;
  }

 private:
  static constexpr std::size_t kWindow = 4;
  using Row = std::array<std::uint32_t, 16>;  // for each value of four bits of the input

  // `bits`: those of the key from the window of the first of four bits on, in its lowest 36.
  static Row row(std::uint64_t bits) {
    Row out{};
    for (std::size_t value = 1; value < out.size(); ++value) {
      for (unsigned bit = 0; bit < 4; ++bit) {
        if ((value >> bit & 1) != 0) out[value] ^= static_cast<std::uint32_t>(bits >> (bit + 1));
      }
    }
    return out;
  }

  std::vector<Row> rows_;  // two for each byte
};

}  // namespace weft::hca

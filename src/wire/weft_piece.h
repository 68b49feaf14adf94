// SPDX-License-Identifier: Apache-2.0
// Where a piece belongs (opcode weft_piece), between Weft peers only: a packet that is longer than
// its path takes travels in pieces, each of them a packet of its own. Between the BTH, whose PSN is
// that of the whole packet, and the bytes of the piece:
// Number(16) Offset(16) Length(16) reserved(16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

struct WeftPiece {
  static constexpr std::size_t kSize = 8;

  std::uint16_t number = 0;  // tells packets with one PSN apart, and one transmission from the next
  std::uint16_t offset = 0;  // of the piece in the whole packet, in units of 4 bytes
  std::uint16_t length =
      0;  // of the whole packet, from its BTH to its last pad byte, in such units

  // Nothing for what is too short, or has a reserved bit set.
  [[nodiscard]] static std::optional<WeftPiece> parse(Bytes bytes) {
    if (bytes.size() < kSize || load_be16(bytes.data() + 6) != 0) return std::nullopt;
    return WeftPiece{.number = load_be16(bytes.data()),
                     .offset = load_be16(bytes.data() + 2),
                     .length = load_be16(bytes.data() + 4)};
  }
  void write(MutableBytes out) const {
    store_be16(out.data(), number);
    store_be16(out.data() + 2, offset);
    store_be16(out.data() + 4, length);
    store_be16(out.data() + 6, 0);
  }
  friend bool operator==(const WeftPiece&, const WeftPiece&) = default;
};

}  // namespace weft::wire

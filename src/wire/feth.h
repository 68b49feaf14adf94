// SPDX-License-Identifier: Apache-2.0
// FLUSH Extended Transport Header, IBA annex A19: rsv(26) SEL(2) PLT(4).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

struct Feth {
  static constexpr std::size_t kSize = 4;

  std::uint8_t selectivity = 0;  // SEL: 0 = the RETH's range, 1 = the whole memory region
  std::uint8_t placement = 0;    // PLT: bit 0 = global visibility, bit 1 = persistence

  friend bool operator==(const Feth&, const Feth&) = default;

  [[nodiscard]] static std::optional<Feth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return Feth{.selectivity = static_cast<std::uint8_t>(load_be32(at) >> 4 & 3),
                .placement = static_cast<std::uint8_t>(load_be32(at) & 0xF)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be32(at, static_cast<std::uint32_t>((selectivity & 3) << 4 | (placement & 0xF)));
  }
};

}  // namespace weft::wire

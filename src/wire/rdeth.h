// SPDX-License-Identifier: Apache-2.0
// Reliable Datagram Extended Transport Header, IBA 9.3: rsv(8) EE-Context(24).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

struct Rdeth {
  static constexpr std::size_t kSize = 4;

  std::uint32_t ee_context = 0;  // 24 bits

  friend bool operator==(const Rdeth&, const Rdeth&) = default;

  [[nodiscard]] static std::optional<Rdeth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return Rdeth{.ee_context = load_be24(at + 1)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_u8(at, 0);
    store_be24(at + 1, ee_context);
  }
};

}  // namespace weft::wire

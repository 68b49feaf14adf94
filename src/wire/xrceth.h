// SPDX-License-Identifier: Apache-2.0
// XRC Extended Transport Header, IBA annex A14: rsv(8) XRCSRQ(24).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

struct Xrceth {
  static constexpr std::size_t kSize = 4;

  std::uint32_t srq = 0;  // 24 bits: number of the shared receive queue addressed

  friend bool operator==(const Xrceth&, const Xrceth&) = default;

  [[nodiscard]] static std::optional<Xrceth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return Xrceth{.srq = load_be24(at + 1)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_u8(at, 0);
    store_be24(at + 1, srq);
  }
};

}  // namespace weft::wire

// SPDX-License-Identifier: Apache-2.0
// Invalidate Extended Transport Header, IBA 9.3: R_Key(32).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

struct Ieth {
  static constexpr std::size_t kSize = 4;

  RKey rkey{};  // of the region or window that the receiver is to invalidate

  friend bool operator==(const Ieth&, const Ieth&) = default;

  [[nodiscard]] static std::optional<Ieth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return Ieth{.rkey = RKey{load_be32(at)}};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be32(at, rkey.value());
  }
};

}  // namespace weft::wire

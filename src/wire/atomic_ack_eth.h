// SPDX-License-Identifier: Apache-2.0
// Atomic Acknowledge Extended Transport Header, IBA 9.3: OrigRemDt(64).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

struct AtomicAckEth {
  static constexpr std::size_t kSize = 8;

  std::uint64_t original = 0;  // the remote memory before the operation

  friend bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;

  [[nodiscard]] static std::optional<AtomicAckEth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return AtomicAckEth{.original = load_be64(at)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be64(at, original);
  }
};

}  // namespace weft::wire

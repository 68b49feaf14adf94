// SPDX-License-Identifier: Apache-2.0
// Atomic Extended Transport Header, IBA 9.3: VA(64) R_Key(32) SwapDt or AddDt(64) CmpDt(64).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

struct AtomicEth {
  static constexpr std::size_t kSize = 28;

  std::uint64_t virtual_address = 0;  // of 8 bytes, aligned to 8
  RKey rkey{};
  std::uint64_t swap_or_add = 0;  // what CmpSwap stores or FetchAdd adds
  std::uint64_t compare = 0;      // what CmpSwap compares with

  friend bool operator==(const AtomicEth&, const AtomicEth&) = default;

  [[nodiscard]] static std::optional<AtomicEth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return AtomicEth{.virtual_address = load_be64(at),
                     .rkey = RKey{load_be32(at + 8)},
                     .swap_or_add = load_be64(at + 12),
                     .compare = load_be64(at + 20)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be64(at, virtual_address);
    store_be32(at + 8, rkey.value());
    store_be64(at + 12, swap_or_add);
    store_be64(at + 20, compare);
  }
};

}  // namespace weft::wire

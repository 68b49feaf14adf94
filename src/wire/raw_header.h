// SPDX-License-Identifier: Apache-2.0
// Raw header, IBA 5.3: after the LRH of a raw packet whose LNH is 0. Layout: rsv(16) EtherType(16).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

struct RawHeader {
  static constexpr std::size_t kSize = 4;

  std::uint16_t ether_type = 0;

  friend bool operator==(const RawHeader&, const RawHeader&) = default;

  [[nodiscard]] static std::optional<RawHeader> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    return RawHeader{.ether_type = load_be16(bytes.data() + 2)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    store_be16(out.data(), 0);
    store_be16(out.data() + 2, ether_type);
  }
};

}  // namespace weft::wire

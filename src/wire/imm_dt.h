// SPDX-License-Identifier: Apache-2.0
// Immediate data, IBA 9.3: 32 bits that the transport does not interpret.
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

struct ImmDt {
  static constexpr std::size_t kSize = 4;

  std::uint32_t value = 0;  // host order of the big-endian field

  friend bool operator==(const ImmDt&, const ImmDt&) = default;

  [[nodiscard]] static std::optional<ImmDt> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return ImmDt{.value = load_be32(at)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be32(at, value);
  }
};

}  // namespace weft::wire

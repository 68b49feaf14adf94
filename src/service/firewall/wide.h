// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "base/ids.h"

namespace weft::service::firewall {

// An unsigned number of 128 bits: a GID or an IP address, or any shorter field.
struct Wide {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  constexpr Wide() = default;
  constexpr Wide(std::uint64_t h, std::uint64_t l) : high(h), low(l) {}
  constexpr explicit Wide(std::uint64_t value) : low(value) {}
  explicit Wide(const Gid& gid) {
    for (unsigned i = 0; i < 8; ++i) {
      high = high << 8 | gid.bytes()[i];
      low = low << 8 | gid.bytes()[i + 8];
    }
  }

  friend constexpr auto operator<=>(const Wide&, const Wide&) = default;

  // Their neighbours; the caller knows that there is one.
  [[nodiscard]] constexpr Wide next() const { return {high + (low + 1 == 0 ? 1 : 0), low + 1}; }
  [[nodiscard]] constexpr Wide previous() const { return {high - (low == 0 ? 1 : 0), low - 1}; }
};

}  // namespace weft::service::firewall

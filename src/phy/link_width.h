// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::phy {

// As PortInfo codes LinkWidthActive, and as bits of LinkWidthEnabled (IBA 14.2.5.6).
enum class LinkWidth : std::uint8_t { k1x = 1, k4x = 2, k8x = 4, k12x = 8 };

inline constexpr std::size_t kMaxLanes = 12;
inline constexpr std::array kWidestFirst{LinkWidth::k12x, LinkWidth::k8x, LinkWidth::k4x,
                                         LinkWidth::k1x};

[[nodiscard]] constexpr std::size_t lanes_of(LinkWidth width) {
  switch (width) {
    case LinkWidth::k1x:
      return 1;
    case LinkWidth::k4x:
      return 4;
    case LinkWidth::k8x:
      return 8;
    case LinkWidth::k12x:
      break;
  }
  return 12;
}

[[nodiscard]] constexpr bool has(std::uint8_t widths, LinkWidth width) {
  return (widths & static_cast<std::uint8_t>(width)) != 0;
}

}  // namespace weft::phy

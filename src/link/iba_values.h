// SPDX-License-Identifier: Apache-2.0
// Numbers of IBA that ports compute with.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "link/packet.h"

namespace weft::link {

// Bits of a mask of lanes that are data lanes.
inline constexpr std::uint16_t kDataLanes = 0x7FFF;

[[nodiscard]] constexpr std::uint16_t bit(Vl vl) {
  return static_cast<std::uint16_t>(1U << vl.value());
}
[[nodiscard]] constexpr std::size_t lowest_lane(std::uint16_t lanes) {
  return static_cast<std::size_t>(std::countr_zero(lanes));
}

// IBA 7.7.8: PktLen is at most (MTU + 124) / 4 words; the VCRC comes on top.
[[nodiscard]] constexpr std::size_t longest_packet(std::uint8_t mtu_code) {
  return (std::size_t{128} << mtu_code) + 124 + 2;
}
inline constexpr std::uint8_t kLargestMtu = 5;     // 4096
inline constexpr std::uint8_t kManagementMtu = 1;  // 256, of VL15

// Times of 4.096 us * 2^code; above 19, none (IBA 14.2.5.4, 14.2.5.6: LifeTimeValue, HOQLife).
[[nodiscard]] constexpr std::optional<Duration> life(std::uint8_t code) {
  if (code > 19) return std::nullopt;
  return 4096ns * (std::int64_t{1} << code);
}

// IBA 4.1.3; the permissive LID counts as unicast.
[[nodiscard]] constexpr bool is_multicast(Lid lid) {
  return lid.value() >= 0xC000 && lid.value() != 0xFFFF;
}

}  // namespace weft::link

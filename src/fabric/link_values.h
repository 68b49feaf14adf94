// SPDX-License-Identifier: Apache-2.0
// Widths and speeds of links: as people and listings write them, and as PortInfo codes them
// (IBA 14.2.5.6).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::fabric {

// Lanes.
enum class LinkWidth : std::uint8_t { k1x = 1, k2x = 2, k4x = 4, k8x = 8, k12x = 12 };

// Slowest first. A lane carries 2.5, 5, 10, 14.0625, 25.78125, 53.125 Gb/s.
enum class LinkSpeed : std::uint8_t { kSdr, kDdr, kQdr, kFdr, kEdr, kHdr };

inline constexpr std::string_view kWidthNames = "1x, 2x, 4x, 8x or 12x";
inline constexpr std::string_view kSpeedNames = "sdr, ddr, qdr, fdr, edr or hdr";

[[nodiscard]] std::string_view to_string(LinkWidth width);  // "4x"
[[nodiscard]] std::string_view to_string(LinkSpeed speed);  // "qdr"
[[nodiscard]] std::optional<LinkWidth> parse_width(std::string_view text);
[[nodiscard]] std::optional<LinkSpeed> parse_speed(std::string_view text);  // "qdr" and "QDR"

// The bit that LinkWidthActive has, and in LinkWidthSupported the bits of all up to `widest`.
[[nodiscard]] std::uint8_t width_bit(LinkWidth width);
[[nodiscard]] std::uint8_t width_bits_up_to(LinkWidth widest);
// The widest of these bits; 1x when there is none.
[[nodiscard]] LinkWidth widest(std::uint8_t bits);

// A speed has a bit in LinkSpeed* or, from FDR on, in LinkSpeedExt*.
struct SpeedBits {
  std::uint8_t speed = 0;
  std::uint8_t extended = 0;
  friend bool operator==(const SpeedBits&, const SpeedBits&) = default;
};
[[nodiscard]] SpeedBits speed_bit(LinkSpeed speed);
[[nodiscard]] SpeedBits speed_bits_up_to(LinkSpeed fastest);
// The fastest of these bits; SDR when there is none.
[[nodiscard]] LinkSpeed fastest(SpeedBits bits);

}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
// What lies where in a frame of SONET/SDH (ITU-T G.707, 6.2 and 9.2; ANSI T1.105), for the levels
// whose whole payload is one container: STM-1 with a VC-4, STM-N with a VC-4-Nc, which are STS-3c
// and STS-3Nc. Everything follows from N. Rows and columns count from 0; a frame is sent row by
// row, most significant bit first, 8000 times a second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::wan::sonet {

enum class Level : std::uint8_t { kStm1, kStm4, kStm16, kStm64, kCount };
inline constexpr std::size_t kLevels = static_cast<std::size_t>(Level::kCount);
inline constexpr std::array kAllLevels{Level::kStm1, Level::kStm4, Level::kStm16, Level::kStm64};

inline constexpr std::size_t kRows = 9;
inline constexpr std::size_t kPointerRow = 3;  // between the section's and the line's overhead
inline constexpr std::uint32_t kFramesPerSecond = 8000;
// Pointer values are 0 to 782 (G.707, 8.1.2).
inline constexpr std::uint16_t kPointers = 783;
// With which a container begins in the first row, right after the overhead: the rows of the
// container are those of the frame.
inline constexpr std::uint16_t kAlignedPointer = 522;

// Sizes are in octets.
struct Geometry {
  std::size_t n = 1;

  // Columns of a frame, and so the octets of a row.
  [[nodiscard]] constexpr std::size_t row() const { return 270 * n; }
  [[nodiscard]] constexpr std::size_t frame() const { return kRows * row(); }
  // Of a row: section and line overhead, or pointers; what is left is the container's.
  [[nodiscard]] constexpr std::size_t overhead() const { return 9 * n; }
  [[nodiscard]] constexpr std::size_t vc_row() const { return row() - overhead(); }
  [[nodiscard]] constexpr std::size_t vc() const { return kRows * vc_row(); }
  // Of a row of the container, before its payload: path overhead, then fixed stuff (G.707, 8.1.7).
  [[nodiscard]] constexpr std::size_t vc_head() const { return n; }
  [[nodiscard]] constexpr std::size_t payload_row() const { return vc_row() - vc_head(); }
  [[nodiscard]] constexpr std::size_t payload() const { return kRows * payload_row(); }
  // By which a pointer counts, and by which a justification moves the container.
  [[nodiscard]] constexpr std::size_t unit() const { return 3 * n; }
  // Framing octets of each kind, and octets of B2.
  [[nodiscard]] constexpr std::size_t thirds() const { return 3 * n; }
  // Where octet `column` (0 to 8) of STM-1's overhead is: the first of N, one of each STM-1.
  [[nodiscard]] constexpr std::size_t at(std::size_t overhead_row, std::size_t column) const {
    return overhead_row * row() + column * n;
  }
  // M1: in the last row, the third octet from column 3 of STM-1 on (G.707, 9.2.2.12; that of the
  // third STS-1).
  [[nodiscard]] constexpr std::size_t m1() const { return at(8, 3) + 2; }
  [[nodiscard]] constexpr std::uint64_t bits_per_second() const {
    return std::uint64_t{frame()} * 8 * kFramesPerSecond;
  }
};

[[nodiscard]] constexpr Geometry geometry(Level level) {
  return {.n = std::size_t{1} << 2 * static_cast<unsigned>(level)};
}

struct LevelName {
  std::string_view sdh;
  std::string_view sonet;
};
inline constexpr std::array<LevelName, kLevels> kLevelNames{{
    {"stm-1", "sts-3c"},
    {"stm-4", "sts-12c"},
    {"stm-16", "sts-48c"},
    {"stm-64", "sts-192c"},
}};
[[nodiscard]] constexpr const LevelName& name_of(Level level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}
// By either name, in lower case.
[[nodiscard]] constexpr std::optional<Level> level_named(std::string_view name) {
  for (const Level level : kAllLevels) {
    if (name == name_of(level).sdh || name == name_of(level).sonet) return level;
  }
  return std::nullopt;
}

}  // namespace weft::wan::sonet

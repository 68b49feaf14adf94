// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::phy {

// The cursors of a pulse that matter most, for which the analysis knows patterns of bits; those
// behind them are the tail.
inline constexpr int kNearBefore = 2;
inline constexpr int kNearBehind = 8;
// The near cursors but for the main one, in two halves, so that what they add up to is a sum of
// two from tables.
inline constexpr std::size_t kNearHalf = (kNearBefore + kNearBehind) / 2;
inline constexpr std::size_t kNearHalfPatterns = std::size_t{1} << kNearHalf;
// Characters after which IDLE data repeats: all states of its shift register of eleven bits.
inline constexpr unsigned kIdlePeriod = 2047;
// How many bits a pulse lasts.
inline constexpr std::size_t kPulseBits = 64;
inline constexpr std::size_t kTailCursors = kPulseBits - 1 - kNearBefore - kNearBehind;

// The cursors of the halves: -2, -1, 1, 2, 3 and 4 to 8. Through cursor n a bit meets the one that
// was sent n bits before it.
[[nodiscard]] constexpr int near_cursor(std::size_t half, std::size_t place) {
  const int cursor = static_cast<int>(half * kNearHalf + place) - kNearBefore;
  return cursor < 0 ? cursor : cursor + 1;
}

// What stands around a bit of the IDLE data that a port sends throughout a sweep. 8b/10b leaves
// out most of what independent bits would do: no run exceeds five bits, ones and zeros balance.
class CodeStatistics {
 public:
  // Counted over a whole period of the coded sequence.
  static const CodeStatistics& idle();

  // Neighbours of a bit: bit i of a half is set where that cursor's bit is unlike the main one.
  struct Pattern {
    std::uint8_t first = 0;
    std::uint8_t second = 0;
    // For each place of the period where they are the neighbours, what was sent long before: bit i
    // is set where the bit of cursor kNearBehind + 1 + i is unlike the main one. In the order of
    // what the tail of a usual line makes of them, so that every nth stands for those around it.
    std::vector<std::uint64_t> tails;
  };
  // In the order of their first halves.
  [[nodiscard]] const std::vector<Pattern>& patterns() const { return patterns_; }
  // Those with this first half.
  [[nodiscard]] std::span<const Pattern> patterns(std::size_t first) const {
    return std::span(patterns_).subspan(
        first_of_half_[first], std::size_t{first_of_half_[first + 1]} - first_of_half_[first]);
  }
  // Of all patterns together.
  [[nodiscard]] std::size_t places() const { return places_; }
  // The mean of the product of two bits (1 and -1) so far apart.
  [[nodiscard]] double correlation(std::size_t distance) const { return correlation_[distance]; }

 private:
  CodeStatistics();

  std::vector<Pattern> patterns_;
  std::array<std::uint16_t, kNearHalfPatterns + 1> first_of_half_{};
  std::size_t places_ = 0;
  std::array<double, kPulseBits> correlation_{};
};

}  // namespace weft::phy

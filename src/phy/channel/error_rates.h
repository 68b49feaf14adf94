// SPDX-License-Identifier: Apache-2.0
// The probability that a bit of IDLE data is taken for its opposite: the mean over all places of
// the data of what noise and jitter do to what is left of the bit there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "phy/channel/code_statistics.h"
#include "phy/channel/equalised_lane.h"

namespace weft::phy {

// Per half of the near cursors, what each pattern of it adds: to a bit in mV, and to its slope in
// mV a sample.
struct HalfSums {
  std::array<float, kNearHalfPatterns> level;
  std::array<float, kNearHalfPatterns> slope;
};

// All that is the same wherever a lane is sampled.
class ErrorRates {
 public:
  // `lane` must outlive it.
  explicit ErrorRates(const EqualisedLane& lane);

  // The bit error rate, sampled `offset` samples from where the receiver settles, with its
  // threshold moved by `threshold_mv` against the bit.
  [[nodiscard]] double at(double offset, double threshold_mv) const;

 private:
  // Places of a sine at which it is looked at, each as probable: those of Chebyshev and Gauss.
  static constexpr std::size_t kSinePlaces = 4;
  static constexpr std::size_t kTailBytes = (kTailCursors + 7) / 8;

  // What a lane makes of the bits around a bit, but for the tail, at one place of the sine.
  struct Moment {
    float level = 0;
    float slope = 0;
    HalfSums first;
    HalfSums second;
  };
  using Moments = std::array<Moment, kSinePlaces>;
  // What is left of a bit for each second half of its neighbours, one of their first: as squares of
  // deviations, negative where less than nothing is left.
  using Row = std::array<float, kNearHalfPatterns>;
  // Patterns by how many deviations are left of a bit, about, in steps of their square.
  static constexpr std::size_t kClasses = 64;
  struct Suspect {
    const CodeStatistics::Pattern* pattern;
    std::uint8_t in_class;
  };
  // Those that bring errors about.
  struct Suspects {
    std::array<Suspect, kNearHalfPatterns * kNearHalfPatterns> patterns;
    std::size_t count = 0;
    std::array<std::size_t, kClasses> places{};  // of a class
  };
  // Every how many places of a class are looked at; 0: its errors are no matter.
  using Steps = std::array<std::size_t, kClasses>;

  [[nodiscard]] Moment moment(double offset, double threshold_mv) const;
  [[nodiscard]] Row deviations(const Moment& moment, std::size_t first) const;
  [[nodiscard]] Suspects suspects(const Moments& moments) const;
  [[nodiscard]] static Steps steps_of(const Suspects& suspects);
  [[nodiscard]] double mean_over_places(const Moments& moments, const Suspects& suspects) const;
  [[nodiscard]] double errors_of(const Moments& moments, const CodeStatistics::Pattern& pattern,
                                 std::size_t first, std::size_t step) const;
  [[nodiscard]] float tail_level(std::uint64_t tail) const;

  const EqualisedLane& lane_;
  const CodeStatistics& code_;
  float noise_variance_;
  float jitter_variance_;
  float tail_deviation_;  // rms, of what bits long gone add
  // What each byte of them adds, for a main bit of 1.
  std::array<std::array<float, 256>, kTailBytes> tail_;
};

}  // namespace weft::phy

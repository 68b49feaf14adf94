// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/analytic_eye.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

#include "phy/channel/code_statistics.h"
#include "phy/channel/normal.h"

namespace weft::phy {
namespace {

// Places of a sine at which it is looked at, each as probable: those of Chebyshev and Gauss.
constexpr std::size_t kSinePlaces = 4;
// Deviations beyond which an error is no matter: one bit in 10^15 and less.
constexpr double kBeyondDoubt = 8;
// Deviations of the tail that no data brings about.
constexpr double kMostTail = 6;
// Where errors are that frequent, a part of the places tells how frequent.
constexpr double kRoughIsEnough = 1e-3;
constexpr std::size_t kRoughStep = 8;
// Noise of none at all would make a step of the normal distribution.
constexpr double kLeastDeviationMv = 1e-9;

// A cursor around a place, to the second order, which is what random jitter makes of it: the level
// that is its mean, and how steeply it changes with the place.
struct Cursor {
  double level = 0;
  double slope = 0;
};

Cursor cursor_at(const EqualisedLane& lane, int cursor, double offset) {
  const double before = lane.at(cursor, offset - 1);
  const double here = lane.at(cursor, offset);
  const double after = lane.at(cursor, offset + 1);
  const double variance = lane.random_jitter_samples * lane.random_jitter_samples;
  return {.level = here + (before + after - 2 * here) / 2 * variance - lane.feedback(cursor),
          .slope = (after - before) / 2};
}

// Per half of the near cursors, what each pattern of it adds: to a bit, and to its slope.
struct HalfSums {
  std::array<double, kNearHalfPatterns> level;
  std::array<double, kNearHalfPatterns> slope;
};

HalfSums sums_of_half(const EqualisedLane& lane, std::size_t half, double offset) {
  HalfSums sums;
  sums.level[0] = 0;
  sums.slope[0] = 0;
  std::array<Cursor, kNearHalf> cursors;
  for (std::size_t place = 0; place < kNearHalf; ++place) {
    cursors[place] = cursor_at(lane, near_cursor(half, place), offset);
    sums.level[0] += cursors[place].level;
    sums.slope[0] += cursors[place].slope;
  }
  for (std::size_t pattern = 1; pattern < kNearHalfPatterns; ++pattern) {
    const auto place = static_cast<std::size_t>(std::countr_zero(pattern));
    const std::size_t without = pattern & (pattern - 1);
    sums.level[pattern] = sums.level[without] - 2 * cursors[place].level;
    sums.slope[pattern] = sums.slope[without] - 2 * cursors[place].slope;
  }
  return sums;
}

// What bits long gone add: a byte of them at a time.
class TailOfPulse {
 public:
  explicit TailOfPulse(const EqualisedLane& lane) {
    std::array<double, 8 * kBytes> cursors{};
    for (std::size_t i = 0; i < kTailCursors; ++i)
      cursors[i] = lane.sample(kNearBehind + 1 + static_cast<int>(i), 0);
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      const double* const of_byte = &cursors[8 * byte];
      sums_[byte][0] = std::accumulate(of_byte, of_byte + 8, 0.0);
      for (std::size_t value = 1; value < 256; ++value) {
        sums_[byte][value] =
            sums_[byte][value & (value - 1)] - 2 * of_byte[std::countr_zero(value)];
      }
    }
  }
  // Of a tail of CodeStatistics::Pattern, for a main bit of 1.
  [[nodiscard]] double level(std::uint64_t tail) const {
    double sum = 0;
    for (std::size_t byte = 0; byte < kBytes; ++byte)
      sum += sums_[byte][tail >> (8 * byte) & 0xFF];
    return sum;
  }

 private:
  static constexpr std::size_t kBytes = (kTailCursors + 7) / 8;

  std::array<std::array<double, 256>, kBytes> sums_;
};

// How large the tail is, rms, by what bits so far apart have in common.
double tail_deviation(const EqualisedLane& lane, const CodeStatistics& code) {
  std::array<double, kTailCursors> cursors;
  for (std::size_t i = 0; i < kTailCursors; ++i)
    cursors[i] = lane.sample(kNearBehind + 1 + static_cast<int>(i), 0);
  double square = 0;
  for (std::size_t distance = 0; distance < kTailCursors; ++distance) {
    const double products = std::inner_product(cursors.begin() + static_cast<int>(distance),
                                               cursors.end(), cursors.begin(), 0.0);
    square += (distance == 0 ? 1 : 2) * products * code.correlation(distance);
  }
  return std::sqrt(std::max(0.0, square));
}

// All that is the same wherever a lane is sampled.
class ErrorRates {
 public:
  explicit ErrorRates(const EqualisedLane& lane)
      : lane_(lane),
        code_(CodeStatistics::idle()),
        tail_(lane),
        most_tail_(kMostTail * tail_deviation(lane, code_)) {}

  [[nodiscard]] double at(double offset, double threshold_mv) const {
    std::array<Moment, kSinePlaces> moments;
    const std::size_t count = lane_.sinusoidal_jitter_samples == 0 ? 1 : kSinePlaces;
    for (std::size_t i = 0; i < count; ++i) {
      const double angle =
          std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      moments[i] = moment(offset + lane_.sinusoidal_jitter_samples * std::cos(angle), threshold_mv);
    }
    const std::span<const Moment> all(moments.data(), count);
    const double roughly = mean_over_places(all, kRoughStep);
    return roughly >= kRoughIsEnough ? roughly : mean_over_places(all, 1);
  }

 private:
  // One place of the sinusoidal jitter.
  struct Moment {
    double level = 0;
    double slope = 0;
    HalfSums first;
    HalfSums second;
  };

  [[nodiscard]] Moment moment(double offset, double threshold_mv) const {
    const Cursor main = cursor_at(lane_, 0, offset);
    return {.level = main.level - threshold_mv,
            .slope = main.slope,
            .first = sums_of_half(lane_, 0, offset),
            .second = sums_of_half(lane_, 1, offset)};
  }

  // Over every `step`th place of the code's period, pattern by pattern.
  [[nodiscard]] double mean_over_places(std::span<const Moment> moments, std::size_t step) const {
    const double jitter_variance = lane_.random_jitter_samples * lane_.random_jitter_samples;
    const double noise_variance =
        std::max(lane_.noise_mv * lane_.noise_mv, kLeastDeviationMv * kLeastDeviationMv);
    const NormalTail& beyond = NormalTail::table();
    double errors = 0;
    for (const CodeStatistics::Pattern& pattern : code_.patterns()) {
      double of_pattern = 0;
      for (const Moment& moment : moments) {
        const double left =
            moment.level + moment.first.level[pattern.first] + moment.second.level[pattern.second];
        const double steep =
            moment.slope + moment.first.slope[pattern.first] + moment.second.slope[pattern.second];
        const double variance = noise_variance + steep * steep * jitter_variance;
        const double surely = left - most_tail_;
        if (surely > 0 && surely * surely > kBeyondDoubt * kBeyondDoubt * variance) continue;
        const double scale = 1 / std::sqrt(variance);
        for (std::size_t i = 0; i < pattern.tails.size(); i += step)
          of_pattern += beyond((left + tail_.level(pattern.tails[i])) * scale);
      }
      const std::size_t places = pattern.tails.size();
      const std::size_t seen = (places + step - 1) / step;
      errors += of_pattern * static_cast<double>(places) / static_cast<double>(seen);
    }
    return errors / static_cast<double>(code_.places() * moments.size());
  }

  const EqualisedLane& lane_;
  const CodeStatistics& code_;
  TailOfPulse tail_;
  double most_tail_;
};

// The largest x of [0, most] for which `good` holds, which holds at 0 and from somewhere on not.
template <class Predicate>
double last_good(double most, Predicate good) {
  constexpr int kHalvings = 12;
  double low = 0, high = most;
  if (good(most)) return most;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (good(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double bit_error_rate(const EqualisedLane& lane, double offset, double threshold_mv) {
  return ErrorRates(lane).at(offset, threshold_mv);
}

double symbol_error_rate(double bit_error_rate) {
  return -std::expm1(10 * std::log1p(-std::min(bit_error_rate, 1 - 1e-16)));
}

EyeOpening eye_opening(const EqualisedLane& lane, double target) {
  const ErrorRates rates(lane);
  const auto good = [&](double offset, double threshold_mv) {
    return rates.at(offset, threshold_mv) <= target;
  };
  if (!good(0, 0)) return {};
  constexpr double kHalfBit = static_cast<double>(kSamplesInBit) / 2;
  return {.height_mv = 2 * last_good(std::abs(lane.sample(0, 0)) * 4,
                                     [&](double mv) { return good(0, mv); }),
          .width_bits = (last_good(kHalfBit, [&](double offset) { return good(-offset, 0); }) +
                         last_good(kHalfBit, [&](double offset) { return good(offset, 0); })) /
                        static_cast<double>(kSamplesInBit)};
}

double peak_distortion_mv(const EqualisedLane& lane) {
  double left = lane.sample(0, 0);
  for (int n = -kNearBefore; n < static_cast<int>(kPulseBits) - kNearBefore; ++n) {
    if (n != 0) left -= std::abs(lane.sample(n, 0) - lane.feedback(n));
  }
  return left;
}

}  // namespace weft::phy

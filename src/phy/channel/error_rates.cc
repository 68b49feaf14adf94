// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/error_rates.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "phy/channel/normal.h"

namespace weft::phy {
namespace {

// Deviations beyond which an error is no matter: one bit in 10^15 and less.
constexpr float kBeyondDoubt = 8;
// Deviations of the tail that hardly any data brings about.
constexpr float kMostTail = 3;
// About so many places are looked at, where there are more.
constexpr float kEnoughPlaces = 512;
// Patterns that bring no more than this part of the errors about are left out, all together.
constexpr float kNegligible = 2e-3F;
// At least one place of so many is, in any pattern that is not left out.
constexpr float kLargestStep = 16;
// Classes of patterns in a square of deviations of 1.
constexpr float kClassesInOne = 64 / (kBeyondDoubt * kBeyondDoubt);
// Noise of none at all would make a step of the normal distribution.
constexpr double kLeastDeviationMv = 1e-9;

// The tail's cursors, and zeros to fill bytes of bits.
constexpr std::size_t kTailPlaces = (kTailCursors + 7) / 8 * 8;
using Tail = std::array<float, kTailPlaces>;

Tail tail_of(const EqualisedLane& lane) {
  Tail cursors{};
  for (std::size_t i = 0; i < kTailCursors; ++i)
    cursors[i] = static_cast<float>(lane.sample(kNearBehind + 1 + static_cast<int>(i), 0));
  return cursors;
}

// How large the tail is, rms, by what bits so far apart have in common.
float deviation_of(const Tail& cursors, const CodeStatistics& code) {
  std::array<float, 2 * kTailPlaces> padded{};
  std::ranges::copy(cursors, padded.begin());
  std::array<float, kTailPlaces> products{};  // by distance
  for (std::size_t i = 0; i < kTailPlaces; ++i) {
    for (std::size_t distance = 0; distance < kTailPlaces; ++distance)
      products[distance] += cursors[i] * padded[i + distance];
  }
  double square = -products[0];
  for (std::size_t distance = 0; distance < kTailPlaces; ++distance)
    square += 2 * products[distance] * code.correlation(distance);
  return static_cast<float>(std::sqrt(std::max(0.0, square)));
}

// What each value of as many bits adds of these cursors, each of them less twice where its bit is
// set.
template <std::size_t kBits>
std::array<float, std::size_t{1} << kBits> sums_of_patterns(std::span<const float, kBits> cursors) {
  constexpr std::size_t kLow = kBits / 2, kHigh = kBits - kLow;
  std::array<float, std::size_t{1} << kBits> sums;
  if constexpr (kBits == 1) {
    sums = {cursors[0], -cursors[0]};
  } else {
    const auto low = sums_of_patterns<kLow>(cursors.template first<kLow>());
    const auto high = sums_of_patterns<kHigh>(cursors.template last<kHigh>());
    for (std::size_t i = 0; i < high.size(); ++i) {
      for (std::size_t j = 0; j < low.size(); ++j)
        sums[i * low.size() + j] = high[i] + low[j];
    }
  }
  return sums;
}

// What the six samples around a place count in a cursor there, to the second order, which is what
// random jitter makes of it: in the level that is its mean, and in how steeply that changes.
struct CursorWeights {
  explicit CursorWeights(double offset, double jitter_variance) {
    const double floor = std::floor(offset);
    first = static_cast<std::ptrdiff_t>(floor) - 2;
    const std::array<double, 4> here = interpolation(offset - floor);
    for (std::size_t i = 0; i < here.size(); ++i) {
      level[i] += here[i] * jitter_variance / 2;
      level[i + 1] += here[i] * (1 - jitter_variance);
      level[i + 2] += here[i] * jitter_variance / 2;
      slope[i] -= here[i] / 2;
      slope[i + 2] += here[i] / 2;
    }
  }

  std::ptrdiff_t first;  // sample
  std::array<double, 6> level{};
  std::array<double, 6> slope{};
};

struct Cursor {
  float level = 0;
  float slope = 0;
};

Cursor cursor_at(const EqualisedLane& lane, int cursor, const CursorWeights& weights) {
  double level = -lane.feedback(cursor), slope = 0;
  for (std::size_t i = 0; i < weights.level.size(); ++i) {
    const double sample = lane.sample(cursor, weights.first + static_cast<std::ptrdiff_t>(i));
    level += weights.level[i] * sample;
    slope += weights.slope[i] * sample;
  }
  return {.level = static_cast<float>(level), .slope = static_cast<float>(slope)};
}

HalfSums sums_of_half(const EqualisedLane& lane, std::size_t half, const CursorWeights& weights) {
  std::array<float, kNearHalf> levels, slopes;
  for (std::size_t place = 0; place < kNearHalf; ++place) {
    const Cursor cursor = cursor_at(lane, near_cursor(half, place), weights);
    levels[place] = cursor.level;
    slopes[place] = cursor.slope;
  }
  return {.level = sums_of_patterns<kNearHalf>(levels),
          .slope = sums_of_patterns<kNearHalf>(slopes)};
}

}  // namespace

ErrorRates::ErrorRates(const EqualisedLane& lane)
    : lane_(lane),
      code_(CodeStatistics::idle()),
      noise_variance_(static_cast<float>(
          std::max(lane.noise_mv * lane.noise_mv, kLeastDeviationMv * kLeastDeviationMv))),
      jitter_variance_(
          static_cast<float>(lane.random_jitter_samples * lane.random_jitter_samples)) {
  const Tail cursors = tail_of(lane);
  tail_deviation_ = deviation_of(cursors, code_);
  for (std::size_t byte = 0; byte < kTailBytes; ++byte)
    tail_[byte] = sums_of_patterns<8>(std::span(cursors).subspan(8 * byte).first<8>());
}

double ErrorRates::at(double offset, double threshold_mv) const {
  Moments moments;
  for (std::size_t i = 0; i < kSinePlaces; ++i) {
    const double angle = std::numbers::pi * (static_cast<double>(i) + 0.5) / kSinePlaces;
    moments[i] = moment(offset + lane_.sinusoidal_jitter_samples * std::cos(angle), threshold_mv);
  }
  return mean_over_places(moments, suspects(moments));
}

ErrorRates::Moment ErrorRates::moment(double offset, double threshold_mv) const {
  const CursorWeights weights(offset, jitter_variance_);
  const Cursor main = cursor_at(lane_, 0, weights);
  return {.level = main.level - static_cast<float>(threshold_mv),
          .slope = main.slope,
          .first = sums_of_half(lane_, 0, weights),
          .second = sums_of_half(lane_, 1, weights)};
}

// Both of what it knows is too few: a normal distribution of the tail has no end, and hardly any
// data brings the largest tail about.
ErrorRates::Row ErrorRates::deviations(const Moment& moment, std::size_t first) const {
  const float level = moment.level + moment.first.level[first];
  const float slope = moment.slope + moment.first.slope[first];
  const float tail_variance = tail_deviation_ * tail_deviation_;
  const float most_tail = kMostTail * tail_deviation_;
  Row squares;
  for (std::size_t second = 0; second < squares.size(); ++second) {
    const float left = level + moment.second.level[second];
    const float steep = slope + moment.second.slope[second];
    const float surely = left - most_tail;
    const float variance = noise_variance_ + steep * steep * jitter_variance_;
    const float usually = left * std::abs(left) / (variance + tail_variance);
    squares[second] = std::max(usually, surely * std::abs(surely) / variance);
  }
  return squares;
}

ErrorRates::Suspects ErrorRates::suspects(const Moments& moments) const {
  Suspects all;
  for (std::size_t first = 0; first < kNearHalfPatterns; ++first) {
    // One end of the sine is the worst place of it, or next to it.
    const Row one = deviations(moments.front(), first);
    const Row other = deviations(moments.back(), first);
    for (const CodeStatistics::Pattern& pattern : code_.patterns(first)) {
      const float square = std::min(one[pattern.second], other[pattern.second]);
      if (square >= kBeyondDoubt * kBeyondDoubt) continue;
      const auto in_class = static_cast<std::uint8_t>(std::max(square, 0.0F) * kClassesInOne);
      all.places[in_class] += pattern.tails.size();
      all.patterns[all.count++] = {&pattern, in_class};
    }
  }
  return all;
}

// As many places of each class are looked at as it has a part in all errors.
ErrorRates::Steps ErrorRates::steps_of(const Suspects& suspects) {
  std::array<float, kClasses> rate, errors;
  for (std::size_t i = 0; i < kClasses; ++i) {
    rate[i] = NormalTail::table()(std::sqrt((static_cast<float>(i) + 0.5F) / kClassesInOne));
    errors[i] = rate[i] * static_cast<float>(suspects.places[i]);
  }
  const float total = std::accumulate(errors.begin(), errors.end(), 0.0F);
  float negligible = kNegligible * total;
  std::size_t end = kClasses;
  while (end > 0 && errors[end - 1] <= negligible)
    negligible -= errors[--end];
  const std::size_t places = std::accumulate(
      suspects.places.begin(), suspects.places.begin() + static_cast<int>(end), std::size_t{0});
  const float largest = std::clamp(static_cast<float>(places) / kEnoughPlaces, 1.0F, kLargestStep);
  Steps steps{};
  for (std::size_t i = 0; i < end; ++i) {
    const float step = total / (rate[i] * kEnoughPlaces);
    steps[i] = static_cast<std::size_t>(std::clamp(step, 1.0F, largest));
  }
  return steps;
}

float ErrorRates::tail_level(std::uint64_t tail) const {
  float sum = 0;
  for (std::size_t byte = 0; byte < kTailBytes; ++byte)
    sum += tail_[byte][tail >> (8 * byte) & 0xFF];
  return sum;
}

double ErrorRates::mean_over_places(const Moments& moments, const Suspects& suspects) const {
  if (suspects.count == 0) return 0;
  const Steps steps = steps_of(suspects);
  double errors = 0;
  for (std::size_t i = 0; i < suspects.count; ++i) {
    const auto [pattern, in_class] = suspects.patterns[i];
    const std::size_t step = steps[in_class];
    // Each pattern begins at another place, so that none of a step is preferred.
    if (step != 0) errors += errors_of(moments, *pattern, i % step, step);
  }
  return errors / static_cast<double>(code_.places() * kSinePlaces);
}

// Of all places of a pattern, by every `step`th.
double ErrorRates::errors_of(const Moments& moments, const CodeStatistics::Pattern& pattern,
                             std::size_t first, std::size_t step) const {
  static_assert(kSinePlaces == sizeof(Four) / sizeof(float));
  const NormalTail& beyond = NormalTail::table();
  Four left, scale;
  for (std::size_t i = 0; i < kSinePlaces; ++i) {
    const Moment& moment = moments[i];
    left[i] =
        moment.level + moment.first.level[pattern.first] + moment.second.level[pattern.second];
    const float steep =
        moment.slope + moment.first.slope[pattern.first] + moment.second.slope[pattern.second];
    scale[i] = 1 / std::sqrt(noise_variance_ + steep * steep * jitter_variance_);
  }
  Four errors{};
  const std::size_t places = pattern.tails.size();
  std::size_t seen = 0;
  for (std::size_t place = first % places; place < places; place += step, ++seen)
    errors += beyond((left + tail_level(pattern.tails[place])) * scale);
  const float sum = (errors[0] + errors[1]) + (errors[2] + errors[3]);
  return double{sum} * static_cast<double>(places) / static_cast<double>(seen);
}

}  // namespace weft::phy

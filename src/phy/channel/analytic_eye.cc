// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/analytic_eye.h"

#include <algorithm>
#include <cmath>

#include "phy/channel/code_statistics.h"
#include "phy/channel/error_rates.h"

namespace weft::phy {
namespace {

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

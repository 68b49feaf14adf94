// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/normal.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace weft::phy {
namespace {

// Where the lowest layer of a ziggurat of 128 ends, and the area of each (Marsaglia and Tsang).
constexpr double kZigguratEnd = 3.442619855899;
constexpr double kZigguratArea = 9.91256303526217e-3;
// Successes from which on a normal distribution stands for the exact one.
constexpr double kManySuccesses = 50;

double bell(double x) {
  return std::exp(-x * x / 2);
}

}  // namespace

NormalTail::NormalTail() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const double x = static_cast<double>(i) / kStepsInOne - kEnd;
    values_[i] = x < kEnd ? static_cast<float>(std::erfc(x / std::numbers::sqrt2) / 2) : 0;
  }
}

const NormalTail& NormalTail::table() {
  static const NormalTail table;
  return table;
}

NormalDraws::Layers::Layers() {
  edge[0] = kZigguratArea / bell(kZigguratEnd);
  edge[1] = kZigguratEnd;
  for (std::size_t i = 2; i < kLayers; ++i)
    edge[i] = std::sqrt(-2 * std::log(kZigguratArea / edge[i - 1] + bell(edge[i - 1])));
  edge[kLayers] = 0;
  for (std::size_t i = 0; i <= kLayers; ++i)
    height[i] = bell(edge[i]);
}

const NormalDraws::Layers& NormalDraws::layers() {
  static const Layers layers;
  return layers;
}

double NormalDraws::beyond_edge(std::size_t layer, double x) {
  for (;;) {
    if (layer == 0) {
      // The tail: Marsaglia's method for it.
      for (;;) {
        const double a = -std::log(1 - uniform(random_)) / kZigguratEnd;
        const double b = -std::log(1 - uniform(random_));
        if (2 * b >= a * a) return kZigguratEnd + a;
      }
    }
    const double low = layers_->height[layer];
    const double high = layers_->height[layer + 1];
    if (low + uniform(random_) * (high - low) < bell(x)) return x;
    layer = random_.below(kLayers);
    x = uniform(random_) * layers_->edge[layer];
    if (x < layers_->edge[layer + 1]) return x;
  }
}

std::uint64_t draw_successes(Random& random, double trials, double probability) {
  assert(trials >= 0 && probability >= 0 && probability <= 1);
  const double mean = trials * probability;
  if (mean >= kManySuccesses) {
    NormalDraws draws(random.fork());
    const double drawn = mean + std::sqrt(mean * (1 - probability)) * draws.next();
    return static_cast<std::uint64_t>(std::clamp(std::round(drawn), 0.0, trials));
  }
  // Few successes among many trials: Poisson, by the waits between them.
  std::uint64_t successes = 0;
  for (double waited = -std::log(1 - uniform(random)); waited < mean;
       waited -= std::log(1 - uniform(random))) {
    ++successes;
  }
  return std::min(successes, static_cast<std::uint64_t>(trials));
}

}  // namespace weft::phy

// SPDX-License-Identifier: Apache-2.0
// The normal distribution: its tail, and numbers drawn from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/random.h"

namespace weft::phy {

// Uniform in [0, 1).
[[nodiscard]] inline double uniform(Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

// The probability of more than x standard deviations above the mean: from a table, within 0.2% up
// to x = 12, and 0 beyond. A sweep asks for it millions of times.
class NormalTail {
 public:
  static const NormalTail& table();

  [[nodiscard]] double operator()(double x) const {
    const double magnitude = x < 0 ? -x : x;
    if (!(magnitude < kEnd)) return x < 0 ? 1 : 0;
    const double place = magnitude * kStepsInOne;
    const auto step = static_cast<std::size_t>(place);
    const double above =
        values_[step] + (place - static_cast<double>(step)) * (values_[step + 1] - values_[step]);
    return x < 0 ? 1 - above : above;
  }

 private:
  static constexpr int kEnd = 12;
  static constexpr int kStepsInOne = 128;
  NormalTail();

  std::array<double, kEnd * kStepsInOne + 1> values_;
};

// Draws of mean 0 and deviation 1 by the ziggurat of Marsaglia and Tsang ("The Ziggurat Method for
// Generating Random Variables", J. Stat. Softw. 5, 2000), which is exact in the tails too, where
// bit errors come from.
class NormalDraws {
 public:
  explicit NormalDraws(Random random) : layers_(&layers()), random_(random) {}

  double next() {
    const std::uint64_t bits = random_.next();
    const std::size_t layer = bits % kLayers;
    const double x = static_cast<double>(bits >> 11) * 0x1p-53 * layers_->edge[layer];
    const double drawn = x < layers_->edge[layer + 1] ? x : beyond_edge(layer, x);
    // Without a branch, which would be foreseen half the time.
    return drawn * (1 - static_cast<double>((bits / kLayers & 1) * 2));
  }

 private:
  static constexpr std::size_t kLayers = 128;
  struct Layers {
    Layers();
    std::array<double, kLayers + 1> edge;    // falling; the first stands for the tail's area
    std::array<double, kLayers + 1> height;  // of the density there
  };
  static const Layers& layers();
  double beyond_edge(std::size_t layer, double x);

  const Layers* layers_;
  Random random_;
};

// How many of `trials` independent trials of this probability succeed. Where many do, their number
// is drawn from the normal distribution.
[[nodiscard]] std::uint64_t draw_successes(Random& random, double trials, double probability);

}  // namespace weft::phy

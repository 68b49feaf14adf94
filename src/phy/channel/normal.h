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

// Four numbers at a time, which any processor we know has an instruction for.
using Four = float __attribute__((vector_size(16)));

// The probability of more than x standard deviations above the mean: from a table, within 0.2% up
// to x = 12, and 0 beyond. A sweep asks for it millions of times.
class NormalTail {
 public:
  static const NormalTail& table();

  [[nodiscard]] float operator()(float x) const { return at(place_of(Four{} + x))[0]; }
  // Of four.
  [[nodiscard]] Four operator()(Four x) const { return at(place_of(x)); }

 private:
  static constexpr int kEnd = 12;
  static constexpr int kStepsInOne = 128;
  using FourSteps = std::int32_t __attribute__((vector_size(16)));
  NormalTail();

  // In such an order that what is no number has a place too.
  static Four place_of(Four x) {
    const Four end = Four{} + kEnd;
    x = x > -end ? x : -end;
    return ((x < end ? x : end) + end) * kStepsInOne;
  }
  [[nodiscard]] Four at(Four place) const {
    const auto step = __builtin_convertvector(place, FourSteps);
    const Four part = place - __builtin_convertvector(step, Four);
    const auto value = [&](int i) { return &values_[static_cast<std::size_t>(step[i])]; };
    const Four low{value(0)[0], value(1)[0], value(2)[0], value(3)[0]};
    const Four high{value(0)[1], value(1)[1], value(2)[1], value(3)[1]};
    return low + part * (high - low);
  }

  std::array<float, 2 * kEnd * kStepsInOne + 2> values_;  // from -kEnd on
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

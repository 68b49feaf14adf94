// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include "base/entropy.h"

namespace weft {

// A reproducible source of numbers: the same seed gives the same sequence on every machine and
// compiler, which std::uniform_int_distribution does not promise. SplitMix64 (Steele, Lea, Flood:
// "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), `bound` at least 1; the bias of the remainder is far below what a test
  // can see.
  std::uint64_t below(std::uint64_t bound) {
    assert(bound >= 1);
    return next() % bound;
  }
  // Uniform in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    assert(low <= high);
    return low + below(high - low + 1);
  }
  // True with `probability`, from 0 to 1.
  bool chance(double probability) {
    assert(probability >= 0 && probability <= 1);
    return static_cast<double>(next() >> 11) < probability * 0x1p53;
  }
  // A source of its own that this one determines, so that drawing more here changes nothing there.
  Random fork() { return Random(next()); }

 private:
  std::uint64_t state_;
};

class SeededEntropy final : public Entropy {
 public:
  explicit SeededEntropy(Random random) : random_(random) {}
  std::uint64_t draw() override { return random_.next(); }

 private:
  Random random_;
};

}  // namespace weft

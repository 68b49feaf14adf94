// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/entropy.h"

namespace weft::hca::test {

// Numbers that look random and are the same in every run.
class CountingEntropy final : public Entropy {
 public:
  std::uint64_t draw() override {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;  // splitmix64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_ = 1;
};

}  // namespace weft::hca::test

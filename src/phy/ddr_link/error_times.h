// SPDX-License-Identifier: Apache-2.0
// When symbols of a line are wrong: at random, each by itself, and yet the same for the same seed
// however often and whenever that is asked. So a line on which nothing happens need not be looked
// at, and its errors are there when somebody asks.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::phy {

class ErrorTimes {
 public:
  // None ever.
  ErrorTimes() = default;
  // Of so many symbols in a second each is wrong with `probability`, from 0 to 1.
  ErrorTimes(double symbols_per_s, double probability, std::uint64_t seed)
      : symbols_per_s_(symbols_per_s), probability_(probability), seed_(seed) {}

  // How many in the time from 0 up to `end`, without that moment itself. `end` is not negative.
  [[nodiscard]] std::uint64_t before(Duration end) const;
  // On average.
  [[nodiscard]] double per_second() const { return symbols_per_s_ * probability_; }

 private:
  // A piece of time: the `index`-th of those of 2^bits nanoseconds, with what it has of errors.
  struct Piece {
    std::uint64_t index = 0;
    unsigned bits = 0;
    std::uint64_t before = 0;  // it
    std::uint64_t errors = 0;  // in it
  };

  [[nodiscard]] Piece largest(std::uint64_t time) const;
  void narrow(Piece& piece, std::uint64_t time, unsigned bits) const;

  double symbols_per_s_ = 0;
  double probability_ = 0;
  std::uint64_t seed_ = 0;
  // The last that was asked about: most questions are about the same, and nothing is in most.
  mutable Piece last_;
  mutable bool has_last_ = false;
};

}  // namespace weft::phy

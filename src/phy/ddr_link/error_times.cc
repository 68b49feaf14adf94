// SPDX-License-Identifier: Apache-2.0
// The errors of a long time are drawn as one number; how many of them are in its first half is
// drawn then, and so on with that half in which the moment is that was asked about. Each draw is
// from a source of its own, given by the place of what it divides. The errors of all nanoseconds
// together so are what single draws for each would have been, and none has to be made but those on
// the way.
#include "phy/ddr_link/error_times.h"

#include <bit>
#include <cassert>

#include "base/random.h"
#include "phy/channel/normal.h"

namespace weft::phy {
namespace {

constexpr unsigned kLargestBits = 40;  // some 18 minutes
constexpr unsigned kKeptBits = 20;     // some millisecond

Random source(std::uint64_t seed, std::uint64_t index, unsigned bits) {
  Random place((index << 6 | bits) ^ seed);
  return place.fork();
}

// Of so many errors, each in either half alike.
std::uint64_t in_first_half(Random random, std::uint64_t errors) {
  constexpr std::uint64_t kMany = 1024;
  if (errors > kMany) return draw_successes(random, static_cast<double>(errors), 0.5);
  std::uint64_t first = 0;
  for (; errors >= 64; errors -= 64)
    first += static_cast<std::uint64_t>(std::popcount(random.next()));
  if (errors != 0) {
    first += static_cast<std::uint64_t>(std::popcount(random.next() >> (64 - errors)));
  }
  return first;
}

}  // namespace

ErrorTimes::Piece ErrorTimes::largest(std::uint64_t time) const {
  constexpr double kSeconds = static_cast<double>(std::uint64_t{1} << kLargestBits) * 1e-9;
  Piece piece{.index = 0, .bits = kLargestBits};
  for (;; ++piece.index) {
    Random random = source(seed_, piece.index, kLargestBits);
    piece.errors = draw_successes(random, symbols_per_s_ * kSeconds, probability_);
    if (piece.index == time >> kLargestBits) return piece;
    piece.before += piece.errors;
  }
}

// To the piece of 2^bits nanoseconds in which `time` is.
void ErrorTimes::narrow(Piece& piece, std::uint64_t time, unsigned bits) const {
  while (piece.bits > bits) {
    --piece.bits;
    const std::uint64_t first = in_first_half(source(seed_, piece.index, piece.bits), piece.errors);
    piece.index = time >> piece.bits;
    if ((piece.index & 1) == 0) {
      piece.errors = first;
    } else {
      piece.before += first;
      piece.errors -= first;
    }
  }
}

std::uint64_t ErrorTimes::before(Duration end) const {
  assert(end >= Duration::zero());
  if (probability_ == 0) return 0;
  const auto time = static_cast<std::uint64_t>(end.count());
  if (!has_last_ || last_.index != time >> kKeptBits) {
    last_ = largest(time);
    narrow(last_, time, kKeptBits);
    has_last_ = true;
  }
  if (last_.errors == 0) return last_.before;
  Piece piece = last_;
  narrow(piece, time, 0);
  return piece.before;
}

}  // namespace weft::phy

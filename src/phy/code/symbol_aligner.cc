// SPDX-License-Identifier: Apache-2.0
#include "phy/code/symbol_aligner.h"

#include <algorithm>
#include <bit>

namespace weft::phy {
namespace {

constexpr unsigned kCommaBits = 7;
constexpr unsigned kBitsAtOnce = 32;

// Bit i is set where bits i to i + 6 of the word are a comma: two equal bits and five others.
std::uint64_t comma_starts(std::uint64_t word) {
  const std::uint64_t two = word & word >> 1;
  const std::uint64_t five = (word & word >> 1 & word >> 2 & word >> 3 & word >> 4) >> 2;
  const std::uint64_t turned = ~word;
  const std::uint64_t no_two = turned & turned >> 1;
  const std::uint64_t no_five =
      (turned & turned >> 1 & turned >> 2 & turned >> 3 & turned >> 4) >> 2;
  return (no_two & five) | (two & no_five);
}

}  // namespace

void SymbolAligner::hunt() {
  aligned_ = false;
  suspect_ = 0;
}

void SymbolAligner::restart() {
  hunt();
  bits_ = 0;
  past_ = ahead_ = 0;
}

void SymbolAligner::set_inverted(bool inverted) {
  if (inverted == inverted_) return;
  inverted_ = inverted;
  bits_ = ~bits_;
}

void SymbolAligner::advance(unsigned bits) {
  bits_ >>= bits;
  ahead_ -= bits;
  past_ = std::min(past_ + bits, kBehind);
}

// A symbol begins at bit `start` of `bits_`.
void SymbolAligner::restart_at(unsigned start) {
  if (start >= kBehind) {
    advance(start - kBehind);
  } else {
    bits_ <<= kBehind - start;
    ahead_ += kBehind - start;
  }
  past_ = 0;  // what is before it has been looked at
}

// While hunting: forward to the first comma, or to where one may still be.
void SymbolAligner::find() {
  const unsigned first = kBehind - past_;
  const unsigned end = kBehind + ahead_;
  if (end - first < kCommaBits) return;
  const std::uint64_t places =
      ((std::uint64_t{1} << (end - kCommaBits + 1)) - 1) & ~((std::uint64_t{1} << first) - 1);
  const std::uint64_t starts = comma_starts(bits_) & places;
  if (starts == 0) {
    advance(ahead_);
    return;
  }
  restart_at(static_cast<unsigned>(std::countr_zero(starts)));
  aligned_ = true;
  suspect_ = 0;
}

// The commas that end in the next symbol. True if the symbol's start has been moved to one.
bool SymbolAligner::moved_by_comma() {
  const unsigned first = kBehind - past_;
  std::uint64_t starts = comma_starts(bits_) & 0x3FF & ~((std::uint64_t{1} << first) - 1);
  while (starts != 0) {
    const auto start = static_cast<unsigned>(std::countr_zero(starts));
    starts &= starts - 1;
    if (start == kBehind) {
      suspect_ = 0;
      continue;
    }
    ++misplaced_;
    const unsigned offset = (start + kSymbolBits - kBehind) % kSymbolBits;
    if (suspect_ != offset) {
      suspect_ = offset;
      continue;
    }
    restart_at(start);
    suspect_ = 0;
    ++slips_;
    return true;
  }
  return false;
}

void SymbolAligner::drain(std::vector<std::uint16_t>& out) {
  while (ahead_ >= kSymbolBits) {
    if (moved_by_comma()) continue;
    out.push_back(static_cast<std::uint16_t>(bits_ >> kBehind & 0x3FF));
    advance(kSymbolBits);
  }
}

void SymbolAligner::push(BitSpan bits, std::vector<std::uint16_t>& out) {
  for (std::size_t at = 0; at < bits.count;) {
    const auto size = static_cast<unsigned>(std::min<std::size_t>(kBitsAtOnce, bits.count - at));
    std::uint64_t word = bits.take(at, size);
    if (inverted_) word ^= (std::uint64_t{1} << size) - 1;
    const unsigned end = kBehind + ahead_;
    bits_ = (bits_ & ((std::uint64_t{1} << end) - 1)) | word << end;
    ahead_ += size;
    at += size;
    if (!aligned_) find();
    if (aligned_) drain(out);
  }
}

}  // namespace weft::phy

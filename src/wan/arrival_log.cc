// SPDX-License-Identifier: Apache-2.0
#include "wan/arrival_log.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weft::wan {

bool ArrivalLog::awaits(std::uint64_t number) const {
  return number >= next_ && number - next_ < kFrameWindow && !has(number);
}

void ArrivalLog::arrived(std::uint64_t number) {
  assert(awaits(number));
  bits_[number % kFrameWindow / 64] |= std::uint64_t{1} << (number % 64);
  end_ = std::max(end_, number + 1);
  advance();
}

void ArrivalLog::settle(std::uint64_t before) {
  if (before <= next_) return;
  if (before >= end_) {
    std::fill(bits_.begin(), bits_.end(), 0);
    next_ = end_ = before;
    return;
  }
  for (; next_ < before; ++next_)
    forget(next_);
  advance();
}

void ArrivalLog::advance() {
  for (; next_ < end_ && has(next_); ++next_)
    forget(next_);
  end_ = std::max(end_, next_);
}

std::uint64_t ArrivalLog::last(bool come, std::uint64_t from, std::uint64_t least) const {
  for (std::uint64_t at = from; at + 1 > least;) {
    const std::uint64_t word = bits_[at % kFrameWindow / 64];
    const std::uint64_t wanted = (come ? word : ~word) << (63 - at % 64);
    if (wanted != 0) {
      const auto skip = static_cast<std::uint64_t>(std::countl_zero(wanted));
      return at + 1 > least + skip ? at - skip : least - 1;
    }
    if (at < least + at % 64 + 1) break;
    at -= at % 64 + 1;
  }
  return least - 1;
}

std::size_t ArrivalLog::ranges(std::span<AcknowledgeItem::Range> out) const {
  std::size_t filled = 0;
  // next_ itself has not come, so each range ends above it.
  for (std::uint64_t at = end_; at > next_ + 1 && filled < out.size();) {
    const std::uint64_t top = last(true, at - 1, next_ + 1);
    if (top == next_) break;
    const std::uint64_t below = last(false, top, next_);
    out[filled++] = {.offset = static_cast<std::uint32_t>(below + 1 - next_),
                     .length = static_cast<std::uint32_t>(top - below)};
    at = below;
  }
  return filled;
}

}  // namespace weft::wan

// SPDX-License-Identifier: Apache-2.0
#include "wan/replay_window.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weft::wan {

// A window that begins within a word spans one more than size / 64 words.
ReplayWindow::ReplayWindow(std::size_t size)
    : size_(size), words_(std::bit_ceil((size + 63) / 64 + 1)), mask_(words_.size() - 1) {
  assert(size >= 1);
}

ReplayWindow::Verdict ReplayWindow::look(std::uint64_t sequence) const {
  if (!any_ || sequence > highest_) return Verdict::kNew;
  if (highest_ - sequence >= size_) return Verdict::kTooOld;
  return is_marked(sequence) ? Verdict::kReplayed : Verdict::kNew;
}

ReplayWindow::Verdict ReplayWindow::accept(std::uint64_t sequence) {
  const Verdict verdict = look(sequence);
  if (verdict != Verdict::kNew) return verdict;
  if (!any_ || sequence > highest_) advance(sequence);
  word_of(sequence) |= std::uint64_t{1} << (sequence % 64);
  return verdict;
}

// Clears the words that the window comes to cover: those behind the one of the highest number, once
// around at most.
void ReplayWindow::advance(std::uint64_t sequence) {
  if (any_) {
    const std::uint64_t steps =
        std::min<std::uint64_t>(sequence / 64 - highest_ / 64, words_.size());
    for (std::uint64_t step = 1; step <= steps; ++step)
      words_[(highest_ / 64 + step) & mask_] = 0;
  }
  any_ = true;
  highest_ = sequence;
}

}  // namespace weft::wan

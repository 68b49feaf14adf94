// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/ack_vector.h"

#include <algorithm>
#include <cassert>

namespace weft::wan::dccp {

void AckRecord::begin(Sequence first) {
  newest_ = first - 1;
  runs_.clear();
}

bool AckRecord::receive(Sequence sequence, bool marked) {
  const Arrival state = marked ? Arrival::kMarked : Arrival::kReceived;
  const std::int64_t ahead = sequence.after(newest_);
  if (ahead <= 0) return fill_in(static_cast<std::uint64_t>(-ahead), state);
  const auto missing = static_cast<std::uint64_t>(ahead - 1);
  if (missing != 0) pass(sequence - 1);
  if (!runs_.empty() && runs_.front().state == state) {
    ++runs_.front().count;
  } else {
    runs_.push_front({.state = state, .count = 1});
  }
  newest_ = sequence;
  while (runs_.size() > kMostRuns)
    runs_.pop_back();
  return true;
}

void AckRecord::pass(Sequence sequence) {
  const std::int64_t ahead = sequence.after(newest_);
  if (ahead <= 0) return;
  const auto missing = static_cast<std::uint64_t>(ahead);
  if (!runs_.empty() && runs_.front().state == Arrival::kMissing) {
    runs_.front().count += missing;
  } else {
    runs_.push_front({.state = Arrival::kMissing, .count = missing});
  }
  newest_ = sequence;
}

bool AckRecord::fill_in(std::uint64_t before_newest, Arrival state) {
  std::size_t at = 0;
  for (; at < runs_.size() && before_newest >= runs_[at].count; ++at)
    before_newest -= runs_[at].count;
  if (at == runs_.size() || runs_[at].state != Arrival::kMissing) return false;
  const std::uint64_t newer = before_newest;
  const std::uint64_t older = runs_[at].count - before_newest - 1;
  runs_[at] = {.state = state, .count = 1};
  if (older != 0) {
    runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(at + 1),
                 {.state = Arrival::kMissing, .count = older});
  }
  if (newer != 0) {
    runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(at),
                 {.state = Arrival::kMissing, .count = newer});
    ++at;
  }
  merge_around(at);
  while (runs_.size() > kMostRuns)
    runs_.pop_back();
  return true;
}

void AckRecord::merge_around(std::size_t at) {
  const auto join = [this](std::size_t first) {
    if (first + 1 >= runs_.size() || runs_[first].state != runs_[first + 1].state) return;
    runs_[first].count += runs_[first + 1].count;
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(first + 1));
  };
  join(at);
  if (at != 0) join(at - 1);
}

void AckRecord::told(Sequence sequence) {
  const std::int64_t kept = newest_.after(sequence);
  if (kept < 0) return;
  auto left = static_cast<std::uint64_t>(kept);
  std::size_t at = 0;
  for (; at < runs_.size() && left >= runs_[at].count; ++at)
    left -= runs_[at].count;
  if (at < runs_.size() && left != 0) runs_[at++].count = left;
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(std::min(at, runs_.size())), runs_.end());
}

std::size_t AckRecord::cells() const {
  std::size_t cells = 0;
  for (const Run& run : runs_)
    cells += (run.count + kMostOfCell - 1) / kMostOfCell;
  return cells;
}

std::size_t AckRecord::write(MutableBytes cells) const {
  std::size_t used = 0;
  for (const Run& run : runs_) {
    for (std::uint64_t left = run.count; left != 0;) {
      if (used == cells.size()) return used;
      const std::uint64_t count = std::min<std::uint64_t>(left, kMostOfCell);
      cells[used++] = static_cast<std::byte>(static_cast<unsigned>(run.state) << 6 | (count - 1));
      left -= count;
    }
  }
  return used;
}

}  // namespace weft::wan::dccp

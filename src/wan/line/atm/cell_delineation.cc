// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/cell_delineation.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace weft::wan::atm {

void CellDelineation::take(Bytes octets) {
  while (!octets.empty()) {
    if (state_ == DelineationState::kHunt) {
      octets = octets.subspan(hunt(octets));
      continue;
    }
    if (held_ == 0 && octets.size() >= kCellSize) {
      octets = octets.subspan(whole_cells(octets));
      continue;
    }
    const std::size_t size = std::min(kCellSize - held_, octets.size());
    std::ranges::copy(octets.first(size), cell_.begin() + static_cast<std::ptrdiff_t>(held_));
    held_ += size;
    octets = octets.subspan(size);
    if (held_ < kCellSize) return;
    held_ = 0;
    (void)whole_cells(cell_);
  }
}

// Octet by octet; the last kHeaderSize ones, at most, are in cell_. How many were looked at.
std::size_t CellDelineation::hunt(Bytes octets) {
  for (std::size_t at = 0; at < octets.size(); ++at) {
    cell_[held_++] = octets[at];
    if (held_ < kHeaderSize) continue;
    if (checks_right(cell_)) {
      state_ = DelineationState::kPresync;
      in_turn_ = 0;
      return at + 1;
    }
    std::copy(cell_.begin() + 1, cell_.begin() + kHeaderSize, cell_.begin());
    --held_;
    counters_.add_in_turn(CellCounter::kSkippedOctets);
  }
  return octets.size();
}

// At least one. How many octets of them are done with.
std::size_t CellDelineation::whole_cells(Bytes cells) {
  if (state_ == DelineationState::kSync) return sync_cells(cells);
  ++cell_times_;
  presync_cell(cells.first(kCellSize));
  return kCellSize;
}

// The first of these is the one that was found in HUNT, and is not counted as one of DELTA.
void CellDelineation::presync_cell(Bytes cell) {
  if (!checks_right(cell)) {
    lose(1);
    take(cell.subspan(1));  // where another one may begin
    return;
  }
  // Whoever is to understand the payload in SYNC has to have heard it before.
  if (scrambled_) descrambler_.descramble(cell.subspan(kHeaderSize), clear_);
  counters_.add_in_turn(CellCounter::kSkippedOctets, kCellSize);
  if (in_turn_++ < kDelta) return;
  state_ = DelineationState::kSync;
  in_turn_ = 0;
  may_correct_ = true;
  counters_.add_in_turn(CellCounter::kSyncs);
}

// A header that is as the one before is right where that one is.
std::size_t CellDelineation::sync_cells(Bytes cells) {
  if (!checks_right(cells)) {
    wrong_cell(cells.first(kCellSize));
    return kCellSize;
  }
  in_turn_ = 0;
  may_correct_ = true;
  const std::size_t most = std::min(cells.size() / kCellSize, kMostInRun);
  std::size_t count = 1;
  while (count < most &&
         std::memcmp(cells.data(), cells.data() + count * kCellSize, kHeaderSize) == 0) {
    ++count;
  }
  hand_on(cells.first(kHeaderSize), cells, count);
  return count * kCellSize;
}

void CellDelineation::wrong_cell(Bytes cell) {
  std::array<std::byte, kHeaderSize> header;
  std::copy_n(cell.begin(), kHeaderSize, header.begin());
  if (correct(header)) {
    counters_.add_in_turn(CellCounter::kCorrectedHeaders);
    hand_on(header, cell, 1);
  } else {
    ++cell_times_;
    counters_.add_in_turn(CellCounter::kDiscardedCells);
    if (scrambled_) descrambler_.descramble(cell.subspan(kHeaderSize), clear_);
  }
  if (++in_turn_ < kAlpha) return;
  counters_.add_in_turn(CellCounter::kSyncLosses);
  lose(0);
}

bool CellDelineation::correct(MutableBytes header) {
  const std::optional<unsigned> bit = may_correct_ ? single_wrong_bit(header) : std::nullopt;
  may_correct_ = false;
  if (!bit) return false;
  header[*bit / 8] ^= static_cast<std::byte>(0x80U >> *bit % 8);
  return true;
}

void CellDelineation::hand_on(Bytes header, Bytes cells, std::size_t count) {
  cell_times_ += count;
  CellRun run{.header = read_header(header), .first = cells.data() + kHeaderSize, .count = count};
  if (scrambled_) {
    for (std::size_t i = 0; i < count; ++i)
      descrambler_.descramble(run.payload(i), MutableBytes(clear_).subspan(i * kPayloadSize));
    run.first = clear_.data();
    run.stride = kPayloadSize;
  }
  switch (empty_kind(header)) {
    case EmptyCell::kIdle:
      counters_.add_in_turn(CellCounter::kIdleCells, count);
      return;
    case EmptyCell::kUnassigned:
      counters_.add_in_turn(CellCounter::kUnassignedCells, count);
      return;
    case EmptyCell::kNo:
      break;
  }
  counters_.add_in_turn(CellCounter::kUserCells, count);
  cells_.take_cells(run);
}

void CellDelineation::lose(std::size_t octets) {
  counters_.add_in_turn(CellCounter::kSkippedOctets, octets);
  state_ = DelineationState::kHunt;
  held_ = 0;
}

void CellDelineation::interrupted() {
  if (state_ == DelineationState::kSync) counters_.add_in_turn(CellCounter::kSyncLosses);
  lose(held_);
}

}  // namespace weft::wan::atm

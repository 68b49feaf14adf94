// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/cell_source.h"

#include <algorithm>
#include <cassert>

namespace weft::wan::atm {

void CellSource::fill(MutableBytes octets) {
  while (!octets.empty()) {
    if (sent_ == kCellSize && octets.size() >= kCellSize) {
      const std::size_t whole = octets.size() / kCellSize * kCellSize;
      put_cells(octets.first(whole));
      octets = octets.subspan(whole);
      continue;
    }
    if (sent_ == kCellSize) {
      put_cells(cell_);
      sent_ = 0;
    }
    const std::size_t size = std::min(kCellSize - sent_, octets.size());
    std::ranges::copy(Bytes(cell_).subspan(sent_, size), octets.begin());
    sent_ += size;
    octets = octets.subspan(size);
  }
}

void CellSource::put_cells(MutableBytes cells) {
  MutableBytes left = cells;
  for (CellFeed* const feed : feeds_) {
    if (left.empty()) break;
    left = left.subspan(feed->put_cells(left) * kCellSize);
  }
  for (; !left.empty(); left = left.subspan(kCellSize))
    std::ranges::copy(idle_cell(), left.begin());
  if (!scrambled_) return;
  for (; !cells.empty(); cells = cells.subspan(kCellSize))
    scrambler_.scramble(cells.subspan(kHeaderSize, kPayloadSize));
}

std::size_t PacketCells::put_cells(MutableBytes cells) {
  std::size_t count = 0;
  while (cells.size() >= (count + 1) * kCellSize) {
    if (segmenter_.left() == 0) {
      const Bytes packet = packets_.next();
      if (packet.empty()) break;
      assert(packet.size() <= kLongestPacket);
      segmenter_.begin(Bytes(head_).first(head_size_), packet);
    }
    count += segmenter_.put(cells.subspan(count * kCellSize));
  }
  return count;
}

}  // namespace weft::wan::atm

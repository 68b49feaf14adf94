// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/pcs_transmitter.h"

#include <algorithm>

#include "wan/line/octet_run.h"

namespace weft::wan {

void PcsTransmitter::fill(MutableBytes octets) {
  while (!octets.empty()) {
    if (taken_ < rest_.size()) {
      const std::size_t size = std::min(octets.size(), rest_.size() - taken_);
      std::copy_n(rest_.begin() + static_cast<std::ptrdiff_t>(taken_), size, octets.begin());
      taken_ += size;
      octets = octets.subspan(size);
    } else if (octets.size() >= kGroupOctets) {
      const std::size_t groups = std::min(octets.size() / kGroupOctets, kBatch / kGroupBlocks);
      make(octets.first(groups * kGroupOctets));
      octets = octets.subspan(groups * kGroupOctets);
    } else {
      make(rest_);
      taken_ = 0;
    }
  }
}

// Whole groups, at most a batch.
void PcsTransmitter::make(MutableBytes octets) {
  const std::size_t count = octets.size() / kGroupOctets * kGroupBlocks;
  const auto words = std::span(words_).first(count);
  const auto marks = std::span(marks_).first(count);
  source_.fill(words, marks);
  for (std::size_t i = 0; i < count;) {
    const bool in_frame = states_.state() == CodingState::kData;
    const Bytes rest = std::as_bytes(std::span(marks).subspan(i));
    const std::size_t run = in_frame ? octet_run(rest, std::byte{0}) : 0;
    if (run > 0) {
      std::ranges::fill(marks.subspan(i, run), Block::kData);
      i += run;
      continue;
    }
    const Block block = states_.next({words[i], marks[i]});
    words[i] = block.payload;
    marks[i] = block.header;
    ++i;
  }
  scrambler_.pack(words, marks, octets);
  if (order_ == BitOrder::kMostFirst) reverse_bits(octets, octets);
}

}  // namespace weft::wan

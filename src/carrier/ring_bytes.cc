// SPDX-License-Identifier: Apache-2.0
#include "carrier/ring_bytes.h"

#include <cstring>

namespace weft::carrier {

// In two pieces where it goes round.
std::size_t RingBytes::put(Bytes bytes) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(room(), bytes.size()));
  for (Bytes rest = bytes.first(count); !rest.empty();) {
    const MutableBytes there = place();
    const std::size_t piece = std::min(rest.size(), there.size());
    std::memcpy(there.data(), rest.data(), piece);
    wrote(piece);
    rest = rest.subspan(piece);
  }
  return count;
}

std::size_t RingBytes::take(MutableBytes out) {
  std::size_t count = 0;
  while (count < out.size() && (!has_come().empty() || has_more())) {
    const Bytes there = has_come();
    const std::size_t piece = std::min(out.size() - count, there.size());
    std::memcpy(out.data() + count, there.data(), piece);
    taken(piece);
    count += piece;
  }
  return count;
}

bool RingBytes::publish() {
  std::uint32_t news = 0;
  if (written_ != shown_written_) news |= kUntilWritten;
  if (read_ != shown_read_) news |= kUntilRead;
  if (news == 0) return false;
  shown_written_ = written_;
  shown_read_ = read_;
  ours_.written.store(written_);
  ours_.read.store(read_);
  return (theirs_.sleeps.load() & news) != 0;
}

bool RingBytes::sleep() {
  set_sleeps(sleeps_ | kUntilWritten);
  if (!has_more()) return true;
  look();
  return false;
}

}  // namespace weft::carrier

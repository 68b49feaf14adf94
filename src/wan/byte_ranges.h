// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::wan {

// Bytes of a packet, from the first to before the last.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Adds bytes to those that have come, in a list of ranges that do not touch each other.
inline void add_range(std::vector<ByteRange>& ranges, std::size_t begin, std::size_t end) {
  ByteRange added{begin, end};
  std::erase_if(ranges, [&](const ByteRange& range) {
    if (range.begin > added.end || range.end < added.begin) return false;
    added = {std::min(range.begin, added.begin), std::max(range.end, added.end)};
    return true;
  });
  ranges.push_back(added);
}

}  // namespace weft::wan

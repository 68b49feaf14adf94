// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lan/segments.h"

namespace weft::lan::test {

// One datagram of a frame, in one piece as the fabric would have it.
inline std::vector<std::byte> datagram_of(Bytes head, Bytes part) {
  std::vector<std::byte> out(head.size() + part.size());
  std::ranges::copy(part, std::ranges::copy(head, out.begin()).out);
  return out;
}

}  // namespace weft::lan::test

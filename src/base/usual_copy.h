// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/bytes.h"

namespace weft {

// Copies to where there is room, with as few instructions as there can be where there are `kUsual`
// bytes: of any other number the library copies. (Of a number that it only knows to be small, GCC
// makes a string instruction of memcpy, which takes ten times as long as the library.)
template <std::size_t kUsual>
void copy_usual(Bytes from, std::byte* to) {
  if (from.size() == kUsual) {
    std::memcpy(to, from.data(), kUsual);
  } else {
    std::copy(from.begin(), from.end(), to);
  }
}

}  // namespace weft

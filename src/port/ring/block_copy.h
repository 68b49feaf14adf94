// SPDX-License-Identifier: Apache-2.0
// Copies into blocks that another processor has read lately. Such memory has to be taken from its
// cache before it can be written to, which takes longer than to write; a processor looks ahead for
// that by itself only within a page, and only once it is in the midst of it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/bytes.h"
#include "base/prefetch.h"
#include "port/ring/shared_memory.h"

namespace weft::port::ring {

// So much is asked for ahead of what is written, bytes.
inline constexpr std::size_t kAskedAhead = 1024;

// `to`, of which so many bytes are used, is what is written to next.
inline void ask_for_block(const std::byte* to, std::size_t size) {
  for (std::size_t at = 0; at < std::min(size, kAskedAhead); at += kLine)
    prefetch_to_write(to + at);
}

// The front of `to` has been asked for, if there was time for that. Returns where it ends.
inline std::byte* copy_to_block(Bytes from, std::byte* to) {
  for (; from.size() > kAskedAhead; from = from.subspan(kAskedAhead)) {
    ask_for_block(to + kAskedAhead, from.size() - kAskedAhead);
    to = std::copy_n(from.begin(), kAskedAhead, to);
  }
  return std::copy(from.begin(), from.end(), to);
}

}  // namespace weft::port::ring

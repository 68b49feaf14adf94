// SPDX-License-Identifier: Apache-2.0
// Lists of settings, as people write them: "rate=10Gb/s,delay=50ms".
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace weft {

// Calls set(name, value), which returns an Expected<void>, for each of them in turn, and clear()
// for a word "none". The value of a word without '=' is empty. Errors: the first of set(), with the
// word before it; the rest of the list is not looked at.
template <class Set, class Clear>
Expected<void> for_each_setting(std::string_view list, Set&& set, Clear&& clear) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (word == "none") {
      clear();
      continue;
    }
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (const Expected<void> done = set(word.substr(0, equals), value); !done) {
      return fail(done.error().code, fmt::format("{}: {}", word, done.error().message));
    }
  }
  return {};
}

}  // namespace weft

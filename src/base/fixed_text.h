// SPDX-License-Identifier: Apache-2.0
// Text in a field of fixed size, as messages between processes of this machine have it: ended by a
// zero byte where it is shorter than its field.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace weft {

// The text's first kSize - 1 bytes, and a zero byte behind them.
template <std::size_t kSize>
void write_text(char (&field)[kSize], std::string_view text) {
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(field, text.data(), length);
  field[length] = '\0';
}

// What is in front of the first zero byte; the whole field where there is none.
template <std::size_t kSize>
[[nodiscard]] std::string_view text_in(const char (&field)[kSize]) {
  return {field, strnlen(field, kSize)};
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Pieces of text files that options stand in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::sm {

// Without blanks at either end.
[[nodiscard]] std::string_view trim(std::string_view text);
// Cuts off what comes before the first separator, and returns it; what comes after it stays.
// Without a separator everything is cut off.
[[nodiscard]] std::string_view cut(std::string_view& rest, char separator);
// A number as in C: 0x before hexadecimal digits, 0 before octal ones. Nothing: it is none.
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text);
// For errors: no longer than a line, printable, between quotation marks.
[[nodiscard]] std::string quoted(std::string_view text);

// "name = value", or a name alone.
struct OptionToken {
  std::string_view name;
  std::optional<std::string_view> value;
};
[[nodiscard]] OptionToken token_of(std::string_view text);

}  // namespace weft::sm

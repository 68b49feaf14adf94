// SPDX-License-Identifier: Apache-2.0
#include "sm/option_text.h"

#include <algorithm>
#include <charconv>

namespace weft::sm {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == rest.npos ? std::string_view{} : rest.substr(at + 1);
  return head;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.starts_with('0')) {
    base = 8;
  }
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown(text.substr(0, kMost));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + shown + "'";
}

OptionToken token_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) return {.name = trim(text), .value = std::nullopt};
  return {.name = trim(text.substr(0, equals)), .value = trim(text.substr(equals + 1))};
}

}  // namespace weft::sm

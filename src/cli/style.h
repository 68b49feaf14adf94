// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace weft::cli {

// Colour for people: only on a terminal, never with NO_COLOR set (no-color.org) or TERM=dumb.
class Style {
 public:
  static Style for_stream(std::FILE* stream);
  static Style plain() { return Style(false); }

  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return wrap("31", text); }
  [[nodiscard]] std::string green(std::string_view text) const { return wrap("32", text); }
  [[nodiscard]] std::string yellow(std::string_view text) const { return wrap("33", text); }

 private:
  explicit Style(bool colour) : colour_(colour) {}
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const;
  bool colour_;
};

}  // namespace weft::cli

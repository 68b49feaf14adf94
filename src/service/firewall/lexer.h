// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weft::service::firewall {

struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;  // in bytes, from 1
};

enum class TokenKind : std::uint8_t {
  word,     // a name, number or address
  text,     // between quotation marks, without them
  mark,     // { } , ; = != == < > <= >= @NAME's @ and $NAME's $
  newline,  // of several in a row, one
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // in the file
  Place place{};
  [[nodiscard]] bool is(std::string_view wanted) const {
    return (kind == TokenKind::word || kind == TokenKind::mark) && text == wanted;
  }
};

// invalid_argument, "NAME:LINE:COLUMN: MESSAGE".
tl::unexpected<Error> wrong_at(std::string_view name, Place place, std::string_view message);

// Cuts a rule file into tokens. "#" begins a comment, a backslash at the end of a line joins it
// with the next one.
class Lexer {
 public:
  // `name`: what errors call the file.
  Lexer(std::string_view text, std::string_view name) : rest_(text), name_(name) {}
  // invalid_argument: a character that no token begins with, or a text without end.
  Expected<Token> next();

 private:
  void advance(std::size_t bytes);
  void skip_blanks();
  Token take(TokenKind kind, std::size_t bytes);

  std::string_view rest_;
  std::string_view name_;
  Place place_{};
};

}  // namespace weft::service::firewall

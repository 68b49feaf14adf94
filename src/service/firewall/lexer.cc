// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace weft::service::firewall {
namespace {

bool in_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("_.:/-+").find(letter) != std::string_view::npos;
}

}  // namespace

tl::unexpected<Error> wrong_at(std::string_view name, Place place, std::string_view message) {
  return fail(std::errc::invalid_argument,
              fmt::format("{}:{}:{}: {}", name, place.line, place.column, message));
}

void Lexer::advance(std::size_t bytes) {
  for (const char letter : rest_.substr(0, bytes)) {
    ++place_.column;
    if (letter == '\n') place_ = {place_.line + 1, 1};
  }
  rest_.remove_prefix(bytes);
}

void Lexer::skip_blanks() {
  while (!rest_.empty()) {
    if (rest_.front() == '#') {
      advance(std::min(rest_.find('\n'), rest_.size()));
    } else if (rest_.starts_with("\\\n") || rest_.starts_with("\\\r\n")) {
      advance(rest_.find('\n') + 1);
    } else if (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r') {
      advance(1);
    } else {
      return;
    }
  }
}

Token Lexer::take(TokenKind kind, std::size_t bytes) {
  const Token token{kind, rest_.substr(0, bytes), place_};
  advance(bytes);
  return token;
}

Expected<Token> Lexer::next() {
  skip_blanks();
  if (rest_.empty()) return Token{TokenKind::end, {}, place_};
  if (rest_.front() == '\n') {
    Token token = take(TokenKind::newline, 1);
    for (skip_blanks(); rest_.starts_with('\n'); skip_blanks())
      advance(1);
    return token;
  }
  if (rest_.front() == '"') {
    const std::size_t end = rest_.find_first_of("\"\n", 1);
    if (end == rest_.npos || rest_[end] != '"') {
      return wrong_at(name_, place_, "this text has no closing quotation mark in its line");
    }
    Token token = take(TokenKind::text, end + 1);
    token.text = token.text.substr(1, token.text.size() - 2);
    return token;
  }
  for (const std::string_view mark : {"!=", "==", "<=", ">="}) {
    if (rest_.starts_with(mark)) return take(TokenKind::mark, 2);
  }
  if (std::string_view("{},;=<>@$").find(rest_.front()) != std::string_view::npos) {
    return take(TokenKind::mark, 1);
  }
  const auto end = std::find_if_not(rest_.begin(), rest_.end(), in_word);
  if (end != rest_.begin()) {
    return take(TokenKind::word, static_cast<std::size_t>(end - rest_.begin()));
  }
  const auto letter = static_cast<unsigned char>(rest_.front());
  return wrong_at(name_, place_,
                  letter > 0x20 && letter < 0x7F
                      ? fmt::format("'{}' has no meaning here", rest_.front())
                      : fmt::format("the byte {:#04x} has no meaning outside of comments", letter));
}

}  // namespace weft::service::firewall

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "service/firewall/parser.h"

namespace weft::service::firewall {
namespace {

constexpr Range kOpaque{Wide(static_cast<std::uint64_t>(Traffic::opaque)),
                        Wide(static_cast<std::uint64_t>(Traffic::opaque))};
// What rules of the base chain look at that do not name a state.
constexpr Range kUsualStates{Wide(static_cast<std::uint64_t>(ConnectionState::none)),
                             Wide(static_cast<std::uint64_t>(ConnectionState::established))};
constexpr std::uint64_t kMostPackets = 1'000'000'000;

struct TimeUnit {
  std::string_view name;
  Duration time;
};
constexpr std::array<TimeUnit, 4> kUnits{
    {{"second", 1s}, {"minute", 60s}, {"hour", 3600s}, {"day", 86'400s}}};

bool names_action(Action action) {
  return action != Action::none;
}

std::string first_words() {
  std::string out;
  for (const Keyword& keyword : keywords())
    out += fmt::format("{}{}", out.empty() ? "" : ", ", keyword.words);
  return out;
}

}  // namespace

Parser::Done Parser::rule(std::size_t chain) {
  if (++rules_ > kMostRules) return wrong(fmt::format("there are more than {} rules", kMostRules));
  Rule made;
  made.line = token_.place.line;
  while (token_.kind != TokenKind::newline && !token_.is(";") && !token_.is("}")) {
    if (token_.kind == TokenKind::end) return wrong("the chain has no end: want '}'");
    if (names_action(made.action) && !token_.is("comment")) {
      return wrong("nothing but a comment stands behind a verdict");
    }
    const auto known = statement(chain, made);
    if (!known) return tl::unexpected(known.error());
    if (*known) continue;
    if (auto done = condition(made); !done) return done;
  }
  const bool is_base = has_base_ && out_.base == chain;
  const bool names_state =
      std::any_of(made.conditions.begin(), made.conditions.end(),
                  [](const Condition& condition) { return condition.field == Field::state; });
  if (is_base && !names_state) made.conditions.push_back({Field::state, {kUsualStates}});
  out_.chains[chain].rules.push_back(std::move(made));
  return end_statement();
}

Expected<bool> Parser::statement(std::size_t chain, Rule& rule) {
  Done done;
  if (token_.is("counter")) {
    done = advance();  // every rule counts
  } else if (token_.is("log")) {
    done = log(rule);
  } else if (token_.is("limit")) {
    done = limit(rule);
  } else if (token_.is("comment")) {
    done = advance();
    if (done && (token_.kind != TokenKind::text || token_.text.size() > 128)) {
      return wrong("want a text between quotation marks, of 128 bytes at most");
    }
    if (done) rule.comment = token_.text;
    if (done) done = advance();
  } else if (token_.is("opaque")) {
    const Place place = token_.place;
    done = advance();
    if (done) done = add(rule, Field::traffic, {kOpaque}, place);
  } else {
    return verdict(chain, rule);
  }
  if (!done) return tl::unexpected(done.error());
  return true;
}

Expected<bool> Parser::verdict(std::size_t chain, Rule& rule) {
  struct Word {
    std::string_view word;
    Action action;
  };
  constexpr std::array<Word, 6> kWords{{{"accept", Action::accept},
                                        {"drop", Action::drop},
                                        {"reject", Action::reject},
                                        {"jump", Action::jump},
                                        {"goto", Action::go},
                                        {"return", Action::leave}}};
  const auto* word = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Word& row) { return token_.is(row.word); });
  if (word == kWords.end()) return false;
  rule.action = word->action;
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  if (rule.action == Action::jump || rule.action == Action::go) {
    const Place place = token_.place;
    const auto target = name("a chain");
    if (!target) return tl::unexpected(target.error());
    jumps_.push_back({chain, out_.chains[chain].rules.size(), *target, place});
  }
  return true;
}

// "limit rate [over] 10/second [burst 5 packets]"
Parser::Done Parser::limit(Rule& rule) {
  if (rule.limit) return wrong("a rule has one limit");
  if (auto done = advance(); !done) return done;
  if (auto done = expect("rate"); !done) return done;
  Limit made;
  if (token_.is("over")) {
    made.over = true;
    if (auto done = advance(); !done) return done;
  }
  const std::size_t slash = std::min(token_.text.find('/'), token_.text.size());
  const auto packets = parse_integer(token_.text.substr(0, slash));
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const TimeUnit& row) {
    return slash < token_.text.size() && token_.text.substr(slash + 1) == row.name;
  });
  if (token_.kind != TokenKind::word || !packets || *packets == 0 || *packets > kMostPackets ||
      unit == kUnits.end()) {
    return wrong(fmt::format(
        "want packets in a time as 10/second: a number from 1 to {}, and second, minute, hour or "
        "day",
        kMostPackets));
  }
  made.packets = static_cast<std::uint32_t>(*packets);
  made.per = unit->time;
  if (auto done = advance(); !done) return done;
  if (token_.is("burst")) {
    if (auto done = advance(); !done) return done;
    const auto burst = number(1, kMostPackets, "packets at once");
    if (!burst) return tl::unexpected(burst.error());
    made.burst = static_cast<std::uint32_t>(*burst);
    if (auto done = expect("packets"); !done) return done;
  }
  rule.limit = made;
  return {};
}

Parser::Done Parser::log(Rule& rule) {
  rule.log = true;
  if (auto done = advance(); !done) return done;
  if (!token_.is("prefix")) return {};
  if (auto done = advance(); !done) return done;
  const bool printable = std::all_of(token_.text.begin(), token_.text.end(),
                                     [](char letter) { return letter >= 0x20 && letter < 0x7F; });
  if (token_.kind != TokenKind::text || token_.text.size() > kMostLogPrefix || !printable) {
    return wrong(
        fmt::format("want a text between quotation marks, of {} printable characters at "
                    "most",
                    kMostLogPrefix));
  }
  rule.log_prefix = token_.text;
  return advance();
}

Parser::Done Parser::condition(Rule& rule) {
  const Place place = token_.place;
  const auto known = keyword();
  if (!known) return tl::unexpected(known.error());
  auto ranges = relation(*known);
  if (!ranges) return tl::unexpected(ranges.error());
  if (auto done = add(rule, known->field, std::move(*ranges), place); !done) return done;
  if (known->implied == Field::kCount) return {};
  return add(rule, known->implied, {known->implied_range}, place);
}

Parser::Done Parser::add(Rule& rule, Field field, Ranges ranges, Place place) {
  if (auto done = count_ranges(ranges.size()); !done) return done;
  const auto same = std::find_if(rule.conditions.begin(), rule.conditions.end(),
                                 [&](const Condition& row) { return row.field == field; });
  if (same == rule.conditions.end()) {
    rule.conditions.push_back({field, std::move(ranges)});
  } else {
    same->ranges = intersection(same->ranges, ranges);
    ranges = same->ranges;
    if (ranges.empty()) {
      return wrong_at(name_, place, "this and another condition of the rule exclude each other");
    }
  }
  return {};
}

Expected<Keyword> Parser::keyword() {
  const Token first = token_;
  if (first.kind == TokenKind::word) {
    if (const Keyword* one = keyword_of(first.text)) {
      if (auto done = advance(); !done) return tl::unexpected(done.error());
      return *one;
    }
    const std::string begin = std::string(first.text) + " ";
    std::string seconds;
    for (const Keyword& row : keywords()) {
      if (!row.words.starts_with(begin)) continue;
      seconds += fmt::format("{}{}", seconds.empty() ? "" : ", ", row.words.substr(begin.size()));
    }
    if (!seconds.empty()) {
      if (auto done = advance(); !done) return tl::unexpected(done.error());
      if (first.is("cm") && token_.is("private-data")) return private_data();
      const Keyword* two =
          token_.kind == TokenKind::word ? keyword_of(begin + std::string(token_.text)) : nullptr;
      if (two == nullptr) {
        return wrong(fmt::format("want one of these behind '{}': {}{}", first.text, seconds,
                                 first.is("cm") ? ", private-data" : ""));
      }
      if (auto done = advance(); !done) return tl::unexpected(done.error());
      return *two;
    }
  }
  return wrong(fmt::format(
      "want a condition ({}, cm private-data, opaque), a statement (counter, log, limit, comment) "
      "or a verdict (accept, drop, reject, jump, goto, return)",
      first_words()));
}

// "private-data OFFSET/LENGTH": so many bytes of it, as one number.
Expected<Keyword> Parser::private_data() {
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  const std::size_t slash = std::min(token_.text.find('/'), token_.text.size());
  const auto offset = parse_integer(token_.text.substr(0, slash));
  const std::string_view behind = token_.text.substr(std::min(slash + 1, token_.text.size()));
  const std::uint64_t length = parse_integer(behind).value_or(0);
  constexpr std::uint64_t kMostOffset = 215;  // of SIDR_REQ, the longest of those that are asked
  if (token_.kind != TokenKind::word || !offset || *offset > kMostOffset || length == 0 ||
      length > kMostPrivateBytes) {
    return wrong(
        fmt::format("want OFFSET/LENGTH as 0/4: a byte of the private data from 0 to {}, "
                    "and from 1 to {} bytes",
                    kMostOffset, kMostPrivateBytes));
  }
  const PrivateBytes bytes{static_cast<std::uint8_t>(*offset), static_cast<std::uint8_t>(length)};
  auto found = std::find(out_.private_fields.begin(), out_.private_fields.end(), bytes);
  if (found == out_.private_fields.end()) {
    if (out_.private_fields.size() == kPrivateFields) {
      return wrong(
          fmt::format("rules look at {} places of the private data at most", kPrivateFields));
    }
    found = out_.private_fields.insert(found, bytes);
  }
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  const auto at = static_cast<std::size_t>(found - out_.private_fields.begin());
  return Keyword{.words = "cm private-data",
                 .field = static_cast<Field>(index(Field::private0) + at),
                 .notation = Notation::number,
                 .most = length == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << length * 8) - 1,
                 .meaning = "a number, the first byte being the highest"};
}

Expected<Ranges> Parser::relation(const Keyword& keyword) {
  std::string_view mark = "==";
  for (const std::string_view known : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (!token_.is(known)) continue;
    mark = known;
    if (auto done = advance(); !done) return tl::unexpected(done.error());
    break;
  }
  const Place place = token_.place;
  auto ranges = values(keyword);
  if (!ranges || mark == "==") return ranges;
  const Ranges all = universe(keyword);
  if (mark == "!=") {
    Ranges rest = intersection(all, complement(*ranges, {all.front().low, all.back().high}));
    if (rest.empty()) return wrong_at(name_, place, "no value differs from these");
    return rest;
  }
  const bool ordered = keyword.notation == Notation::number || keyword.notation == Notation::size;
  if (!ordered || ranges->size() != 1 || ranges->front().low != ranges->front().high) {
    return wrong_at(name_, place, fmt::format("'{}' wants one number", mark));
  }
  const Wide value = ranges->front().low;
  const Wide most = all.back().high;
  if ((mark == "<" && value == Wide{}) || (mark == ">" && value == most)) {
    return wrong_at(name_, place, "no value can be so");
  }
  if (mark == "<") return Ranges{{Wide{}, value.previous()}};
  if (mark == "<=") return Ranges{{Wide{}, value}};
  return mark == ">" ? Ranges{{value.next(), most}} : Ranges{{value, most}};
}

Expected<Ranges> Parser::values(const Keyword& keyword) {
  if (token_.is("{")) return listed(keyword);
  if (token_.is("@")) return of_set(keyword);
  if (token_.is("$")) return of_definition(keyword);
  auto out = value(keyword, token_);
  if (!out) return out;
  // As nftables writes several names of one field: "ct state new,established".
  Ranges all = std::move(*out);
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  while (token_.is(",")) {
    if (auto done = advance(); !done) return tl::unexpected(done.error());
    auto more = value(keyword, token_);
    if (!more) return more;
    all.insert(all.end(), more->begin(), more->end());
    if (auto done = advance(); !done) return tl::unexpected(done.error());
  }
  return normalized(std::move(all));
}

Expected<Ranges> Parser::value(const Keyword& keyword, const Token& token) {
  if (token.kind != TokenKind::word) {
    return wrong_at(name_, token.place, fmt::format("want {}", keyword.meaning));
  }
  auto out = parse_values(keyword, token.text);
  if (!out) return wrong_at(name_, token.place, out.error().message);
  if (auto done = count_ranges(out->size()); !done) return tl::unexpected(done.error());
  return out;
}

// "{ VALUE, VALUE }", over several lines if it must be.
Expected<Ranges> Parser::listed(const Keyword& keyword) {
  Ranges out;
  const Place place = token_.place;
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  while (true) {
    if (auto done = skip_newlines(); !done) return tl::unexpected(done.error());
    if (token_.is("}")) break;
    auto more = token_.is("$") ? of_definition(keyword) : value(keyword, token_);
    if (!more) return more;
    out.insert(out.end(), more->begin(), more->end());
    if (token_.kind == TokenKind::word) {
      if (auto done = advance(); !done) return tl::unexpected(done.error());
    }
    if (auto done = skip_newlines(); !done) return tl::unexpected(done.error());
    if (token_.is("}")) break;
    if (auto done = expect(","); !done) return tl::unexpected(done.error());
  }
  if (out.empty()) return wrong_at(name_, place, "an empty list matches nothing");
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  return normalized(std::move(out));
}

Expected<Ranges> Parser::of_set(const Keyword& keyword) {
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  if (token_.kind != TokenKind::word) return wrong("want the name of a set behind '@'");
  const auto found = sets_.find(token_.text);
  if (found == sets_.end()) {
    return wrong(fmt::format("there is no set '{}' above this line", token_.text));
  }
  const NamedSet& named = found->second;
  if (named.type->notation != keyword.notation || named.type->most != keyword.most) {
    return wrong(fmt::format("'{}' is a set of {}, but '{}' wants {}", token_.text, named.type_name,
                             keyword.words, keyword.meaning));
  }
  if (named.ranges.empty()) return wrong("the set has no elements, and would match nothing");
  if (auto done = count_ranges(named.ranges.size()); !done) return tl::unexpected(done.error());
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  return named.ranges;
}

Expected<Ranges> Parser::of_definition(const Keyword& keyword) {
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  if (token_.kind != TokenKind::word) return wrong("want the name of a definition behind '$'");
  const auto found = definitions_.find(token_.text);
  if (found == definitions_.end()) {
    return wrong(fmt::format("there is no definition '{}' above this line", token_.text));
  }
  Ranges out;
  for (const Token& token : found->second) {
    auto more = value(keyword, token);
    if (!more) {
      return wrong(fmt::format("'{}' of this definition does not fit '{}': {}", token.text,
                               keyword.words, more.error().message));
    }
    out.insert(out.end(), more->begin(), more->end());
  }
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  return normalized(std::move(out));
}

Parser::Done Parser::count_ranges(std::size_t more) {
  ranges_ += more;
  if (ranges_ <= kMostRanges) return {};
  return wrong(fmt::format("the conditions and sets have more than {} values", kMostRanges));
}

}  // namespace weft::service::firewall

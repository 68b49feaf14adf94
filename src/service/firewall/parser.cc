// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/parser.h"

#include <fmt/format.h>

#include <array>

#include "base/quantity.h"

namespace weft::service::firewall {
namespace {

// The sorts of values that named sets have, each by a keyword that wants such values.
struct SetType {
  std::string_view name;
  std::string_view keyword;
};
constexpr std::array<SetType, 12> kSetTypes{{{"lid", "slid"},
                                             {"gid", "sgid"},
                                             {"pkey", "pkey"},
                                             {"partition", "partition"},
                                             {"qp", "dqp"},
                                             {"qkey", "qkey"},
                                             {"service", "service"},
                                             {"ip", "ip saddr"},
                                             {"ip6", "ip6 saddr"},
                                             {"mac", "ether saddr"},
                                             {"port", "th dport"},
                                             {"size", "message"}}};

bool good_name(std::string_view text) {
  if (text.empty() || text.size() > kMostName) return false;
  return text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == text.npos &&
         text.find_first_of("0123456789-") != 0;
}

}  // namespace

Expected<RuleSet> RuleSet::parse(std::string_view text, std::string_view name) {
  if (text.size() > kMostText) {
    return fail(std::errc::file_too_large,
                fmt::format("{}: a rule file has at most {} bytes", name, kMostText));
  }
  return Parser(text, name).parse();
}

Expected<RuleSet> Parser::parse() {
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  while (true) {
    if (auto done = skip_newlines(); !done) return tl::unexpected(done.error());
    if (token_.kind == TokenKind::end) break;
    Done done;
    if (token_.is("define")) {
      done = definition();
    } else if (token_.is("table")) {
      done = table();
    } else {
      return wrong("want 'table NAME {' or 'define NAME = VALUE'");
    }
    if (!done) return tl::unexpected(done.error());
  }
  if (!has_table_) return wrong("there is no table: want 'table NAME {'");
  if (!has_base_) {
    return wrong("no chain has packets come to it: want 'hook forward; policy drop;' in one");
  }
  if (auto done = resolve_jumps(); !done) return tl::unexpected(done.error());
  if (auto done = check_depth(); !done) return tl::unexpected(done.error());
  return std::move(out_);
}

Parser::Done Parser::advance() {
  auto next = lexer_.next();
  if (!next) return tl::unexpected(next.error());
  token_ = *next;
  return {};
}

Parser::Done Parser::expect(std::string_view mark) {
  if (!token_.is(mark)) return wrong(fmt::format("want '{}'", mark));
  return advance();
}

Parser::Done Parser::skip_newlines() {
  while (token_.kind == TokenKind::newline || token_.is(";")) {
    if (auto done = advance(); !done) return done;
  }
  return {};
}

Parser::Done Parser::end_statement() {
  if (token_.is("}")) return {};
  if (token_.kind == TokenKind::newline || token_.is(";")) return skip_newlines();
  return wrong("want the end of the line, or ';'");
}

Expected<std::string_view> Parser::name(std::string_view of_what) {
  if (token_.kind != TokenKind::word || !good_name(token_.text)) {
    return wrong(
        fmt::format("want the name of {}: a letter or '_', then letters, digits, '_' and "
                    "'-', {} at most",
                    of_what, kMostName));
  }
  const std::string_view out = token_.text;
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  return out;
}

Expected<std::uint64_t> Parser::number(std::uint64_t least, std::uint64_t most,
                                       std::string_view what) {
  const auto value = token_.kind == TokenKind::word ? parse_integer(token_.text) : std::nullopt;
  if (!value || *value < least || *value > most) {
    return wrong(fmt::format("want {}, from {} to {}", what, least, most));
  }
  if (auto done = advance(); !done) return tl::unexpected(done.error());
  return *value;
}

Parser::Done Parser::definition() {
  if (auto done = advance(); !done) return done;
  const Place place = token_.place;
  const auto named = name("a definition");
  if (!named) return tl::unexpected(named.error());
  if (auto done = expect("="); !done) return done;
  std::vector<Token> tokens;
  const bool list = token_.is("{");
  do {
    if (token_.is("$") || token_.is("@")) {
      return wrong("a definition has values only, not other definitions or sets");
    }
    if (token_.kind == TokenKind::end) return wrong("the definition has no end: want '}'");
    if (token_.kind == TokenKind::word) {
      if (auto done = count_ranges(1); !done) return done;
      tokens.push_back(token_);
    } else if (token_.kind != TokenKind::newline && !token_.is("{") && !token_.is(",")) {
      return wrong("want a value, or '{ VALUE, VALUE }'");
    }
    if (auto done = advance(); !done) return done;
  } while (list && !token_.is("}"));
  if (list) {
    if (auto done = advance(); !done) return done;
  }
  if (tokens.empty()) return wrong_at(name_, place, "a definition needs a value");
  if (definitions_.size() >= kMostSets || !definitions_.emplace(*named, std::move(tokens)).second) {
    return wrong_at(name_, place,
                    fmt::format("'{}' is defined already, or there are more than {} definitions",
                                *named, kMostSets));
  }
  return end_statement();
}

Parser::Done Parser::table() {
  if (has_table_) return wrong("a file has one table");
  has_table_ = true;
  if (auto done = advance(); !done) return done;
  const auto named = name("a table");
  if (!named) return tl::unexpected(named.error());
  out_.table = *named;
  if (auto done = expect("{"); !done) return done;
  while (true) {
    if (auto done = skip_newlines(); !done) return done;
    if (token_.is("}")) break;
    Done done;
    if (token_.is("define")) {
      done = definition();
    } else if (token_.is("set")) {
      done = set();
    } else if (token_.is("chain")) {
      done = chain();
    } else {
      return wrong("want 'chain NAME {', 'set NAME {', 'define NAME = VALUE' or '}'");
    }
    if (!done) return done;
  }
  return advance();
}

Parser::Done Parser::set() {
  if (auto done = advance(); !done) return done;
  const Place place = token_.place;
  const auto named = name("a set");
  if (!named) return tl::unexpected(named.error());
  if (auto done = expect("{"); !done) return done;
  NamedSet made;
  while (true) {
    if (auto done = skip_newlines(); !done) return done;
    if (token_.is("}")) break;
    if (token_.is("type")) {
      if (auto done = advance(); !done) return done;
      std::string names;
      for (const SetType& type : kSetTypes) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
        if (!token_.is(type.name)) continue;
        made.type = keyword_of(type.keyword);
        made.type_name = type.name;
      }
      if (made.type == nullptr) return wrong(fmt::format("want a type of set: {}", names));
      if (auto done = advance(); !done) return done;
      if (auto done = end_statement(); !done) return done;
    } else if (token_.is("elements")) {
      if (auto done = set_elements(made); !done) return done;
    } else {
      return wrong("want 'type TYPE', 'elements = { … }' or '}'");
    }
  }
  if (made.type == nullptr) return wrong_at(name_, place, "the set has no type: want 'type TYPE'");
  if (sets_.size() >= kMostSets || !sets_.emplace(*named, std::move(made)).second) {
    return wrong_at(
        name_, place,
        fmt::format("there is a set '{}' already, or more than {} sets", *named, kMostSets));
  }
  return advance();
}

Parser::Done Parser::set_elements(NamedSet& made) {
  if (made.type == nullptr) return wrong("want the set's type first: 'type TYPE'");
  if (auto done = advance(); !done) return done;
  if (auto done = expect("="); !done) return done;
  if (!token_.is("{")) return wrong("want '{'");
  auto ranges = listed(*made.type);
  if (!ranges) return tl::unexpected(ranges.error());
  made.ranges.insert(made.ranges.end(), ranges->begin(), ranges->end());
  made.ranges = normalized(std::move(made.ranges));
  return end_statement();
}

Parser::Done Parser::chain() {
  if (auto done = advance(); !done) return done;
  const Place place = token_.place;
  const auto named = name("a chain");
  if (!named) return tl::unexpected(named.error());
  if (auto done = expect("{"); !done) return done;
  const std::size_t index = out_.chains.size();
  if (index >= kMostChains) {
    return wrong_at(name_, place, fmt::format("there are more than {} chains", kMostChains));
  }
  if (!chains_.emplace(*named, std::pair(static_cast<std::uint16_t>(index), place)).second) {
    return wrong_at(name_, place, fmt::format("there is a chain '{}' already", *named));
  }
  out_.chains.push_back({.name = std::string(*named), .rules = {}});
  while (true) {
    if (auto done = skip_newlines(); !done) return done;
    if (token_.is("}")) break;
    const auto property = chain_property(index);
    if (!property) return tl::unexpected(property.error());
    if (*property) continue;
    if (auto done = rule(index); !done) return done;
  }
  const bool is_base = has_base_ && out_.base == index;
  if (is_base && !has_policy_) {
    return wrong_at(name_, place,
                    "the chain that packets come to needs 'policy drop;' or "
                    "'policy accept;'");
  }
  if (has_policy_ && !has_base_) {
    return wrong_at(name_, policy_place_, "only the chain with 'hook forward' has a policy");
  }
  return advance();
}

Expected<bool> Parser::chain_property(std::size_t chain) {
  Done done;
  if (token_.is("type") || token_.is("hook")) {
    done = hook(chain);
  } else if (token_.is("policy")) {
    done = policy(chain);
  } else {
    return false;
  }
  if (!done) return tl::unexpected(done.error());
  return true;
}

// As nftables has it, "type filter hook forward priority 0;", of which the hook is what counts.
Parser::Done Parser::hook(std::size_t chain) {
  if (!out_.chains[chain].rules.empty()) return wrong("the hook stands before the chain's rules");
  if (has_base_) return wrong("packets come to one chain only, and one has the hook already");
  if (token_.is("type")) {
    if (auto done = advance(); !done) return done;
    if (auto done = expect("filter"); !done) return done;
  }
  if (auto done = expect("hook"); !done) return done;
  if (auto done = expect("forward"); !done) return done;
  if (token_.is("priority")) {
    if (auto done = advance(); !done) return done;
    if (const auto rank = number(0, 1000, "a priority"); !rank) return tl::unexpected(rank.error());
  }
  has_base_ = true;
  out_.base = static_cast<std::uint16_t>(chain);
  return end_statement();
}

Parser::Done Parser::policy(std::size_t chain) {
  if (!out_.chains[chain].rules.empty()) return wrong("the policy stands before the chain's rules");
  if (has_policy_) return wrong("there is one policy, and it was given already");
  policy_place_ = token_.place;
  if (has_base_ && out_.base != chain)
    return wrong("only the chain with 'hook forward' has a policy");
  if (auto done = advance(); !done) return done;
  if (token_.is("accept")) {
    out_.policy = Action::accept;
  } else if (token_.is("drop")) {
    out_.policy = Action::drop;
  } else if (token_.is("reject")) {
    out_.policy = Action::reject;
  } else {
    return wrong("want 'accept', 'drop' or 'reject'");
  }
  has_policy_ = true;
  if (auto done = advance(); !done) return done;
  return end_statement();
}

}  // namespace weft::service::firewall

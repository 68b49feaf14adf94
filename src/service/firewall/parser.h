// SPDX-License-Identifier: Apache-2.0
// How RuleSet::parse() reads a file: by recursive descent, one token ahead.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/firewall/lexer.h"
#include "service/firewall/rule_set.h"

namespace weft::service::firewall {

class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : lexer_(text, name), name_(name) {}
  Expected<RuleSet> parse();

 private:
  using Done = Expected<void>;
  struct NamedSet {
    const Keyword* type = nullptr;
    std::string_view type_name;
    Ranges ranges;
  };
  struct Jump {
    std::size_t chain = 0;
    std::size_t rule = 0;
    std::string_view target;
    Place place;
  };

  // Tokens.
  Done advance();
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view message) const {
    return wrong_at(name_, token_.place, message);
  }
  Done expect(std::string_view mark);
  Done skip_newlines();
  Done end_statement();  // ';', a new line, or what closes the block
  Expected<std::string_view> name(std::string_view of_what);
  Expected<std::uint64_t> number(std::uint64_t least, std::uint64_t most, std::string_view what);

  // Blocks.
  Done table();
  Done definition();
  Done set();
  Done set_elements(NamedSet& made);
  Done chain();
  Expected<bool> chain_property(std::size_t chain);  // false: it is a rule
  Done hook(std::size_t chain);
  Done policy(std::size_t chain);

  // parser_rules.cc: rules.
  Done rule(std::size_t chain);
  Expected<bool> statement(std::size_t chain, Rule& rule);  // false: it is a condition
  Expected<bool> verdict(std::size_t chain, Rule& rule);
  Done limit(Rule& rule);
  Done log(Rule& rule);
  Done condition(Rule& rule);
  Expected<Keyword> keyword();
  Expected<Keyword> private_data();
  Done add(Rule& rule, Field field, Ranges ranges, Place place);
  // With the relation before them: what the field must be within.
  Expected<Ranges> relation(const Keyword& keyword);
  Expected<Ranges> values(const Keyword& keyword);
  Expected<Ranges> listed(const Keyword& keyword);
  Expected<Ranges> of_set(const Keyword& keyword);
  Expected<Ranges> of_definition(const Keyword& keyword);
  Expected<Ranges> value(const Keyword& keyword, const Token& token);
  Done count_ranges(std::size_t more);

  // parser_links.cc: what is known at the end only.
  Done resolve_jumps();
  Done check_depth();

  Lexer lexer_;
  std::string_view name_;
  Token token_{};
  RuleSet out_{};
  bool has_table_ = false;
  bool has_base_ = false;
  bool has_policy_ = false;
  Place policy_place_{};
  std::size_t rules_ = 0;
  std::size_t ranges_ = 0;
  std::map<std::string_view, NamedSet> sets_;
  std::map<std::string_view, std::vector<Token>> definitions_;
  std::map<std::string_view, std::pair<std::uint16_t, Place>> chains_;
  std::vector<Jump> jumps_;
};

}  // namespace weft::service::firewall

// SPDX-License-Identifier: Apache-2.0
// Rules and packets by chance, and an evaluator that tries rule after rule: written from
// docs/firewall.md, apart from src/.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "base/random.h"
#include "service/firewall/match_key.h"
#include "service/firewall/rule_set.h"

namespace weft::service::firewall {

// Few values, so that rules and packets meet.
class RandomRules {
 public:
  explicit RandomRules(Random& random) : random_(random) {}

  std::string text(unsigned rules, unsigned chains) {
    std::string out = "table t {\nset s {\ntype gid\nelements = { fd00::/124, fd00::21 }\n}\n";
    out += fmt::format("chain c0 {{\nhook forward; policy {};\n",
                       random_.chance(0.5) ? "accept" : "drop");
    for (unsigned chain = 0; chain < chains; ++chain) {
      if (chain > 0) out += fmt::format("chain c{} {{\n", chain);
      for (unsigned i = 0; i < rules; ++i)
        out += rule(chain, chains) + "\n";
      out += "}\n";
    }
    return out + "}\n";
  }

 private:
  std::string rule(unsigned chain, unsigned chains) {
    std::string out;
    // A field twice may exclude itself, which is an error: each at most once.
    std::array<bool, 12> taken{};
    for (auto left = random_.below(4); left > 0; --left) {
      const auto which = random_.below(taken.size());
      if (!taken[which]) out += condition(which);
      taken[which] = true;
    }
    const auto what = random_.below(10);
    if (what < 3) return out + "accept";
    if (what < 6) return out + "drop";
    if (what < 7) return out + "reject";
    if (what < 8) return out + "return";
    // Forward only, and with few rules that jump: a packet comes by a bounded number.
    if (what < 9 && chain + 1 < chains)
      return out + fmt::format("{} c{}", random_.chance(0.5) ? "jump" : "goto", chain + 1);
    return out + "counter";
  }

  std::string relation() { return random_.chance(0.2) ? "!= " : ""; }
  std::string numbers(std::uint64_t below) {
    const auto low = random_.below(below);
    switch (random_.below(4)) {
      case 0:
        return fmt::format("{}", low);
      case 1:
        return fmt::format("{}-{}", low, random_.between(low, below - 1));
      case 2:
        return fmt::format("{{ {}, {} }}", low, random_.below(below));
      default:
        return fmt::format("{{ {}, {}-{} }}", random_.below(below), low,
                           random_.between(low, below - 1));
    }
  }
  std::string condition(std::uint64_t which) {
    const std::string is = relation();
    switch (which) {
      case 0:
        return fmt::format("slid {}{} ", is, numbers(40));
      case 1:
        return fmt::format("dlid {}{} ", is, numbers(40));
      case 2:
        return fmt::format("sl {}{} ", is, numbers(4));
      case 3:
        return fmt::format("partition {}{} ", is, numbers(6));
      case 4: {
        constexpr std::array<const char*, 5> kOpcodes{"rdma-read", "send", "ud", "unknown", "0x64"};
        return fmt::format("opcode {}{} ", is, kOpcodes[random_.below(kOpcodes.size())]);
      }
      case 5:
        return fmt::format("dqp {}{} ", is, numbers(30));
      case 6:
        return random_.chance(0.5) ? fmt::format("dgid {}@s ", is)
                                   : fmt::format("dgid {}fd00::{:x} ", is, random_.below(48));
      case 7:
        return fmt::format("message > {} ", random_.below(5000));
      case 8:
        return fmt::format("ip saddr {}10.0.0.{}/{} ", is, random_.below(16) * 16, 28);
      case 9:
        return fmt::format("tcp dport {}{} ", is, numbers(20));
      case 10:
        return random_.chance(0.3) ? "ct state untracked " : "ct state new,established ";
      default:
        return fmt::format("cm private-data 0/2 {}{} ", is, numbers(9));
    }
  }

  Random& random_;
};

inline MatchKey random_key(Random& random) {
  MatchKey key;
  const auto maybe = [&](Field field, std::uint64_t below) {
    if (random.chance(0.8)) key.set(field, random.below(below));
  };
  maybe(Field::slid, 42);
  maybe(Field::dlid, 42);
  maybe(Field::sl, 5);
  maybe(Field::partition, 8);
  maybe(Field::opcode, 0x70);
  maybe(Field::dest_qp, 32);
  maybe(Field::message, 6000);
  maybe(Field::protocol, 8);
  if (random.chance(0.7)) key.set(Field::protocol, 6);
  maybe(Field::destination_port, 22);
  maybe(Field::private0, 10);
  if (random.chance(0.7)) key.set(Field::dgid, Wide(0xFD00'0000'0000'0000, random.below(50)));
  if (random.chance(0.7)) {
    key.set(Field::ip_source, random.chance(0.8) ? Wide(0, 0xFFFF'0A00'0000 + random.below(256))
                                                 : Wide(0x2001'0DB8'0000'0000, random.below(4)));
  }
  key.set(Field::state, random.below(5));
  return key;
}

// A value of one of a condition's ranges: an end of it, or in between.
inline Wide value_in(const Condition& condition, Random& random) {
  const Range& range = condition.ranges[random.below(condition.ranges.size())];
  if (random.chance(0.3)) return range.high;
  Wide out = range.low;
  const bool small = range.high.high == out.high && range.high.low - out.low < 1'000'000;
  if (small) out.low += random.below(range.high.low - out.low + 1);
  return out;
}

inline void set_value(MatchKey& key, Field field, const Wide& value) {
  if (is_wide(field)) {
    key.set(field, value);
  } else {
    key.set(field, value.low);
  }
}

// What some rule of `rules` matches, but for what is changed or missing now and then.
inline MatchKey key_near(const RuleSet& rules, Random& random) {
  const auto& of = rules.chains[random.below(rules.chains.size())].rules;
  MatchKey key;
  key.set(Field::state, random.chance(0.9) ? random.below(3) : random.below(5));
  for (const Condition& condition : of[random.below(of.size())].conditions)
    set_value(key, condition.field, value_in(condition, random));
  for (auto others = random.below(4); others > 0; --others) {
    for (const Condition& condition : of[random.below(of.size())].conditions) {
      if (!key.has(condition.field) || random.chance(0.2))
        set_value(key, condition.field, value_in(condition, random));
    }
  }
  if (random.chance(0.2)) {
    const auto gone = static_cast<Field>(random.below(kFields));
    if (gone != Field::state) key.remove(gone);
  }
  return key;
}

struct LinearOutcome {
  Action action = Action::drop;
  std::uint32_t rule = ~std::uint32_t{0};
  std::vector<std::uint32_t> matched;
};

// Rule after rule, condition after condition, range after range.
class LinearEvaluator {
 public:
  explicit LinearEvaluator(const RuleSet& rules) : rules_(rules) {
    std::uint32_t number = 0;
    for (const Chain& chain : rules.chains) {
      first_.push_back(number);
      number += static_cast<std::uint32_t>(chain.rules.size());
    }
  }

  LinearOutcome evaluate(const MatchKey& key) {
    LinearOutcome out;
    if (!walk(rules_.base, key, out)) {
      out.action = key.narrow(Field::state) > 2 ? Action::drop : rules_.policy;
    }
    return out;
  }

 private:
  static bool matches(const Rule& rule, const MatchKey& key) {
    for (const Condition& condition : rule.conditions) {
      if (!key.has(condition.field)) return false;
      bool any = false;
      for (const Range& range : condition.ranges)
        any = any || range.has(key.value(condition.field));
      if (!any) return false;
    }
    return true;
  }

  // Whether a rule decided.
  bool walk(std::size_t chain, const MatchKey& key, LinearOutcome& out) {
    const std::vector<Rule>& rules = rules_.chains[chain].rules;
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      const Rule& rule = rules[i];
      if (!matches(rule, key)) continue;
      out.matched.push_back(first_[chain] + i);
      switch (rule.action) {
        case Action::none:
          break;
        case Action::leave:
          return false;
        case Action::jump:
          if (walk(rule.target, key, out)) return true;
          break;
        case Action::go:
          return walk(rule.target, key, out);
        default:
          out.action = rule.action;
          out.rule = first_[chain] + i;
          return true;
      }
    }
    return false;
  }

  const RuleSet& rules_;
  std::vector<std::uint32_t> first_;
};

}  // namespace weft::service::firewall

// SPDX-License-Identifier: Apache-2.0
// Finds the rules of a chain that match a packet, without trying them one after the other.
//
// Rules are parted by a field that many of them look at: each of its values that makes a difference
// leads to the group of those rules that it matches, by a hash table or by bisection (ValueIndex).
// Rules that do not look at the field, or match too many of its values, stay outside and are parted
// by another one, and so on; in a group, too, until it has a few rules only, which are tried. What
// a packet has to come by is thus a chain of tables, and what these lead to. Every search knows
// the first rule that a table may lead to, and looks into none whose rules all come behind one that
// has matched.
//
// Rules that no field parts, since their ranges overlap each other everywhere, are looked at 64 at
// a time (IntervalSets). How much a packet can meet at most is known when the tables are made.
// docs/firewall.md says why this and not another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "service/firewall/interval_sets.h"
#include "service/firewall/match_key.h"
#include "service/firewall/rule_set.h"
#include "service/firewall/rule_tests.h"
#include "service/firewall/value_index.h"

namespace weft::service::firewall {

class Classifier {
 public:
  // What tables of all chains together may take, in bytes; one that does not fit is not made, and
  // its rules are sets.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  // Rules that are tried one by one where they have come down to so many.
  static constexpr std::size_t kFewRules = 12;
  // That are tried where no field parts them; of more there are sets.
  static constexpr std::size_t kMostTried = 32;

  // What one packet can come by at most, when it does not match.
  struct Most {
    std::uint32_t tables = 0;  // looked up
    std::uint32_t rules = 0;   // tried one by one
    std::uint32_t words = 0;   // of sets of 64 rules, once for each field that the rules look at
    friend Most larger(const Most& a, const Most& b) {
      return {std::max(a.tables, b.tables), std::max(a.rules, b.rules), std::max(a.words, b.words)};
    }
  };

  Classifier() = default;
  // `rules`, in their order, outlive it and stay where they are; `bytes` is how much its tables may
  // take. not_enough_memory: there is no room for sets, and which sort of it is said.
  [[nodiscard]] static Expected<Classifier> build(std::span<const Rule> rules, std::size_t bytes,
                                                  IntervalSets::Room& room);

  // For one packet at a time, and kept for the next one, so that nothing is allocated.
  class Search {
   public:
    // Both outlive the search.
    void begin(const Classifier& classifier, const MatchKey& key);
    // The first rule from `from` on that matches; the number of rules: there is none. `from` is
    // never less than what was asked for before.
    [[nodiscard]] std::uint32_t next(std::uint32_t from);

   private:
    enum class Kind : std::uint8_t { table, few, sets };
    struct Item {
      Kind kind{};
      bool matches = false;     // the rule `bound` does
      std::uint32_t bound = 0;  // no rule before it
      std::uint32_t at = 0;     // table: its number; else where in numbers_ to go on
      std::uint32_t end = 0;    // of those in numbers_
      std::uint32_t sets = 0;   // of sets: place in lookups_
    };
    void enter(std::uint32_t group);
    void try_few(Item& item, std::uint32_t best);
    void ask_sets(Item& item);

    const Classifier* of_ = nullptr;
    const MatchKey* key_ = nullptr;
    std::vector<Item> items_;
    struct Asked {
      IntervalSets::Lookup lookup;
      std::uint32_t begin = 0;  // of its rules in numbers_
    };
    std::vector<Asked> lookups_;
  };

  [[nodiscard]] std::uint32_t size() const { return rules_; }
  [[nodiscard]] std::size_t bytes() const;  // of memory that the tables have
  [[nodiscard]] const Most& most() const { return root_most_; }
  // Whether any rule looks at it.
  [[nodiscard]] bool uses(Field field) const { return (used_ >> index(field) & 1) != 0; }

 private:
  class Builder;
  static constexpr std::uint32_t kNone = ValueIndex<Wide>::kNone;

  // Some of the rules: those parted by its tables, and the rest.
  struct Group {
    std::uint32_t tables = 0;  // its tables follow each other in tables_
    std::uint32_t tables_end = 0;
    std::uint32_t rest = 0;  // in numbers_, ascending
    std::uint32_t rest_end = 0;
    std::uint32_t sets = kNone;  // what finds those of the rest; kNone: they are tried
  };
  struct Table {
    Field field{};
    std::uint32_t first = 0;  // of all rules that it leads to
    std::uint32_t index = 0;  // in wide_ or narrow_, as the field is
  };

  std::uint32_t rules_ = 0;
  std::uint64_t used_ = 0;
  RuleTests tests_;
  std::vector<Group> groups_;  // the last one has all rules
  std::vector<Table> tables_;
  std::vector<ValueIndex<std::uint64_t>> narrow_;  // to groups
  std::vector<ValueIndex<Wide>> wide_;
  std::vector<std::uint32_t> numbers_;
  std::vector<IntervalSets> sets_;
  Most root_most_;
};

}  // namespace weft::service::firewall

// SPDX-License-Identifier: Apache-2.0
// Which of many rules match a packet, 64 at a time: for rules that no single field tells apart.
//
// For each field that rules look at, the ends of their ranges cut its values into intervals; all
// values of an interval are alike to every rule. An interval has the set of rules that its values
// match; the sets of a packet's fields, intersected, are the rules that the packet matches, and
// their order is that of the rules (Lakshman and Stiliadis, "High-speed policy-based packet
// forwarding using efficient multi-dimensional range matching", 1998). Rules that do not care
// about a field are in one set of the field and not in each of its intervals; the others' sets keep
// only their words that are not zero, and a summary with a bit for each says which (Baboescu and
// Varghese, "Scalable packet classification", 2001).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "service/firewall/match_key.h"
#include "service/firewall/rule_set.h"

namespace weft::service::firewall {

class IntervalSets {
 public:
  // What the sets of all intervals may have in bytes, and what it may take to make them, in words
  // looked at, of all chains together: rules whose ranges overlap in a chain-like way need a set as
  // large as all rules for each of their ends.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  static constexpr std::uint64_t kMostWork = std::uint64_t{1} << 28;

  // What is left of that.
  struct Room {
    std::size_t bytes = kMostBytes;
    std::uint64_t work = kMostWork;
  };

  IntervalSets() = default;
  // `rules` in their order; all pointers are good during the call only. not_enough_memory: there is
  // not so much room, and which sort of it is said.
  [[nodiscard]] static Expected<IntervalSets> build(std::span<const Rule* const> rules, Room& room);

  // What a packet's fields are to the rules: found once, asked as often as rules follow each other.
  class Lookup {
   public:
    // The first rule from `from` on and before `end` that matches; `end`: there is none.
    [[nodiscard]] std::uint32_t next(std::uint32_t from, std::uint32_t end) const;

   private:
    friend class IntervalSets;
    const IntervalSets* of_ = nullptr;
    std::array<std::uint32_t, kFields> sets_;  // of each dimension, where its set begins
  };
  [[nodiscard]] Lookup look(const MatchKey& key) const;

  [[nodiscard]] std::size_t bytes() const;  // of memory that the tables have
  // Of sets, for each field that rules look at.
  [[nodiscard]] std::uint32_t words() const {
    return (rules_ + 63) / 64 * static_cast<std::uint32_t>(dimensions_.size());
  }

 private:
  class Builder;

  struct Dimension {
    Field field{};
    // The first value of each interval but the first one, which begins at 0.
    std::vector<std::uint64_t> narrow;
    std::vector<Wide> wide;
    std::vector<std::uint32_t> sets;  // of each interval, where its set begins in pool_
    std::vector<std::uint64_t> any;   // the rules that do not look at the field
    std::vector<std::uint64_t> any_summary;
  };

  // A set in pool_: its summary, and after it the words that have a bit there.
  [[nodiscard]] std::uint64_t word(std::uint32_t set, std::uint32_t index) const;
  [[nodiscard]] std::uint64_t candidates(const Lookup& lookup, std::uint32_t summary) const;

  std::vector<Dimension> dimensions_;  // those that exclude most rules first
  std::vector<std::uint64_t> pool_;    // begins with the empty set
  std::uint32_t rules_ = 0;
  std::uint32_t summaries_ = 0;  // words of a summary
};

}  // namespace weft::service::firewall

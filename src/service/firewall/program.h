// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/allowance.h"
#include "service/firewall/classifier.h"
#include "service/firewall/rule_set.h"

namespace weft::service::firewall {

// Rules made ready to decide about packets.
class Program {
 public:
  // The policy decided, and no rule.
  static constexpr std::uint32_t kPolicy = ~std::uint32_t{0};

  // not_enough_memory: sets would exceed the limits of IntervalSets.
  [[nodiscard]] static Expected<Program> compile(RuleSet rules);

  struct Outcome {
    Action action = Action::drop;  // accept, drop or reject
    std::uint32_t rule = kPolicy;  // which decided
    bool by_time = false;          // a limit was asked: the next packet may fare otherwise
  };
  // Who is told of each rule that matches, in their order.
  class Matches {
   public:
    virtual ~Matches() = default;
    virtual void matched(std::uint32_t rule) = 0;
  };
  // What becomes of a packet. `key` has a state.
  [[nodiscard]] Outcome evaluate(const MatchKey& key, Time now, Matches& matches);

  [[nodiscard]] const RuleSet& rules() const { return rules_; }
  // Whether any rule looks at it.
  [[nodiscard]] bool uses(Field field) const { return (used_ >> index(field) & 1) != 0; }
  [[nodiscard]] std::size_t table_bytes() const;  // of memory that classification takes
  // What a packet can come by at most in one chain.
  [[nodiscard]] Classifier::Most most() const;
  // What finds the rules of a chain.
  [[nodiscard]] const Classifier& classifier(std::size_t chain) const {
    return classifiers_[chain];
  }
  // Rules are numbered through all chains, in the order of the file.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(flat_.size()); }
  [[nodiscard]] const Rule& rule(std::uint32_t number) const { return *flat_[number].rule; }
  [[nodiscard]] const Chain& chain_of(std::uint32_t number) const {
    return rules_.chains[flat_[number].chain];
  }

 private:
  struct Flat {
    const Rule* rule = nullptr;
    std::uint16_t chain = 0;
  };
  // Where a packet is in a chain.
  struct Place {
    std::uint16_t chain = 0;
    std::uint32_t next = 0;  // rule of the chain
  };
  struct Bucket {
    std::uint32_t rule = 0;
    Allowance allowance;
  };
  [[nodiscard]] bool within_limit(std::uint32_t rule, Time now);

  RuleSet rules_;
  std::vector<Flat> flat_;
  std::vector<std::uint32_t> first_;  // rule of each chain
  std::vector<Bucket> buckets_;       // in the order of their rules
  std::vector<Classifier> classifiers_;
  std::uint64_t used_ = 0;
  // Of each chain that a packet is in: the one that it came to, and those that jumped here.
  std::array<Classifier::Search, kMostDepth + 1> searches_;
};

}  // namespace weft::service::firewall

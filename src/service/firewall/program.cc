// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/program.h"

#include <algorithm>
#include <array>

namespace weft::service::firewall {

namespace {

std::size_t weight_of(const Chain& chain) {
  std::size_t out = 0;
  for (const Rule& rule : chain.rules) {
    for (const Condition& condition : rule.conditions)
      out += condition.ranges.size();
  }
  return out;
}

}  // namespace

Expected<Program> Program::compile(RuleSet rules) {
  Program out;
  out.rules_ = std::move(rules);
  const std::vector<Chain>& chains = out.rules_.chains;
  std::size_t weights = 0;
  for (const Chain& chain : chains)
    weights += weight_of(chain);
  IntervalSets::Room room;
  for (std::size_t chain = 0; chain < chains.size(); ++chain) {
    out.first_.push_back(out.size());
    for (const Rule& rule : chains[chain].rules) {
      if (rule.limit) {
        const Duration every = std::max(Duration(1), rule.limit->per / rule.limit->packets);
        out.buckets_.push_back({out.size(), Allowance(every, rule.limit->burst)});
      }
      out.flat_.push_back({&rule, static_cast<std::uint16_t>(chain)});
      for (const Condition& condition : rule.conditions)
        out.used_ |= std::uint64_t{1} << index(condition.field);
    }
    // As much as the chain has of all values that rules look at.
    const std::size_t bytes =
        Classifier::kMostBytes / std::max<std::size_t>(weights, 1) * weight_of(chains[chain]);
    auto classifier = Classifier::build(chains[chain].rules, bytes, room);
    if (!classifier) return tl::unexpected(classifier.error());
    out.classifiers_.push_back(std::move(*classifier));
  }
  return out;
}

std::size_t Program::table_bytes() const {
  std::size_t out = 0;
  for (const Classifier& classifier : classifiers_)
    out += classifier.bytes();
  return out;
}

Classifier::Most Program::most() const {
  Classifier::Most out;
  for (const Classifier& classifier : classifiers_)
    out = larger(out, classifier.most());
  return out;
}

bool Program::within_limit(std::uint32_t rule, Time now) {
  const auto bucket =
      std::lower_bound(buckets_.begin(), buckets_.end(), rule,
                       [](const Bucket& row, std::uint32_t wanted) { return row.rule < wanted; });
  return bucket->allowance.take(now) != flat_[rule].rule->limit->over;
}

Program::Outcome Program::evaluate(const MatchKey& key, Time now, Matches& matches) {
  std::array<Place, kMostDepth + 1> places;  // where to go on in each
  std::size_t depth = 0;
  const auto enter = [&](std::uint16_t chain) {
    places[depth] = {chain, 0};
    searches_[depth].begin(classifiers_[chain], key);
  };
  enter(rules_.base);
  Outcome out;
  while (true) {
    Place& here = places[depth];
    const std::uint32_t found = searches_[depth].next(here.next);
    if (found == classifiers_[here.chain].size()) {
      if (depth == 0) break;
      --depth;
      continue;
    }
    const std::uint32_t number = first_[here.chain] + found;
    const Rule& rule = *flat_[number].rule;
    here.next = found + 1;
    if (rule.limit) {
      out.by_time = true;
      if (!within_limit(number, now)) continue;
    }
    matches.matched(number);
    if (rule.action == Action::jump || rule.action == Action::go) {
      if (rule.action == Action::jump) ++depth;
      enter(rule.target);
    } else if (rule.action == Action::leave) {
      if (depth == 0) break;
      --depth;
    } else if (rule.action != Action::none) {
      out.action = rule.action;
      out.rule = number;
      return out;
    }
  }
  // What is not of a connection that is known gets nothing by not being forbidden.
  const std::uint64_t state = key.narrow(Field::state);
  const bool usual = state <= static_cast<std::uint64_t>(ConnectionState::established);
  out.action = usual ? rules_.policy : Action::drop;
  return out;
}

}  // namespace weft::service::firewall

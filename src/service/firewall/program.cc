// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/program.h"

#include <algorithm>
#include <array>

namespace weft::service::firewall {

Expected<Program> Program::compile(RuleSet rules) {
  Program out;
  out.rules_ = std::move(rules);
  std::vector<const Rule*> pointers;
  for (std::size_t chain = 0; chain < out.rules_.chains.size(); ++chain) {
    Bounds bounds{out.size(), 0};
    for (const Rule& rule : out.rules_.chains[chain].rules) {
      if (rule.limit) {
        const Duration every = std::max(Duration(1), rule.limit->per / rule.limit->packets);
        out.buckets_.push_back({out.size(), Allowance(every, rule.limit->burst)});
      }
      out.flat_.push_back({&rule, static_cast<std::uint16_t>(chain)});
      pointers.push_back(&rule);
    }
    bounds.end = out.size();
    out.chains_.push_back(bounds);
  }
  auto classifier = Classifier::build(pointers);
  if (!classifier) return tl::unexpected(classifier.error());
  out.classifier_ = std::move(*classifier);
  return out;
}

bool Program::within_limit(std::uint32_t rule, Time now) {
  const auto bucket =
      std::lower_bound(buckets_.begin(), buckets_.end(), rule,
                       [](const Bucket& row, std::uint32_t wanted) { return row.rule < wanted; });
  return bucket->allowance.take(now) != flat_[rule].rule->limit->over;
}

Program::Outcome Program::evaluate(const MatchKey& key, Time now, Matches& matches) {
  const Classifier::Lookup lookup = classifier_.look(key);
  std::array<Bounds, kMostDepth + 1> callers;  // where to go on in each
  std::size_t depth = 0;
  Bounds here = chains_[rules_.base];
  Outcome out;
  while (true) {
    const std::uint32_t number = lookup.next(here.begin, here.end);
    if (number == here.end) {
      if (depth == 0) break;
      here = callers[--depth];
      continue;
    }
    const Rule& rule = *flat_[number].rule;
    here.begin = number + 1;
    if (rule.limit) {
      out.by_time = true;
      if (!within_limit(number, now)) continue;
    }
    matches.matched(number);
    if (rule.action == Action::jump || rule.action == Action::go) {
      if (rule.action == Action::jump) callers[depth++] = here;
      here = chains_[rule.target];
    } else if (rule.action == Action::leave) {
      here.begin = here.end;
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

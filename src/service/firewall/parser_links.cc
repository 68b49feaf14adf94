// SPDX-License-Identifier: Apache-2.0
// Chains may be named before they come. When all are known, jumps get their targets, and it is
// made sure that every packet is through with its rules after a bounded number of them.
#include <fmt/format.h>

#include <algorithm>

#include "service/firewall/parser.h"

namespace weft::service::firewall {

Parser::Done Parser::resolve_jumps() {
  for (const Jump& jump : jumps_) {
    const auto found = chains_.find(jump.target);
    if (found == chains_.end()) {
      return wrong_at(name_, jump.place, fmt::format("there is no chain '{}'", jump.target));
    }
    if (found->second.first == out_.base) {
      return wrong_at(name_, jump.place, "nothing jumps to the chain that packets come to");
    }
    out_.chains[jump.chain].rules[jump.rule].target = found->second.first;
  }
  return {};
}

// Kahn's order of chains, each after all that jump to it: who is left over is in a loop. Depths are
// the longest ways from anywhere. Backwards in that order, each chain's rules and those of all that
// it can jump to are counted, as often as it can jump there.
Parser::Done Parser::check_depth() {
  const std::size_t chains = out_.chains.size();
  std::vector<std::uint32_t> entries(chains, 0);
  std::vector<std::uint32_t> depth(chains, 0);
  std::vector<std::vector<std::uint16_t>> targets(chains);
  const auto target_of = [this](const Jump& jump) {
    return out_.chains[jump.chain].rules[jump.rule].target;
  };
  for (const Jump& jump : jumps_) {
    targets[jump.chain].push_back(target_of(jump));
    ++entries[target_of(jump)];
  }
  std::vector<std::size_t> order;
  for (std::size_t chain = 0; chain < chains; ++chain) {
    if (entries[chain] == 0) order.push_back(chain);
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    for (const std::uint16_t target : targets[order[done]]) {
      depth[target] = std::max(depth[target], depth[order[done]] + 1);
      if (--entries[target] == 0) order.push_back(target);
    }
  }
  std::vector<std::uint64_t> steps(chains, 0);
  for (auto chain = order.rbegin(); chain != order.rend(); ++chain) {
    steps[*chain] = out_.chains[*chain].rules.size();
    for (const std::uint16_t target : targets[*chain])
      steps[*chain] = std::min(steps[*chain] + steps[target], kMostSteps + 1);
  }
  for (const Jump& jump : jumps_) {
    if (entries[target_of(jump)] > 0 && entries[jump.chain] > 0) {
      return wrong_at(name_, jump.place,
                      fmt::format("jumping to '{}' leads back here", jump.target));
    }
    if (depth[target_of(jump)] > kMostDepth) {
      return wrong_at(name_, jump.place,
                      fmt::format("more than {} jumps lead into each other", kMostDepth));
    }
    if (steps[jump.chain] > kMostSteps) {
      return wrong_at(name_, jump.place,
                      fmt::format("a packet could come by more than {} rules, since chains are "
                                  "jumped to again and again",
                                  kMostSteps));
    }
  }
  return {};
}

}  // namespace weft::service::firewall

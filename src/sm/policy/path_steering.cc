// SPDX-License-Identifier: Apache-2.0
#include "sm/policy/path_steering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace weft::sm {
namespace {

// Whether the path runs against the direction in which the rule names its services. Where it fits
// both ways, one of the ends is taken for its source, always the same one.
bool is_reversed(RuleFit fit, const PathQuery& query) {
  return fit == RuleFit::kReturn ||
         (fit == RuleFit::kBoth && query.destination.gid < query.source.gid);
}

FlowEnds flow_of(const PathRule& rule, bool reversed, const PathQuery& query) {
  const bool swap = rule.symmetric && reversed;
  const PathEnd& first = swap ? query.destination : query.source;
  const PathEnd& second = swap ? query.source : query.destination;
  return {.first = first.gid, .first_port = first.port, .second = second.gid};
}

}  // namespace

Expected<void> PathSteering::check_services(const PathRule& rule,
                                            const std::vector<DataService>& all) const {
  for (const std::string& name : rule.through) {
    if (std::any_of(all.begin(), all.end(),
                    [&](const DataService& service) { return service.name == name; })) {
      continue;
    }
    std::vector<std::string_view> names;
    for (const DataService& service : all)
      names.push_back(service.name);
    return fail(std::errc::invalid_argument,
                names.empty() ? fmt::format("there is no service {}: there are none", name)
                              : fmt::format("there is no service {}; there are {}", name,
                                            fmt::join(names, ", ")));
  }
  return {};
}

Expected<void> PathSteering::set(const SteeringOptions& options) {
  rules_ = {};
  hits_.clear();
  ++generation_;
  if (auto set = services_.set(options.services); !set) return set;
  for (const PathRule& rule : options.rules) {
    if (auto added = add(rule); !added) return added;
  }
  set_default(options.otherwise);
  return {};
}

Expected<void> PathSteering::set_services(std::vector<DataService> services) {
  for (const PathRule& rule : rules_.all()) {
    if (auto checked = check_services(rule, services); !checked) return checked;
  }
  return services_.set(std::move(services));
}

Expected<void> PathSteering::insert(std::size_t index, PathRule rule) {
  if (auto checked = check_services(rule, services_.services()); !checked) return checked;
  auto inserted = rules_.insert(index, std::move(rule));
  if (!inserted) return inserted;
  hits_.insert(hits_.begin() + static_cast<std::ptrdiff_t>(std::min(index, hits_.size())), 0);
  ++generation_;
  return {};
}

Expected<void> PathSteering::remove(std::size_t index) {
  auto removed = rules_.remove(index);
  if (!removed) return removed;
  hits_.erase(hits_.begin() + static_cast<std::ptrdiff_t>(index));
  ++generation_;
  return {};
}

void PathSteering::set_default(PathAction action) {
  if (action == rules_.default_action()) return;
  rules_.set_default(action);
  ++generation_;
}

PathSteering::Chain PathSteering::chain_of(const PathRule& rule, bool reversed) const {
  Chain chain;
  for (const std::string& name : rule.through)
    chain.push_back(*services_.find(name));
  if (reversed) std::reverse(chain.begin(), chain.end());
  return chain;
}

std::size_t PathSteering::passed(const Chain& chain, const PathQuery& query) const {
  const Guid asker = query.requester.port;
  if (asker == Guid{}) return 0;
  // A service LID says which service asks, where there are several at the port; and that it is none
  // of the applications there.
  const auto named = query.slid == Lid{} ? std::nullopt : services_.owner_of(query.slid);
  if (!named && asker == query.source.port) return 0;
  for (std::size_t i = chain.size(); i > 0; --i) {
    if ((!named || chain[i - 1] == *named) && services_.is_at(chain[i - 1], asker)) return i;
  }
  return 0;
}

PathDecision PathSteering::decide(const PathQuery& query, bool remember) {
  PathDecision decision = find(query, remember);
  if (remember) ++(decision.rule ? hits_[*decision.rule] : otherwise_);
  return decision;
}

PathDecision PathSteering::find(const PathQuery& query, bool remember) {
  std::optional<std::pair<std::size_t, RuleFit>> acting;
  for (std::size_t i = 0; i < rules_.all().size(); ++i) {
    const PathRule& rule = rules_.all()[i];
    const bool names_requester = !rule.requester.is_any();
    if (acting && !names_requester) continue;
    const RuleFit fit = try_rule(rule, query).fit;
    if (fit == RuleFit::kNot) continue;
    // What a rule has led to a service, the service itself asks for too: a rule further on may say
    // what it is to get. Others were for the ends.
    const bool of_service = !names_requester && rule.action == PathAction::kThrough &&
                            passed(chain_of(rule, is_reversed(fit, query)), query) > 0;
    if (!of_service) {
      PathDecision decision = answer(i, fit, query, remember);
      // Whoever says its service LID asks as the service, whichever rule answers it: that LID is
      // none of the source's.
      const bool named = query.slid != Lid{} && services_.owner_of(query.slid).has_value();
      if (acting && named && !decision.service) decision.service = services_.owner_of(query.slid);
      return decision;
    }
    acting.emplace(i, fit);
  }
  if (acting) return answer(acting->first, acting->second, query, remember);
  return {.action = rules_.default_action()};
}

PathDecision PathSteering::answer(std::size_t index, RuleFit fit, const PathQuery& query,
                                  bool remember) {
  const PathRule& rule = rules_.all()[index];
  PathDecision decision{.action = rule.action, .rule = index, .sl = rule.answer_sl};
  if (rule.action != PathAction::kThrough) return decision;
  const bool reversed = is_reversed(fit, query);
  const Chain chain = chain_of(rule, reversed);
  const FlowEnds ends = flow_of(rule, reversed, query);
  const std::size_t behind = passed(chain, query);
  if (behind > 0) {
    decision.service = chain[behind - 1];
    const auto own = services_.choose(chain[behind - 1], ends, false);
    const bool named = query.slid != Lid{} && services_.owner_of(query.slid).has_value();
    if (rule.symmetric && named) decision.returns_to = query.slid;
    if (rule.symmetric && !named && own) decision.returns_to = own->lids.front();
  }
  for (std::size_t i = behind; i < chain.size(); ++i) {
    const DataService& service = services_.services()[chain[i]];
    if (auto hop = services_.choose(chain[i], ends, remember)) {
      decision.hops.push_back(std::move(*hop));
      continue;
    }
    decision.reason = fmt::format("no instance of service {} is well", service.name);
    if (service.bypass) continue;
    decision.hops.clear();
    decision.action = PathAction::kNone;
    decision.sl.reset();
    return decision;
  }
  if (decision.hops.empty()) decision.action = PathAction::kDirect;
  return decision;
}

}  // namespace weft::sm

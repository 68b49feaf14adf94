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

bool PathSteering::is_elsewhere(const PathRule& rule) const {
  return rule.action == PathAction::kThrough && chain_of(rule, false).empty();
}

PathSteering::Chain PathSteering::chain_of(const PathRule& rule, bool reversed) const {
  Chain chain;
  for (const std::string& name : rule.through) {
    const std::size_t service = *services_.find(name);
    if (!services_.services()[service].elsewhere) chain.push_back(service);
  }
  if (reversed) std::reverse(chain.begin(), chain.end());
  return chain;
}

// A service LID says which service asks, where there are several at the port; and that it is none
// of the applications there.
std::optional<std::size_t> PathSteering::named_service(const PathQuery& query) const {
  return query.slid == Lid{} ? std::nullopt : services_.owner_of(query.slid);
}

bool PathSteering::asks_as_service(const PathQuery& query) const {
  const Guid asker = query.requester.port;
  if (asker == Guid{}) return false;
  if (const auto named = named_service(query)) return services_.is_at(*named, asker);
  return asker != query.source.port && services_.is_any_at(asker);
}

std::size_t PathSteering::passed(const Chain& chain, const PathQuery& query) const {
  if (!asks_as_service(query)) return 0;
  const auto named = named_service(query);
  for (std::size_t i = chain.size(); i > 0; --i) {
    if ((!named || chain[i - 1] == *named) && services_.is_at(chain[i - 1], query.requester.port)) {
      return i;
    }
  }
  return 0;
}

PathDecision PathSteering::decide(const PathQuery& query, bool remember) {
  PathDecision decision = find(query, remember);
  if (!remember) return decision;
  ++(decision.rule ? hits_[*decision.rule] : otherwise_);
  if (answers_.size() == kAnswersKept) answers_.pop_front();
  answers_.push_back({.number = ++answered_,
                      .when = now_,
                      .query = query,
                      .decision = decision,
                      .rule = decision.rule ? rules_.all()[*decision.rule].name : std::string()});
  return decision;
}

void PathSteering::told(std::size_t paths) {
  if (!answers_.empty()) answers_.back().paths = paths;
}

PathDecision PathSteering::find(const PathQuery& query, bool remember) {
  const bool of_service = asks_as_service(query);
  std::vector<Leading> led;
  bool all_known = false;  // no rule further on has led anything to the service
  for (std::size_t i = 0; i < rules_.all().size(); ++i) {
    const PathRule& rule = rules_.all()[i];
    const bool for_ends = rule.requester.is_any();
    if (for_ends && all_known) continue;
    const RuleFit fit = try_rule(rule, query, of_service && for_ends).fit;
    if (fit == RuleFit::kNot || is_elsewhere(rule)) continue;
    if (for_ends && of_service) {
      // What a rule has led to a service, the service itself asks for too: a rule further on may
      // say what it is to get. Others were for the ends, and end what comes by rules behind them.
      auto through = leading(i, fit, query);
      const bool all_fit = !rule.looks_at_query();
      if (through) led.push_back(std::move(*through));
      if (!led.empty()) all_known = all_fit;
      if (!led.empty() || !all_fit) continue;
    }
    PathDecision decision = answer(i, fit, query, remember);
    // Whoever says its service LID asks as the service, whichever rule answers it: that LID is
    // none of the source's.
    if (!led.empty() && !decision.service) decision.service = named_service(query);
    return decision;
  }
  if (!led.empty()) return lead_on(led, query, remember);
  return {.action = rules_.default_action()};
}

std::optional<PathSteering::Leading> PathSteering::leading(std::size_t index, RuleFit fit,
                                                           const PathQuery& query) const {
  const PathRule& rule = rules_.all()[index];
  if (rule.action != PathAction::kThrough) return std::nullopt;
  Chain chain = chain_of(rule, is_reversed(fit, query));
  const std::size_t behind = passed(chain, query);
  if (behind == 0) return std::nullopt;
  chain.erase(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(behind));
  return Leading{.rule = index, .fit = fit, .ahead = std::move(chain)};
}

// By which of them a packet came, nobody can tell. None is to miss a service that its own rule
// has for it; one too many is no way around anything.
PathDecision PathSteering::lead_on(const std::vector<Leading>& rules, const PathQuery& query,
                                   bool remember) {
  const auto has_all = [&](const Leading& one) {
    return std::ranges::all_of(rules, [&](const Leading& other) {
      return std::ranges::all_of(other.ahead, [&](std::size_t service) {
        return std::ranges::find(one.ahead, service) != one.ahead.end();
      });
    });
  };
  const auto widest = std::ranges::find_if(rules, has_all);
  if (widest != rules.end()) return answer(widest->rule, widest->fit, query, remember);
  std::vector<std::size_t> numbers;
  for (const Leading& one : rules)
    numbers.push_back(one.rule + 1);
  PathDecision decision = answer(rules.front().rule, rules.front().fit, query, false);
  decision.action = PathAction::kNone;
  decision.hops.clear();
  decision.sl.reset();
  decision.reason = fmt::format(
      "rules {} lead to service {} what cannot be told apart there, and each to another one after "
      "it",
      fmt::join(numbers, ", "), services_.services()[*decision.service].name);
  return decision;
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
    // It is that of the path that the rule was asked for.
    if (!decision.sl) decision.sl = rule.sl;
    const auto own = services_.choose(chain[behind - 1], ends, false);
    const bool named = named_service(query).has_value();
    if (rule.symmetric && named) decision.returns_to = query.slid;
    // It may have those of its pair beside its own, and what has come by one subnet's says nothing
    // of another's: the one by which the ends would be led to it from here.
    const bool is_own = own && own->port == query.requester.port;
    if (rule.symmetric && named && is_own && services_.services()[chain[behind - 1]].joins) {
      decision.returns_to = own->lids.front();
    }
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

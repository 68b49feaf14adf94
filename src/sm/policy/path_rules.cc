// SPDX-License-Identifier: Apache-2.0
#include "sm/policy/path_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ids.h"

namespace weft::sm {
namespace {

template <class List, class Value>
bool has(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool fits_pkey(const std::optional<PKey>& wanted, PKey pkey) {
  if (!wanted) return true;
  // 0 is the number of no partition (IBA 10.9.1.1).
  return (pkey.value() & kPartitionBits) != 0 &&
         (pkey.value() & kPartitionBits) == (wanted->value() & kPartitionBits);
}

bool fits_service(const std::optional<ServiceIdRange>& wanted, std::optional<std::uint64_t> service,
                  bool on_the_way) {
  if (!wanted) return true;
  if (!service) return on_the_way;
  return *service >= wanted->first && *service <= wanted->last;
}

Expected<void> check(const PathRule& rule) {
  const auto wrong = [](const std::string& text) {
    return fail(std::errc::invalid_argument, text);
  };
  if ((rule.action == PathAction::kThrough) == rule.through.empty()) {
    return wrong(rule.through.empty() ? "a rule that leads through services names one at least"
                                      : "a rule that names services leads through them");
  }
  for (std::size_t i = 0; i < rule.through.size(); ++i) {
    if (std::count(rule.through.begin(), rule.through.end(), rule.through[i]) > 1) {
      return wrong(fmt::format("service {} is named twice", rule.through[i]));
    }
  }
  if (rule.answer_sl && rule.action == PathAction::kNone) {
    return wrong("a rule by which there is no path has no SL to give");
  }
  if (rule.service_ids && rule.service_ids->last < rule.service_ids->first) {
    return wrong("the range of service IDs ends before it begins");
  }
  return {};
}

}  // namespace

std::string_view to_string(PathAction action) {
  switch (action) {
    case PathAction::kDirect:
      return "direct";
    case PathAction::kThrough:
      return "through";
    case PathAction::kNone:
      break;
  }
  return "none";
}

bool EndMatch::fits(const PathEnd& end) const {
  if (is_any()) return true;
  // 0 is no port, and no LID, that could be named.
  if (end.port != Guid{} && has(ports, end.port)) return true;
  if (end.lid != Lid{} && has(lids, end.lid)) return true;
  return std::any_of(gids.begin(), gids.end(),
                     [&](const GidPrefix& prefix) { return prefix.covers(end.gid); });
}

RuleTrial try_rule(const PathRule& rule, const PathQuery& query, bool on_the_way) {
  if (!rule.requester.fits(query.requester)) return {.unmet = "requester"};
  if (!fits_service(rule.service_ids, query.service_id, on_the_way)) return {.unmet = "service_id"};
  if (!fits_pkey(rule.pkey, query.pkey)) return {.unmet = "pkey"};
  if (rule.sl && rule.sl != query.sl && !on_the_way) return {.unmet = "sl"};
  const bool any_class = !rule.qos_class || (on_the_way && !query.qos_class);
  if (!any_class && rule.qos_class != query.qos_class) return {.unmet = "qos_class"};
  const bool from = rule.from.fits(query.source);
  const bool forward = from && rule.to.fits(query.destination);
  const bool back =
      rule.symmetric && rule.from.fits(query.destination) && rule.to.fits(query.source);
  if (forward) return {.fit = back ? RuleFit::kBoth : RuleFit::kForward};
  if (back) return {.fit = RuleFit::kReturn};
  return {.unmet = from ? "to" : "from"};
}

Expected<void> PathRules::insert(std::size_t index, PathRule rule) {
  if (auto checked = check(rule); !checked) return checked;
  if (!rule.name.empty() && find(rule.name)) {
    return fail(std::errc::file_exists, fmt::format("there is a rule {} already", rule.name));
  }
  if (rules_.size() >= kMost) {
    return fail(std::errc::no_buffer_space, fmt::format("there are {} rules at most", kMost));
  }
  index = std::min(index, rules_.size());
  rules_.insert(rules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(rule));
  return {};
}

Expected<void> PathRules::remove(std::size_t index) {
  if (index >= rules_.size()) {
    return fail(std::errc::result_out_of_range,
                rules_.empty() ? "there are no rules"
                               : fmt::format("there is no rule {}: there are 1 to {}", index + 1,
                                             rules_.size()));
  }
  rules_.erase(rules_.begin() + static_cast<std::ptrdiff_t>(index));
  return {};
}

std::optional<std::size_t> PathRules::find(std::string_view name) const {
  const auto found = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const PathRule& rule) { return rule.name == name; });
  if (name.empty() || found == rules_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - rules_.begin());
}

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
#include "sm/metrics.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>

#include "base/metrics_text.h"

namespace weft::sm {
namespace {

using Type = MetricsText::Type;

constexpr std::string_view kPrefix = "weft_sm_";

void add_counter(MetricsText& out, const CounterInfo& info, std::uint64_t value) {
  out.begin(fmt::format("{}{}_total", kPrefix, info.name), Type::kCounter, info.help);
  out.add(value);
}

void add_gauge(MetricsText& out, std::string_view name, std::string_view help,
               std::uint64_t value) {
  out.begin(fmt::format("{}{}", kPrefix, name), Type::kGauge, help);
  out.add(value);
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void add_state(MetricsText& out, const SubnetManager& manager) {
  using enum wire::SmState;
  out.begin(fmt::format("{}state", kPrefix), Type::kGauge,
            "1 for the state that the manager is in, 0 for the others");
  for (const wire::SmState state : {kNotActive, kDiscovering, kStandby, kMaster}) {
    out.add(manager.state() == state ? 1u : 0u, {{"state", wire::to_string(state)}});
  }
  add_gauge(out, "priority", "of the manager among managers, 0 to 15", manager.info().priority);
}

void add_last_sweep(MetricsText& out, const SweepReport& sweep) {
  out.begin(fmt::format("{}last_sweep_seconds", kPrefix), Type::kGauge,
            "how long the last sweep took to find out what there is, and to set it up");
  out.add_seconds(seconds(sweep.discovery), {{"phase", "discovery"}});
  out.add_seconds(seconds(sweep.setup), {{"phase", "setup"}});
  add_gauge(out, "last_sweep_switches", "switches that the last sweep found", sweep.switches);
  add_gauge(out, "last_sweep_adapters", "channel adapters that the last sweep found",
            sweep.adapters);
  add_gauge(out, "last_sweep_end_ports", "ports with LIDs that the last sweep found",
            sweep.end_ports);
  add_gauge(out, "last_sweep_links", "links that the last sweep found", sweep.links);
  add_gauge(out, "last_sweep_writes", "packets of the last sweep that changed something",
            sweep.writes);
  add_gauge(out, "last_sweep_failures",
            "packets of the last sweep that should have, and were refused or not answered",
            sweep.failures);
  add_gauge(out, "last_sweep_problems", "what the last sweep could not do", sweep.problems.size());
}

std::string_view method_name(wire::MadMethod method) {
  switch (method) {
    case wire::MadMethod::kGet:
      return "Get";
    case wire::MadMethod::kSet:
      return "Set";
    case wire::MadMethod::kGetTable:
      return "GetTable";
    case wire::MadMethod::kGetTraceTable:
      return "GetTraceTable";
    case wire::MadMethod::kGetMulti:
      return "GetMulti";
    case wire::MadMethod::kDelete:
      return "Delete";
    default:
      return "other";
  }
}

void add_queries(MetricsText& out, const Administrator& administrator) {
  for (const auto& [kind, count] : administrator.queries()) {
    const std::string_view attribute = wire::to_string(kind.attribute);
    out.add(count, {{"method", method_name(kind.method)},
                    {"attribute", attribute.empty() ? "other" : attribute}});
  }
}

void add_administrator(MetricsText& out, const Administrator& administrator) {
  constexpr std::string_view kQueries =
      kSaCounters[static_cast<std::size_t>(SaCounter::kQueries)].name;
  for (const CounterValue& counter : administrator.counters().snapshot()) {
    if (counter.name != kQueries) {
      add_counter(out, {counter.name, counter.help}, counter.value);
      continue;
    }
    out.begin(fmt::format("{}{}_total", kPrefix, counter.name), Type::kCounter, counter.help);
    add_queries(out, administrator);
  }
  add_gauge(out, "groups", "multicast groups that there are",
            administrator.groups().groups().size());
  add_gauge(out, "services", "service records that there are", administrator.services());
  add_gauge(out, "subscriptions", "subscriptions to notices that there are",
            administrator.subscriptions());
}

}  // namespace

std::string metrics_text(const SubnetManagement& management) {
  const SubnetManager& manager = management.manager();
  MetricsText out;
  add_state(out, manager);
  add_counter(out, {"sweeps", "sweeps that have ended, light ones not counted"}, manager.sweeps());
  for (const SmpCountInfo& each : kSmpCounts)
    add_counter(out, each.info, manager.smps().*each.count);
  add_counter(out, {"denied", "traps and commands with a wrong key, or not legal at that moment"},
              manager.denied());
  add_last_sweep(out, manager.report());
  add_administrator(out, management.administrator());
  return out.text();
}

}  // namespace weft::sm

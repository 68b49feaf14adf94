// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fabric/lab_service_text.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;
namespace fw = service::firewall;

constexpr std::size_t kMostFlows = 32;
constexpr std::size_t kMostTenants = 256;

// "a:2" where the end is a port of the lab, "LID 7" where packets have no GRH, else its GID.
std::string end_name(const Gid& end, const fabric::Lab& lab) {
  const auto& bytes = end.bytes();
  if (std::all_of(bytes.begin(), bytes.begin() + 14, [](auto byte) { return byte == 0; })) {
    return fmt::format("LID {}", bytes[14] << 8 | bytes[15]);
  }
  const Guid guid = sm::guid_of(end);
  for (const fabric::LabNode& node : lab.nodes) {
    const auto found = std::ranges::find(node.port_guids, guid);
    if (found == node.port_guids.end()) continue;
    const auto port = static_cast<std::uint8_t>(found - node.port_guids.begin() + 1);
    return fabric::to_string(fabric::LabPort{node.name, port});
  }
  return end.to_string();
}

// As `rates` of a lab file call it.
std::string tenant_name(service::Limiter::By by, const service::Limiter::Tenant& tenant,
                        const fabric::Lab& lab) {
  using By = service::Limiter::By;
  if (by == By::kPartition) return fmt::format("{:#06x}", tenant.partition.value());
  const std::string source = end_name(tenant.source, lab);
  if (by == By::kSource) return source;
  return fmt::format("{} to {}", source, end_name(tenant.destination, lab));
}

Json latency_json(const service::Monitor::Latency& latency) {
  return {{"samples", latency.samples},
          {"least_ns", latency.least.count()},
          {"mean_ns", latency.mean().count()},
          {"most_ns", latency.most.count()},
          {"last_ns", latency.last.count()}};
}

std::string_view action_name(fw::Action action) {
  constexpr std::array<std::string_view, 7> kNames{"none", "accept", "drop",  "reject",
                                                   "jump", "goto",   "return"};
  return kNames[static_cast<std::size_t>(action)];
}

Json tally_json(const service::Tally& tally) {
  return {{"packets", tally.packets}, {"bytes", tally.bytes}};
}

}  // namespace

Json details_of(const service::Monitor& monitor, const fabric::Lab& lab) {
  Json flows = Json::array();
  for (const auto& [flow, bytes, error] : monitor.top_flows(kMostFlows)) {
    Json row{{"from", end_name(flow.from, lab)},
             {"to", end_name(flow.to, lab)},
             {"sgid", flow.from.to_string()},
             {"dgid", flow.to.to_string()},
             {"dest_qp", flow.dest_qp.value()},
             {"bytes", bytes},
             {"error_bytes", error}};
    if (const auto latency = monitor.latency(flow)) row["latency"] = latency_json(*latency);
    flows.push_back(std::move(row));
  }
  Json senders = Json::array();
  for (const auto& [sender, bytes, error] : monitor.top_talkers(kMostFlows)) {
    senders.push_back({{"from", end_name(sender, lab)},
                       {"sgid", sender.to_string()},
                       {"bytes", bytes},
                       {"error_bytes", error}});
  }
  const auto rate = monitor.rate();
  return {{"rate", {{"packets_per_s", rate.packets_per_s}, {"bytes_per_s", rate.bytes_per_s}}},
          {"flows", std::move(flows)},
          {"senders", std::move(senders)}};
}

Json details_of(const service::Limiter& limiter, const fabric::Lab& lab) {
  Json tenants = Json::array();
  for (const auto& tenant : limiter.tenants(kMostTenants)) {
    Json row{{"tenant", tenant_name(limiter.by(), tenant, lab)},
             {"bytes_per_s", tenant.rate.bytes_per_s},
             {"burst", tenant.rate.burst},
             {"packets", tenant.packets},
             {"bytes", tenant.bytes},
             {"dropped", tenant.dropped}};
    tenants.push_back(std::move(row));
  }
  constexpr std::array<std::string_view, 3> kNames{"partition", "source", "pair"};
  return {{"by", kNames[static_cast<std::size_t>(limiter.by())]}, {"tenants", std::move(tenants)}};
}

Json details_of(fw::Firewall& firewall) {
  Json rules = Json::array();
  const fw::Program& program = firewall.program();
  for (std::uint32_t number = 0; number < program.size(); ++number) {
    const fw::Rule& rule = program.rule(number);
    Json row = tally_json(firewall.matched(number));
    row["chain"] = program.chain_of(number).name;
    row["line"] = rule.line;
    row["action"] = action_name(rule.action);
    if (!rule.comment.empty()) row["comment"] = rule.comment;
    rules.push_back(std::move(row));
  }
  Json policy = tally_json(firewall.matched(fw::Program::kPolicy));
  policy["action"] = action_name(program.rules().policy);
  return {{"rules", std::move(rules)}, {"policy", std::move(policy)}};
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/steering_options.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "fabric/lab_subnets.h"

namespace weft::daemon {
namespace {

using fabric::Lab;
using fabric::LabService;

Guid guid_of(const Lab& lab, const fabric::LabPort& port) {
  const fabric::LabNode* const node = lab.find_node(port.node);
  assert(node != nullptr && port.port >= 1 && port.port <= node->port_guids.size());
  return node->port_guids[port.port - 1u];
}

sm::EndMatch end_match(const Lab& lab, const fabric::LabPolicyEnds& ends) {
  sm::EndMatch match{.gids = ends.gids, .lids = ends.lids};
  for (const std::string& name : ends.nodes) {
    const fabric::LabNode* const node = lab.find_node(name);
    assert(node != nullptr);
    match.ports.insert(match.ports.end(), node->port_guids.begin(), node->port_guids.end());
  }
  for (const fabric::LabPort& port : ends.ports)
    match.ports.push_back(guid_of(lab, port));
  return match;
}

sm::DataService data_service(const Lab& lab, const LabService& service) {
  sm::DataService made{.name = service.name,
                       .balance = service.by_load ? sm::Balance::kLoad : sm::Balance::kHash,
                       .pair = service.both_work ? sm::PairMode::kBoth : sm::PairMode::kStandby,
                       .bypass = service.bypass};
  for (const fabric::LabServiceInstance& instance : service.instances) {
    auto& members = made.instances.emplace_back();
    for (const fabric::LabServiceMember& member : instance)
      members.push_back({.port = guid_of(lab, member.at), .lids = member.lids});
  }
  return made;
}

// A router's, that no rule names: between each two of the subnets that it is in.
void add_routes(const Lab& lab, const LabService& router, std::vector<sm::PathRule>& rules) {
  const fabric::LabSubnets subnets(lab);
  std::vector<GidPrefix> prefixes;
  for (const fabric::LabServiceInstance& instance : router.instances) {
    for (const fabric::LabServiceMember& member : instance) {
      const auto node = static_cast<std::size_t>(lab.find_node(member.at.node) - lab.nodes.data());
      const std::size_t subnet = subnets.of(node, member.at.port);
      const GidPrefix prefix(lab.management_of(subnet).subnet_prefix);
      if (std::ranges::find(prefixes, prefix) == prefixes.end()) prefixes.push_back(prefix);
    }
  }
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      rules.push_back({.from = {.gids = {prefixes[j]}},
                       .to = {.gids = {prefixes[i]}},
                       .action = sm::PathAction::kThrough,
                       .through = {router.name},
                       .symmetric = true});
    }
  }
}

// A balancer's, that no rule names: paths to the ports that it is at, which are the service.
sm::PathRule to_service(const Lab& lab, const LabService& balancer) {
  sm::PathRule rule{.action = sm::PathAction::kThrough, .through = {balancer.name}};
  for (const fabric::LabServiceInstance& instance : balancer.instances)
    rule.to.ports.push_back(guid_of(lab, instance.front().at));
  return rule;
}

// Of the services that no rule names.
void add_usual_rules(const Lab& lab, std::vector<sm::PathRule>& rules) {
  sm::PathRule own{.name = "at-services", .symmetric = true};
  sm::PathRule all{.name = "all-others", .action = sm::PathAction::kThrough, .symmetric = true};
  for (const LabService& service : lab.data.services) {
    if (service.is_tap()) continue;
    const bool named = std::ranges::any_of(lab.data.policies, [&](const fabric::LabPolicy& rule) {
      return std::ranges::find(rule.through, service.name) != rule.through.end();
    });
    if (named) continue;
    if (service.type == "router") {
      add_routes(lab, service, rules);
      continue;
    }
    if (service.type == "balancer") {
      rules.push_back(to_service(lab, service));
      continue;
    }
    all.through.push_back(service.name);
    for (const fabric::LabServiceInstance& instance : service.instances) {
      for (const fabric::LabServiceMember& member : instance)
        own.from.ports.push_back(guid_of(lab, member.at));
    }
  }
  if (all.through.empty()) return;
  for (sm::PathRule* rule : {&own, &all}) {
    const bool taken = std::ranges::find(rules, rule->name, &sm::PathRule::name) != rules.end();
    if (taken) rule->name.clear();
    rules.push_back(std::move(*rule));
  }
}

}  // namespace

sm::PathRule path_rule(const Lab& lab, const fabric::LabPolicy& policy) {
  sm::PathRule rule{.name = policy.name,
                    .from = end_match(lab, policy.from),
                    .to = end_match(lab, policy.to),
                    .requester = end_match(lab, policy.requester),
                    .pkey = policy.pkey,
                    .sl = policy.sl,
                    .qos_class = policy.qos_class,
                    .through = policy.through,
                    .answer_sl = policy.answer_sl,
                    .symmetric = policy.symmetric};
  if (policy.service_ids) {
    rule.service_ids =
        sm::ServiceIdRange{.first = policy.service_ids->first, .last = policy.service_ids->second};
  }
  if (!policy.through.empty()) {
    rule.action = sm::PathAction::kThrough;
  } else if (policy.refused) {
    rule.action = sm::PathAction::kNone;
  }
  return rule;
}

sm::SteeringOptions steering_options(const Lab& lab) {
  sm::SteeringOptions options;
  for (const LabService& service : lab.data.services) {
    if (!service.is_tap()) options.services.push_back(data_service(lab, service));
  }
  for (const fabric::LabPolicy& policy : lab.data.policies)
    options.rules.push_back(path_rule(lab, policy));
  add_usual_rules(lab, options.rules);
  return options;
}

}  // namespace weft::daemon

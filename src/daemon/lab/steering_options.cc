// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/steering_options.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "fabric/lab_subnets.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
namespace {

using fabric::Lab;
using fabric::LabService;

// A lab as the manager of one of its subnets has it.
struct SteeredLab {
  SteeredLab(const Lab& of, std::size_t managed) : lab(of), subnet(managed), subnets(of) {}
  [[nodiscard]] std::size_t subnet_of(const fabric::LabPort& port) const {
    return subnets.of(lab, port);
  }
  [[nodiscard]] bool joins(const LabService& service) const {
    return joins_subnets(lab, subnets, service);
  }

  const Lab& lab;
  const std::size_t subnet;
  const fabric::LabSubnets subnets;
};

Guid guid_of(const Lab& lab, const fabric::LabPort& port) {
  const fabric::LabNode* const node = lab.find_node(port.node);
  assert(node != nullptr && port.port >= 1 && port.port <= node->port_guids.size());
  return node->port_guids[port.port - 1u];
}

// A port of another subnet has a GID there, and is no port of this one.
void add_end(const SteeredLab& in, const fabric::LabPort& port, sm::EndMatch& match) {
  const Guid guid = guid_of(in.lab, port);
  const std::size_t subnet = in.subnet_of(port);
  if (subnet == in.subnet) return match.ports.push_back(guid);
  const std::uint64_t prefix = in.lab.management_of(subnet).subnet_prefix;
  match.gids.emplace_back(sm::make_gid(prefix, guid), GidPrefix::kMostBits);
}

sm::EndMatch end_match(const SteeredLab& in, const fabric::LabPolicyEnds& ends) {
  sm::EndMatch match{.gids = ends.gids, .lids = ends.lids};
  for (const std::string& name : ends.nodes) {
    const fabric::LabNode* const node = in.lab.find_node(name);
    assert(node != nullptr);
    for (std::size_t i = 1; i <= node->port_guids.size(); ++i)
      add_end(in, {.node = name, .port = static_cast<std::uint8_t>(i)}, match);
  }
  for (const fabric::LabPort& port : ends.ports)
    add_end(in, port, match);
  return match;
}

// Subnets in which the service has a port, in the order of these.
std::vector<std::size_t> subnets_of(const SteeredLab& lab, const LabService& service) {
  std::vector<std::size_t> in;
  for (const fabric::LabServiceInstance& instance : service.instances) {
    for (const fabric::LabServiceMember& member : instance) {
      const std::size_t subnet = lab.subnet_of(member.at);
      if (std::ranges::find(in, subnet) == in.end()) in.push_back(subnet);
    }
  }
  return in;
}

bool is_in(const SteeredLab& lab, const LabService& service, std::size_t subnet) {
  const std::vector<std::size_t> in = subnets_of(lab, service);
  return std::ranges::find(in, subnet) != in.end();
}

sm::DataService data_service(const SteeredLab& in, const LabService& service) {
  sm::DataService made{.name = service.name,
                       .balance = service.by_load ? sm::Balance::kLoad : sm::Balance::kHash,
                       .pair = service.both_work ? sm::PairMode::kBoth : sm::PairMode::kStandby,
                       .bypass = service.bypass,
                       .joins = in.joins(service),
                       .elsewhere = !is_in(in, service, in.subnet)};
  if (made.elsewhere) return made;
  for (const fabric::LabServiceInstance& instance : service.instances) {
    auto& members = made.instances.emplace_back();
    for (const fabric::LabServiceMember& member : instance) {
      members.push_back({.port = guid_of(in.lab, member.at),
                         .node = guid_of(in.lab, {.node = member.at.node}),
                         .lids = member.lids});
    }
  }
  return made;
}

// A router's, that no rule names: between each two of the subnets that it is in, and through the
// services of both, `others`, that no rule names either.
void add_routes(const SteeredLab& in, const LabService& router,
                const std::vector<const LabService*>& others, std::vector<sm::PathRule>& rules) {
  const std::vector<std::size_t> subnets = subnets_of(in, router);
  const auto prefix = [&](std::size_t subnet) {
    return GidPrefix(in.lab.management_of(subnet).subnet_prefix);
  };
  for (std::size_t i = 0; i < subnets.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      sm::PathRule rule{.from = {.gids = {prefix(subnets[j])}},
                        .to = {.gids = {prefix(subnets[i])}},
                        .action = sm::PathAction::kThrough,
                        .symmetric = true};
      for (const LabService* const other : others) {
        if (is_in(in, *other, subnets[j])) rule.through.push_back(other->name);
      }
      rule.through.push_back(router.name);
      for (const LabService* const other : others) {
        const bool is_new = std::ranges::find(rule.through, other->name) == rule.through.end();
        if (is_new && is_in(in, *other, subnets[i])) rule.through.push_back(other->name);
      }
      rules.push_back(std::move(rule));
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

// What all paths lead through that no rule says anything of.
bool stands_between_all(const SteeredLab& in, const LabService& service) {
  if (service.is_tap() || in.joins(service) || service.type == "balancer") return false;
  return std::ranges::none_of(in.lab.data.policies, [&](const fabric::LabPolicy& rule) {
    return std::ranges::find(rule.through, service.name) != rule.through.end();
  });
}

// Of the services that no rule names.
void add_usual_rules(const SteeredLab& in, std::vector<sm::PathRule>& rules) {
  const Lab& lab = in.lab;
  std::vector<const LabService*> others;
  for (const LabService& service : lab.data.services) {
    if (stands_between_all(in, service)) others.push_back(&service);
  }
  for (const LabService& service : lab.data.services) {
    const bool named = std::ranges::any_of(lab.data.policies, [&](const fabric::LabPolicy& rule) {
      return std::ranges::find(rule.through, service.name) != rule.through.end();
    });
    if (named) continue;
    if (in.joins(service)) add_routes(in, service, others, rules);
    if (service.type == "balancer") rules.push_back(to_service(lab, service));
  }
  if (others.empty()) return;
  sm::PathRule own{.name = "at-services", .symmetric = true};
  sm::PathRule all{.name = "all-others", .action = sm::PathAction::kThrough, .symmetric = true};
  for (const LabService* const service : others) {
    all.through.push_back(service->name);
    for (const fabric::LabServiceInstance& instance : service->instances) {
      for (const fabric::LabServiceMember& member : instance)
        add_end(in, member.at, own.from);
    }
  }
  for (sm::PathRule* rule : {&own, &all}) {
    const bool taken = std::ranges::find(rules, rule->name, &sm::PathRule::name) != rules.end();
    if (taken) rule->name.clear();
    rules.push_back(std::move(*rule));
  }
}

sm::PathRule rule_of(const SteeredLab& in, const fabric::LabPolicy& policy) {
  sm::PathRule rule{.name = policy.name,
                    .from = end_match(in, policy.from),
                    .to = end_match(in, policy.to),
                    .requester = end_match(in, policy.requester),
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

}  // namespace

sm::PathRule path_rule(const Lab& lab, const fabric::LabPolicy& policy, std::size_t subnet) {
  return rule_of(SteeredLab(lab, subnet), policy);
}

std::size_t managed_subnet_of(const Lab& lab, std::string_view node, std::uint8_t port) {
  const fabric::LabNode* const found = lab.find_node(node);
  if (found == nullptr) return 0;
  const bool is_there =
      found->kind == fabric::NodeKind::kSwitch || (port >= 1 && port <= found->port_guids.size());
  if (!is_there) return 0;
  return fabric::LabSubnets(lab).of(static_cast<std::size_t>(found - lab.nodes.data()), port);
}

sm::SteeringOptions steering_options(const Lab& lab, std::size_t subnet) {
  const SteeredLab in(lab, subnet);
  sm::SteeringOptions options;
  for (const LabService& service : lab.data.services) {
    if (!service.is_tap()) options.services.push_back(data_service(in, service));
  }
  for (const fabric::LabPolicy& policy : lab.data.policies)
    options.rules.push_back(rule_of(in, policy));
  add_usual_rules(in, options.rules);
  return options;
}

}  // namespace weft::daemon

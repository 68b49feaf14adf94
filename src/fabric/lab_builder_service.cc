// SPDX-License-Identifier: Apache-2.0
// Data services and the rules that lead through them: what they name has to be there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "fabric/lab_builder.h"
#include "fabric/lab_service_text.h"
#include "fabric/lab_subnets.h"

namespace weft::fabric {
namespace {

template <class Each>
void each_member(const LabService& service, Each&& each) {
  for (const LabServiceInstance& instance : service.instances) {
    for (const LabServiceMember& member : instance)
      each(member);
  }
}

}  // namespace

const LabService* LabServices::find(std::string_view name) const {
  const auto found = std::ranges::find(services, name, &LabService::name);
  return found == services.end() ? nullptr : &*found;
}

Expected<void> LabBuilder::add_service(LabService service, Where where) {
  if (!good_name(service.name)) {
    return wrong(where, fmt::format("the name of a service has 1 to {} letters, digits and ._-, "
                                    "the first no -",
                                    kMaxName));
  }
  if (service.type.empty()) {
    if (std::ranges::find(kServiceTypes, service.name) == kServiceTypes.end()) {
      return wrong(where, fmt::format("needs a type, one of {}", fmt::join(kServiceTypes, ", ")));
    }
    service.type = service.name;
  }
  if (service.instances.empty()) {
    return wrong(where, "needs the port that it is at, as in at = \"fw\"");
  }
  if (const std::string trouble = trouble_of(service); !trouble.empty()) {
    return wrong(where, trouble);
  }
  lab_.data.services.push_back(std::move(service));
  service_where_.push_back(std::move(where));
  return {};
}

void LabBuilder::add_policy(LabPolicy policy, Where where) {
  lab_.data.policies.push_back(std::move(policy));
  policy_where_.push_back(std::move(where));
}

Expected<void> LabBuilder::check_port(const LabPort& port, const Where& where) const {
  const LabNode* const node = lab_.find_node(port.node);
  if (node == nullptr) return wrong(where, fmt::format("there is no node {}", port.node));
  if (node->kind == NodeKind::kSwitch) {
    return wrong(where, fmt::format("{} is a switch; name a node", port.node));
  }
  if (port.port > node->ports) {
    return wrong(where, fmt::format("{}:{}: {} has ports 1 to {}", port.node, port.port, port.node,
                                    node->ports));
  }
  return {};
}

Expected<void> LabBuilder::check_services() const {
  std::set<Lid> lids;
  for (std::size_t i = 0; i < lab_.data.services.size(); ++i) {
    const Where& where = service_where_[i];
    const Where at{.line = where.line, .key = where.key + ".at"};
    Expected<void> done;
    std::set<std::pair<std::string, unsigned>> ports;
    each_member(lab_.data.services[i], [&](const LabServiceMember& member) {
      if (!done) return;
      done = check_port(member.at, at);
      if (done && lab_.find_node(member.at.node)->kind != NodeKind::kChannelAdapter) {
        done = wrong(at, fmt::format("{} is a router; a service is at a node", member.at.node));
      }
      if (done && !ports.emplace(member.at.node, member.at.port).second) {
        done = wrong(at, fmt::format("{} is named twice", to_string(member.at)));
      }
      for (const Lid lid : member.lids) {
        if (!done || lids.insert(lid).second) continue;
        done = wrong({.line = where.line, .key = where.key + ".lids"},
                     fmt::format("service LID {} is there twice", lid.value()));
      }
    });
    if (!done) return done;
    if (done = check_names(lab_.data.services[i], where); !done) return done;
    if (auto joins = check_router(lab_.data.services[i], at); !joins) return joins;
  }
  return check_policies();
}

// Of services and nodes that keys of its name.
Expected<void> LabBuilder::check_names(const LabService& service, const Where& where) const {
  for (const LabLimiter::Tenant& tenant : service.limiter.rates) {
    std::vector<LabLimiter::End> ends;
    if (const auto* end = std::get_if<LabLimiter::End>(&tenant.who)) ends = {*end};
    if (const auto* pair = std::get_if<LabLimiter::Pair>(&tenant.who)) {
      ends = {pair->from, pair->to};
    }
    for (const LabLimiter::End& end : ends) {
      const auto* const node = std::get_if<std::string>(&end);
      if (node == nullptr || lab_.find_node(*node) != nullptr) continue;
      return wrong({.line = where.line, .key = where.key + ".rates"},
                   fmt::format("there is no node {}", *node));
    }
  }
  for (const LabPort& server : service.balancer.servers) {
    const Where at{.line = where.line, .key = where.key + ".servers"};
    if (auto done = check_port(server, at); !done) return done;
  }
  if (service.mirror_to.empty()) return {};
  const Where at{.line = where.line, .key = where.key + ".mirror_to"};
  const LabService* const other = lab_.data.find(service.mirror_to);
  if (other == nullptr) return wrong(at, fmt::format("there is no service {}", service.mirror_to));
  if (other->type == "process") {
    return wrong(
        at, fmt::format("{} is a process; copies go to services in the lab's daemon", other->name));
  }
  if (other->is_external()) {
    return wrong(at, fmt::format("{} works on a server outside of the fabric; copies go to "
                                 "services in the lab's daemon",
                                 other->name));
  }
  if (other->has_threads()) {
    return wrong(at, fmt::format("{} has threads of its own; copies go to services in the daemon's",
                                 other->name));
  }
  if (!other->mirror_to.empty()) {
    return wrong(
        at, fmt::format("{} has mirror_to itself, and copies are not copied again", other->name));
  }
  return {};
}

Expected<void> LabBuilder::check_router(const LabService& service, const Where& at) const {
  const LabSubnets subnets(lab_);
  if (!joins_subnets(lab_, subnets, service)) return {};
  if (service.by_load) {
    return wrong(at, "a router is not balanced by load: each subnet has to choose the same node");
  }
  std::map<std::string, std::size_t> ports;
  std::map<std::string, std::string> partners;
  for (const LabServiceInstance& instance : service.instances) {
    for (const LabServiceMember& member : instance) {
      ++ports[member.at.node];
      // Each of a pair is to have the same other one in all subnets; of itself, none.
      const LabServiceMember& other =
          &member == &instance.front() ? instance.back() : instance.front();
      const std::string partner =
          fmt::format("{}{}", &member == &instance.front() ? "before " : "behind ", other.at.node);
      const bool alone = instance.size() == 1;
      const auto [known, is_new] = partners.emplace(member.at.node, alone ? "" : partner);
      if (is_new || known->second == (alone ? "" : partner)) continue;
      return wrong(at, fmt::format("the ports of {} are in pairs with those of one other node, in "
                                   "the same order, as in at = [[\"g1:1\", \"g2:1\"], [\"g1:2\", "
                                   "\"g2:2\"]]",
                                   member.at.node));
    }
  }
  for (const auto& [node, count] : ports) {
    if (count > 1) continue;
    return wrong(at, fmt::format("a router is at several ports of a node, as in "
                                 "at = [\"{0}:1\", \"{0}:2\"]",
                                 node));
  }
  return check_router_pairs(service, subnets, at);
}

// Both members of a pair are in one subnet, whose manager leads the one's LIDs to the other one.
Expected<void> LabBuilder::check_router_pairs(const LabService& service, const LabSubnets& subnets,
                                              const Where& at) const {
  const auto subnet_of = [&](const LabPort& port) { return subnets.of(lab_, port); };
  for (const LabServiceInstance& pair : service.instances) {
    const LabPort& one = pair.front().at;
    const LabPort& other = pair.back().at;
    if (one.node == other.node && pair.size() == 2) {
      return wrong(at, fmt::format("{} and {} are one node, which goes with both", to_string(one),
                                   to_string(other)));
    }
    if (subnet_of(one) == subnet_of(other)) continue;
    return wrong(at, fmt::format("{} and {} are in two subnets, and cannot stand in for each other",
                                 to_string(one), to_string(other)));
  }
  return {};
}

Expected<void> LabBuilder::check_ends(const LabPolicyEnds& ends, const Where& where,
                                      const std::string& key) const {
  const Where at{.line = where.line, .key = where.key.empty() ? key : where.key + "." + key};
  for (const std::string& node : ends.nodes) {
    if (lab_.find_node(node) == nullptr) return wrong(at, fmt::format("there is no node {}", node));
  }
  for (const LabPort& port : ends.ports) {
    if (auto done = check_port(port, at); !done) return done;
  }
  return {};
}

Expected<void> LabBuilder::check_policies() const {
  std::set<std::string> names;
  for (std::size_t i = 0; i < lab_.data.policies.size(); ++i) {
    const LabPolicy& policy = lab_.data.policies[i];
    const Where& where = policy_where_[i];
    if (lab_.management.manager != LabManagement::Manager::kWeft) {
      return wrong(where, fmt::format("rules are Weft's subnet manager's, and sm is \"{}\"",
                                      to_string(lab_.management.manager)));
    }
    if (!policy.name.empty() && !names.insert(policy.name).second) {
      return wrong(where, fmt::format("there are two rules {}", policy.name));
    }
    if (auto done = check_policy(policy, where); !done) return done;
  }
  return {};
}

Expected<void> LabBuilder::check_policy(const LabPolicy& policy, const Where& where) const {
  if (auto done = check_ends(policy.from, where, "from"); !done) return done;
  if (auto done = check_ends(policy.to, where, "to"); !done) return done;
  if (auto done = check_ends(policy.requester, where, "requester"); !done) return done;
  for (const std::string& name : policy.through) {
    const LabService* const service = lab_.data.find(name);
    if (service != nullptr && !service->is_tap()) continue;
    const Where at{.line = where.line,
                   .key = where.key.empty() ? "through" : where.key + ".through"};
    if (service != nullptr) {
      return wrong(at, fmt::format("{} has select = \"copies\": it sees what is for its port, and "
                                   "no path leads through it",
                                   name));
    }
    std::vector<std::string> known;
    for (const LabService& service : lab_.data.services)
      known.push_back(service.name);
    return wrong(at, known.empty() ? fmt::format("there is no service {0}: say where it is, as in "
                                                 "[service.{0}] at = \"fw\"",
                                                 name)
                                   : fmt::format("there is no service {}; there are {}", name,
                                                 fmt::join(known, ", ")));
  }
  return {};
}

}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_subnets.h"

#include <map>
#include <string_view>

namespace weft::fabric {

LabSubnets::LabSubnets(const Lab& lab) {
  std::size_t vertices = 0;
  for (const LabNode& node : lab.nodes) {
    const bool is_switch = node.kind == NodeKind::kSwitch;
    is_switch_.push_back(is_switch);
    first_.push_back(vertices);
    vertices += is_switch ? 1 : node.ports;
  }
  subnet_.assign(vertices, 0);
  if (lab.more_subnets.empty()) return;
  std::vector<std::vector<std::size_t>> neighbours(vertices);
  for (const LabLink& link : lab.links) {
    const std::size_t a = vertex(link.ends[0].node, link.ends[0].port);
    const std::size_t b = vertex(link.ends[1].node, link.ends[1].port);
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  std::vector<bool> reached(vertices);
  for (std::size_t subnet = 0; subnet <= lab.more_subnets.size(); ++subnet) {
    const LabNode* const manager = lab.managing_node(subnet);
    if (manager == nullptr) continue;
    std::vector<std::size_t> waiting{
        vertex(static_cast<std::size_t>(manager - lab.nodes.data()), 1)};
    while (!waiting.empty()) {
      const std::size_t at = waiting.back();
      waiting.pop_back();
      if (reached[at]) {
        if (subnet_[at] != subnet) shared_ = {subnet_[at], subnet};
        continue;
      }
      reached[at] = true;
      subnet_[at] = subnet;
      waiting.insert(waiting.end(), neighbours[at].begin(), neighbours[at].end());
    }
  }
}

bool joins_subnets(const Lab& lab, const LabSubnets& subnets, const LabService& service) {
  const bool works_elsewhere = service.type == "process" || service.is_external();
  if (!works_elsewhere) return service.type == "router";
  std::map<std::string_view, std::size_t> first;  // subnet of each node's first port of these
  for (const LabServiceInstance& instance : service.instances) {
    for (const LabServiceMember& member : instance) {
      const std::size_t subnet = subnets.of(lab, member.at);
      const auto [known, is_new] = first.emplace(member.at.node, subnet);
      if (!is_new && known->second != subnet) return true;
    }
  }
  return false;
}

}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
#include "sm/joining.h"

#include <algorithm>
#include <numeric>

namespace weft::sm {
namespace {

bool is_active(const SubnetPort& port) {
  return port.info && port.info->state == wire::PortState::kActive;
}

// Whether its LIDs are known, and whether it carries data on.
bool is_known(const Subnet& subnet, const PortRef& neighbour) {
  const SubnetNode& node = subnet.nodes[neighbour.node];
  return node.ports[neighbour.port].info && (!node.is_switch() || node.ports[0].info);
}

}  // namespace

Joining::Joining(const Subnet& subnet, bool knows_own)
    : parent_(subnet.nodes.size()), is_closed_(subnet.nodes.size()) {
  std::iota(parent_.begin(), parent_.end(), 0u);
  join(subnet);
  close(subnet, knows_own);
}

std::uint32_t Joining::part_of(std::uint32_t node) const {
  while (parent_[node] != node)
    node = parent_[node];
  return node;
}

// Adapters pass nothing on; that of the manager belongs to the part that it is linked to.
void Joining::join(const Subnet& subnet) {
  for (std::uint32_t node = 0; node < subnet.nodes.size(); ++node) {
    for (const SubnetPort& port : subnet.nodes[node].ports) {
      if (!is_active(port) || !port.peer || !is_active(subnet.port(*port.peer))) continue;
      const bool passes_on = subnet.nodes[port.peer->node].is_switch() &&
                             (subnet.nodes[node].is_switch() || node == 0);
      if (!passes_on) continue;
      const std::uint32_t a = part_of(node);
      const std::uint32_t b = part_of(port.peer->node);
      parent_[std::max(a, b)] = std::min(a, b);
    }
  }
}

void Joining::close(const Subnet& subnet, bool knows_own) {
  for (std::uint32_t node = 0; node < subnet.nodes.size(); ++node) {
    const bool is_known_part = knows_own && part_of(node) == part_of(0);
    if (!subnet.nodes[node].is_switch() || is_known_part) continue;
    for (std::size_t number = 0; number < subnet.nodes[node].ports.size(); ++number)
      close_port(subnet, {node, static_cast<std::uint8_t>(number)});
  }
}

void Joining::close_port(const Subnet& subnet, const PortRef& at) {
  const SubnetPort& port = subnet.port(at);
  const std::uint32_t part = part_of(at.node);
  if (!port.info) {
    is_closed_[part] = true;
    // Its own links cannot be judged; those that lead to it can.
    for (const SubnetPort& each : subnet.nodes[at.node].ports) {
      if (!each.peer || part_of(each.peer->node) != part) continue;
      if (subnet.nodes[each.peer->node].is_switch()) unknown_beyond_.push_back(*each.peer);
    }
    return;
  }
  // An Armed port becomes Active when its neighbour is.
  const bool may_carry = at.port != 0 && port.info->state >= wire::PortState::kArmed;
  if (!may_carry || (port.peer && is_known(subnet, *port.peer))) return;
  is_closed_[part] = true;
  unknown_beyond_.push_back(at);
}

}  // namespace weft::sm

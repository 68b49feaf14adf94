// SPDX-License-Identifier: Apache-2.0
#include "sm/discovery.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft::sm {
namespace {

using wire::SmAttribute;

bool is_sane(const wire::NodeInfo& info) {
  const bool known = info.type == wire::NodeType::kSwitch ||
                     info.type == wire::NodeType::kChannelAdapter ||
                     info.type == wire::NodeType::kRouter;
  const bool has_port = info.local_port <= info.ports &&
                        (info.local_port > 0 || info.type == wire::NodeType::kSwitch);
  return known && has_port && info.ports > 0 && info.ports < 255 && info.node_guid != Guid{};
}

std::string words(const SmpResult& result) {
  // IBA 14.2.4.1: from level 2 on a port does not tell that it wants another key.
  if (result.outcome == SmpResult::Outcome::kTimedOut) {
    return "does not answer: it cannot, or not to this manager's M_Key";
  }
  return fmt::format("answers with status {:#06x}", result.status);
}

}  // namespace

Discovery::Discovery(SmpQueue& smps, const Options& options)
    : smps_(smps),
      options_(options),
      other_keys_(options.mkeys == nullptr ? std::vector<std::uint64_t>{}
                                           : options.mkeys->others(options.mkey)) {
}

void Discovery::start() {
  smps_.forget_keys();
  visit({}, std::nullopt);
}

void Discovery::problem(std::string text) {
  if (++problem_count_ <= kMostProblems) problems_.push_back(std::move(text));
}

void Discovery::not_heard(const PortRef& at, const SmpResult& result) {
  const bool is_silent = result.outcome == SmpResult::Outcome::kTimedOut;
  if (is_silent && unheard_.size() < kMostProblems) unheard_.push_back(at);
}

bool Discovery::misses(const Subnet& before) const {
  const auto port_before = [&](const PortRef& at) -> const SubnetPort* {
    const auto found = before.by_guid.find(subnet_.nodes[at.node].info.node_guid.value());
    if (found == before.by_guid.end()) return nullptr;
    const SubnetNode& node = before.nodes[found->second];
    const bool was_read = at.port != 0 || node.switch_info;
    return was_read && at.port < node.ports.size() ? &node.ports[at.port] : nullptr;
  };
  const auto was_known = [&](const PortRef& at) {
    const SubnetPort* const port = port_before(at);
    return port != nullptr && port->info;
  };
  const auto had_neighbour = [&](const PortRef& at) {
    const SubnetPort* const port = port_before(at);
    return port != nullptr && port->peer;
  };
  return std::ranges::any_of(unheard_, was_known) ||
         std::ranges::any_of(unheard_beyond_, had_neighbour);
}

std::string Discovery::name(const PortRef& at) const {
  const SubnetNode& node = subnet_.nodes[at.node];
  return fmt::format("{:#018x} port {}", node.info.node_guid.value(), at.port);
}

// IBA 14.2.4.1: from level 2 on, a port that wants another key does not even say who it is.
void Discovery::visit(const DirectedRoute& route, std::optional<PortRef> from, std::size_t tried) {
  if (!other_keys_.empty()) {
    smps_.use_key(route, tried == 0 ? options_.mkey : other_keys_[tried - 1]);
  }
  smps_.get(route, SmAttribute::kNodeInfo, 0, [this, route, from, tried](const SmpResult& result) {
    const bool is_silent = result.outcome == SmpResult::Outcome::kTimedOut;
    if (is_silent && tried < other_keys_.size()) return visit(route, from, tried + 1);
    const auto info = wire::NodeInfo::parse(result.data);
    if (result.answered() && info && is_sane(*info)) return arrive(route, from, *info);
    if (is_silent && from && unheard_beyond_.size() < kMostProblems) {
      unheard_beyond_.push_back(*from);
    }
    const std::string who =
        from ? "what is behind " + name(*from) : std::string("the manager's own node");
    problem(who +
            (result.answered() ? " gives a NodeInfo that makes no sense" : " " + words(result)));
  });
}

void Discovery::arrive(const DirectedRoute& route, std::optional<PortRef> from,
                       const wire::NodeInfo& info) {
  const bool is_switch = info.type == wire::NodeType::kSwitch;
  if (!from && (options_.own_port > info.ports || is_switch != (options_.own_port == 0))) {
    return problem(fmt::format("the manager's own node has no port {} for it", options_.own_port));
  }
  const auto known = subnet_.by_guid.find(info.node_guid.value());
  const bool is_new = known == subnet_.by_guid.end();
  if (is_new && (ports_ += info.ports) > kMostPorts) {
    return problem(fmt::format("there are more than {} ports", kMostPorts));
  }
  const std::uint32_t node = is_new ? add_node(route, info) : known->second;
  SubnetNode& found = subnet_.nodes[node];
  if (found.info.type != info.type || found.info.ports != info.ports) {
    return problem(
        fmt::format("two nodes have GUID {:#018x}: they differ", info.node_guid.value()));
  }
  const PortRef here{node, info.local_port};
  if (foreign_.contains(node)) return;
  if (from && !join(*from, here)) return;
  if (found.is_switch()) {
    if (is_new) read_switch(node);
    return;
  }
  // The manager's own port is asked by a route of no hops; which port that is, it knows.
  const PortRef at = from ? here : PortRef{node, options_.own_port};
  SubnetPort& port = subnet_.port(at);
  if (port.info || (port.guid != Guid{})) return;
  port.guid = info.port_guid;
  port.route = route;
  read_port(at, route);
}

std::uint32_t Discovery::add_node(const DirectedRoute& route, const wire::NodeInfo& info) {
  const auto node = static_cast<std::uint32_t>(subnet_.nodes.size());
  subnet_.by_guid.emplace(info.node_guid.value(), node);
  subnet_.nodes.push_back({.info = info,
                           .description = {},
                           .switch_info = {},
                           .ports = std::vector<SubnetPort>(std::size_t{info.ports} + 1),
                           .route = route});
  smps_.get(route, SmAttribute::kNodeDescription, 0, [this, node](const SmpResult& result) {
    const auto text = wire::NodeDescription::parse(result.data);
    if (result.answered() && text) subnet_.nodes[node].description = text->to_string();
  });
  return node;
}

// A port has one other end. Where it seems to have two, two nodes have one GUID, or a cable was
// moved meanwhile: the next sweep will tell.
bool Discovery::join(const PortRef& a, const PortRef& b) {
  SubnetPort& first = subnet_.port(a);
  SubnetPort& second = subnet_.port(b);
  if (first.peer == b && second.peer == a) return true;
  if (first.peer || second.peer) {
    problem(
        fmt::format("{} is linked with {}, but one of them has another link: two nodes have one "
                    "GUID, or a cable was moved",
                    name(a), name(b)));
    return false;
  }
  first.peer = b;
  second.peer = a;
  return true;
}

void Discovery::read_switch(std::uint32_t node) {
  subnet_.nodes[node].ports[0].guid = subnet_.nodes[node].info.port_guid;
  read_port({node, 0}, subnet_.nodes[node].route);
  smps_.get(subnet_.nodes[node].route, SmAttribute::kSwitchInfo, 0,
            [this, node](const SmpResult& result) { take_switch_info(node, result); });
}

void Discovery::take_switch_info(std::uint32_t node, const SmpResult& result) {
  const auto info = wire::SwitchInfo::parse(result.data);
  if (!result.answered() || !info) {
    not_heard({node, 0}, result);
    return problem(name({node, 0}) + ", a switch, says no SwitchInfo: it " + words(result));
  }
  if (!foreign_.contains(node)) subnet_.nodes[node].switch_info = info;
  half_read_switch(node);
}

void Discovery::half_read_switch(std::uint32_t node) {
  auto& info = subnet_.nodes[node].switch_info;
  if (++halves_[node] < 2 || !info || foreign_.contains(node)) return;
  if (!info->port_state_change) return read_switch_ports(node);
  std::array<std::byte, wire::smp::kDataSize> data{};
  info->write(data);
  info->port_state_change = false;
  if (!options_.is_master) return read_switch_ports(node);
  smps_.set(subnet_.nodes[node].route, SmAttribute::kSwitchInfo, 0, data,
            [this, node](const SmpResult&) { read_switch_ports(node); });
}

void Discovery::read_switch_ports(std::uint32_t node) {
  for (unsigned port = 1; port <= subnet_.nodes[node].info.ports; ++port)
    read_port({node, static_cast<std::uint8_t>(port)}, subnet_.nodes[node].route);
}

void Discovery::read_port(const PortRef& at, const DirectedRoute& route) {
  smps_.get(route, SmAttribute::kPortInfo, at.port, [this, at](const SmpResult& result) {
    const auto info = wire::PortInfo::parse(result.data);
    // Of a switch port 0 has the M_Key, and IsSM; of an adapter all that are asked.
    const bool is_end = subnet_.port(at).guid != Guid{};
    const DirectedRoute& route = subnet_.route_to(at);
    const bool foreign = result.answered() && info && is_end && is_foreign(route, *info);
    if (foreign && has_other_key(at, route)) return read_port(at, route);
    if (!result.answered() || !info) {
      not_heard(at, result);
      problem(name(at) + " " + words(result));
    } else if (foreign) {
      leave_out(at, *info);
    } else {
      subnet_.port(at).info = info;
      if (is_end && (info->capability_mask & wire::kCapSm) != 0 && !is_own(at)) ask_manager(at);
      follow(at);
    }
    if (is_end && subnet_.nodes[at.node].is_switch()) half_read_switch(at.node);
  });
}

// At level 1 a port shows 0 to whoever has not its key.
bool Discovery::is_foreign(const DirectedRoute& route, const wire::PortInfo& info) const {
  return info.mkey == 0 ? info.mkey_protect != 0 : info.mkey != smps_.key_of(route);
}

// First the manager's own, then that of this very port, then those of others.
bool Discovery::has_other_key(const PortRef& at, const DirectedRoute& route) {
  if (options_.mkeys == nullptr) return false;
  std::vector<std::uint64_t> order{options_.mkey};
  const auto add = [&](std::uint64_t key) {
    if (std::find(order.begin(), order.end(), key) == order.end()) order.push_back(key);
  };
  if (const auto known = options_.mkeys->of(subnet_.port(at).guid)) add(*known);
  std::for_each(other_keys_.begin(), other_keys_.end(), add);
  const auto tried = std::find(order.begin(), order.end(), smps_.key_of(route));
  if (tried == order.end() || tried + 1 == order.end()) return false;
  smps_.use_key(route, *(tried + 1));
  return true;
}

void Discovery::leave_out(const PortRef& at, const wire::PortInfo& info) {
  problem(fmt::format("{} has the M_Key of another manager, protection level {}: it is left out",
                      name(at), info.mkey_protect));
  const bool is_switch = subnet_.nodes[at.node].is_switch();
  if (is_switch) {
    foreign_.insert(at.node);
    subnet_.nodes[at.node].switch_info.reset();
  }
  auto& ports = subnet_.nodes[at.node].ports;
  for (std::size_t number = 1; number < ports.size(); ++number) {
    auto& peer = ports[number].peer;
    if (!peer || (!is_switch && number != at.port)) continue;
    subnet_.port(*peer).peer.reset();
    peer.reset();
  }
}

void Discovery::ask_manager(const PortRef& at) {
  const DirectedRoute& route = subnet_.route_to(at);
  smps_.get(route, SmAttribute::kSmInfo, 0, [this, at](const SmpResult& result) {
    const auto info = wire::SmInfo::parse(result.data);
    const SubnetPort& port = subnet_.port(at);
    if (!result.answered() || !info) {
      silent_managers_.insert(port.guid);
      return problem(fmt::format("{} has a subnet manager, which {}", name(at), words(result)));
    }
    if (info->guid != port.guid) {
      return problem(fmt::format("{} has a subnet manager, which says that it is at {:#018x}",
                                 name(at), info->guid.value()));
    }
    managers_.push_back({.info = *info, .route = subnet_.route_to(at), .lid = port.info->lid});
  });
}

// On through a port: of a switch any that is up, of an adapter the manager's own alone, for
// adapters pass nothing on.
void Discovery::follow(const PortRef& at) {
  const SubnetNode& node = subnet_.nodes[at.node];
  const SubnetPort& port = node.ports[at.port];
  const bool own = is_own(at) && !node.is_switch();
  if (at.port == 0 || port.peer || !(node.is_switch() || own)) return;
  // What is sent to a link that recovers from errors waits until it has.
  const bool has_link = port.info->physical_state == wire::PortPhysicalState::kLinkUp ||
                        port.info->physical_state == wire::PortPhysicalState::kLinkErrorRecovery;
  if (!has_link || port.info->state < wire::PortState::kInitialize) return;
  DirectedRoute further = node.route;
  if (further.size() >= wire::kMaxHops) {
    return problem(
        fmt::format("what is behind {} is more than {} hops away", name(at), wire::kMaxHops));
  }
  further.push_back(at.port);
  visit(further, at);
}

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
#include "sm/subnet_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::sm {
namespace {

using Kind = ManagerEvent::Kind;

const char* kind_of(const SubnetNode& node) {
  switch (node.info.type) {
    case wire::NodeType::kSwitch:
      return "switch";
    case wire::NodeType::kRouter:
      return "router";
    default:
      return "channel adapter";
  }
}

const SubnetNode* find(const Subnet& subnet, Guid guid) {
  const auto found = subnet.by_guid.find(guid.value());
  return found == subnet.by_guid.end() ? nullptr : &subnet.nodes[found->second];
}

// Whether `there`, of another sweep, has the link of port `at` of `here`.
bool has_link(const Subnet& there, const Subnet& here, const PortRef& at) {
  const PortRef& peer = *here.port(at).peer;
  const SubnetNode* node = find(there, here.nodes[at.node].info.node_guid);
  if (node == nullptr || at.port >= node->ports.size() || !node->ports[at.port].peer) return false;
  const PortRef& other = *node->ports[at.port].peer;
  return other.port == peer.port &&
         there.nodes[other.node].info.node_guid == here.nodes[peer.node].info.node_guid;
}

// Each link once: from the end that comes first.
template <class Action>
void each_link(const Subnet& subnet, Action action) {
  for (std::uint32_t node = 0; node < subnet.nodes.size(); ++node) {
    for (std::size_t port = 1; port < subnet.nodes[node].ports.size(); ++port) {
      const PortRef at{node, static_cast<std::uint8_t>(port)};
      const auto& peer = subnet.port(at).peer;
      if (peer && std::pair(node, at.port) <= std::pair(peer->node, peer->port)) action(at);
    }
  }
}

// What a node calls itself is its own, but a line stays one.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; }, '?');
  return text;
}

TopologyEnd end_of(const Subnet& subnet, const PortRef& at) {
  return {.node = subnet.nodes[at.node].info.node_guid, .port = at.port};
}

// Who hears of changes.
struct Listener {
  const EventHandler& tell;
  SubnetStore* store;

  void node(const SubnetNode& node, bool is_there) const {
    if (tell) {
      tell({.kind = Kind::kNode,
            .text = fmt::format("{} {} {}", kind_of(node), name_of(node),
                                is_there ? "appeared" : "is gone")});
    }
    if (store == nullptr) return;
    store->record_node({.guid = node.info.node_guid,
                        .type = node.info.type,
                        .description = printable(node.description)},
                       is_there);
  }
  // The end with the lower GUID first: the order of nodes is the manager's, and may be another
  // one's tomorrow.
  void link(const Subnet& subnet, const PortRef& at, bool is_up) const {
    const PortRef& peer = *subnet.port(at).peer;
    if (tell) {
      tell({.kind = Kind::kLink,
            .text = fmt::format("link {}: {} - {}", is_up ? "up" : "down", name_of(subnet, at),
                                name_of(subnet, peer))});
    }
    if (store == nullptr) return;
    const auto [from, to] = std::minmax({end_of(subnet, at), end_of(subnet, peer)});
    store->record_link({.from = from, .to = to}, is_up);
  }
};

}  // namespace

std::string name_of(const SubnetNode& node) {
  return fmt::format("{:#018x} ({})", node.info.node_guid.value(), printable(node.description));
}

std::string name_of(const Subnet& subnet, const PortRef& at) {
  return fmt::format("{} port {}", name_of(subnet.nodes[at.node]), at.port);
}

std::size_t tell_changes(const Subnet& before, const Subnet& after, const EventHandler& tell,
                         SubnetStore* store) {
  const Listener listener{tell, store};
  std::size_t count = 0;
  const auto nodes = [&](const Subnet& from, const Subnet& to, bool is_there) {
    for (const SubnetNode& node : from.nodes) {
      if (find(to, node.info.node_guid) != nullptr) continue;
      ++count;
      listener.node(node, is_there);
    }
  };
  const auto links = [&](const Subnet& from, const Subnet& to, bool is_up) {
    each_link(from, [&](const PortRef& at) {
      if (has_link(to, from, at)) return;
      ++count;
      listener.link(from, at, is_up);
    });
  };
  nodes(before, after, false);
  nodes(after, before, true);
  links(before, after, false);
  links(after, before, true);
  return count;
}

}  // namespace weft::sm

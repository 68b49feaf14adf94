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

}  // namespace

std::string name_of(const SubnetNode& node) {
  // What a node calls itself is its own, but a line stays one.
  std::string description = node.description;
  std::replace_if(
      description.begin(), description.end(),
      [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; }, '?');
  return fmt::format("{:#018x} ({})", node.info.node_guid.value(), description);
}

std::string name_of(const Subnet& subnet, const PortRef& at) {
  return fmt::format("{} port {}", name_of(subnet.nodes[at.node]), at.port);
}

std::size_t tell_changes(const Subnet& before, const Subnet& after, const EventHandler& tell) {
  std::size_t count = 0;
  const auto say = [&](Kind kind, std::string text) {
    ++count;
    if (tell) tell({.kind = kind, .text = std::move(text)});
  };
  for (const SubnetNode& node : before.nodes) {
    if (find(after, node.info.node_guid) == nullptr) {
      say(Kind::kNode, fmt::format("{} {} is gone", kind_of(node), name_of(node)));
    }
  }
  for (const SubnetNode& node : after.nodes) {
    if (find(before, node.info.node_guid) == nullptr) {
      say(Kind::kNode, fmt::format("{} {} appeared", kind_of(node), name_of(node)));
    }
  }
  const auto tell_links = [&](const Subnet& from, const Subnet& to, const char* what) {
    each_link(from, [&](const PortRef& at) {
      if (has_link(to, from, at)) return;
      say(Kind::kLink, fmt::format("link {}: {} - {}", what, name_of(from, at),
                                   name_of(from, *from.port(at).peer)));
    });
  };
  tell_links(before, after, "down");
  tell_links(after, before, "up");
  return count;
}

}  // namespace weft::sm

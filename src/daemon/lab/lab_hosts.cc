// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_hosts.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "wire/endian.h"

namespace weft::daemon {
namespace {

// IBA 4.1.1: the prefix that every GID may have on its own subnet.
constexpr std::uint64_t kDefaultPrefix = 0xFE80'0000'0000'0000;

Gid make_gid(std::uint64_t prefix, Guid guid) {
  std::array<std::byte, 16> raw{};
  wire::store_be64(raw.data(), prefix);
  wire::store_be64(raw.data() + 8, guid.value());
  return Gid(std::bit_cast<std::array<std::uint8_t, 16>>(raw));
}

}  // namespace

LabHosts::LabHosts(fabric::Fabric& fabric) : fabric_(fabric) {
  const std::vector<fabric::LabNode>& nodes = fabric.lab().nodes;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const bool is_switch = nodes[node].kind == fabric::NodeKind::kSwitch;
    if (fabric.has_node(node)) here_ = {node, static_cast<mgmt::PortNumber>(is_switch ? 0 : 1)};
    for (std::size_t i = 0; i < nodes[node].addresses.size(); ++i) {
      const Place place{node, static_cast<mgmt::PortNumber>(i + 1)};
      by_address_[Gid::from_ipv4(nodes[node].addresses[i].value())] = place;
      by_guid_[nodes[node].port_guids[i]] = place;
    }
  }
  for (const fabric::LabHost& host : fabric.lab().hosts)
    elsewhere_[Gid::from_ipv4(host.address.value())] = host.gid;
}

std::optional<Gid> LabHosts::find_elsewhere(const Gid& address) const {
  const auto found = elsewhere_.find(address);
  return found == elsewhere_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LabHosts::Place> LabHosts::find(const Gid& address) const {
  if (const auto found = by_address_.find(address); found != by_address_.end()) {
    return found->second;
  }
  const auto raw = std::bit_cast<std::array<std::byte, 16>>(address.bytes());
  const std::uint64_t prefix = wire::load_be64(raw.data());
  const auto found = by_guid_.find(Guid{wire::load_be64(raw.data() + 8)});
  if (found == by_guid_.end()) return std::nullopt;
  const Place& place = found->second;
  return prefix == prefix_of(place) || prefix == kDefaultPrefix ? std::optional(place)
                                                                : std::nullopt;
}

std::uint64_t LabHosts::prefix_of(const Place& place) const {
  const Place& known = fabric_.has_node(place.node) ? place : here_;
  return fabric_.node(known.node).port_info(known.port).gid_prefix;
}

Gid LabHosts::gid_of(const Place& place) const {
  const fabric::LabNode& node = fabric_.lab().nodes[place.node];
  return make_gid(prefix_of(place), node.port_guids[place.port - 1u]);
}

Gid LabHosts::address_of(const Place& place) const {
  return Gid::from_ipv4(fabric_.lab().nodes[place.node].addresses[place.port - 1u].value());
}

}  // namespace weft::daemon

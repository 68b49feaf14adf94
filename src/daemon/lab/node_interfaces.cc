// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/node_interfaces.h"

#include "base/gid_prefix.h"
#include "base/ids.h"
#include "daemon/lab/mad_node.h"
#include "rdmacm/address.h"
#include "rdmacm/path_record.h"

namespace weft::daemon {
namespace {

bool is_loopback(const Gid& address) {
  return rdmacm::Address::ip(address, 0).loopback();
}

}  // namespace

LabHosts::Place NodeInterfaces::first_active() const {
  for (unsigned port = 1; port <= node().port_count(); ++port) {
    const auto number = static_cast<mgmt::PortNumber>(port);
    if (node().port_info(number).state == wire::PortState::kActive) return {node_, number};
  }
  return {node_, 1};
}

// A lab may have a network of loopback addresses: then those are its ports'.
std::optional<LabHosts::Place> NodeInterfaces::place_of(const Gid& address) const {
  if (const auto place = hosts_.find(address)) return place;
  const fabric::Ipv4Network& network = hosts_.fabric().lab().network;
  const bool of_lab = address.is_ipv4_mapped() && network.has_host(fabric::Ipv4{address.ipv4()});
  return !of_lab && is_loopback(address) ? std::optional(first_active()) : std::nullopt;
}

bool NodeInterfaces::is_beyond(const Gid& address) const {
  const std::uint64_t own = node().port_info(first_active().port).gid_prefix;
  return own != fabric::kDefaultSubnetPrefix && !address.is_zero() && !address.is_ipv4_mapped() &&
         !address.is_link_local() && !address.is_multicast() && !is_loopback(address) &&
         !GidPrefix(own).covers(address);
}

bool NodeInterfaces::is_of_another_lab(const Gid& address) const {
  const std::uint64_t own = node().port_info(first_active().port).gid_prefix;
  return hosts_.fabric().lab().is_bridged() && GidPrefix(own).covers(address);
}

bool NodeInterfaces::is_to_be_asked_for(const Gid& address) const {
  return hosts_.fabric().lab().is_bridged() && address.is_ipv4_mapped() &&
         !address.is_multicast() && !is_loopback(address);
}

std::optional<rdmacm::LocalAddress> NodeInterfaces::describe(const Gid& address,
                                                             std::uint32_t) const {
  const auto place = place_of(address);
  if (!place || place->node != node_) return std::nullopt;
  const wire::PortInfo info = node().port_info(place->port);
  rdmacm::LocalAddress out;
  out.end = {.ca_guid = node().node_info(place->port).node_guid,
             .port = place->port,
             .on_fabric = true,
             .lid = info.lid,
             .lmc = info.lmc};
  out.gid = hosts_.gid_of(*place);
  out.path_mtu = rdmacm::mtu_bytes(info.neighbor_mtu);
  return out;
}

std::optional<mgmt::LocalEnd> NodeInterfaces::find(const Gid& address) const {
  const auto known = describe(address, 0);
  return known ? std::optional(known->end) : std::nullopt;
}

std::optional<std::uint16_t> NodeInterfaces::pkey_index(const mgmt::LocalEnd& end,
                                                        PKey pkey) const {
  const MadNode as_managed{&node().management(), &node(), [] {}};
  const std::vector<std::uint16_t> table = port_pkeys(as_managed, end.port);
  std::optional<std::uint16_t> limited;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if ((table[i] & kPartitionBits) == 0 || ((table[i] ^ pkey.value()) & kPartitionBits) != 0)
      continue;
    if (table[i] > kPartitionBits) return static_cast<std::uint16_t>(i);
    if (!limited) limited = static_cast<std::uint16_t>(i);
  }
  return limited;
}

tl::expected<Gid, std::errc> NodeInterfaces::source_for(const Gid& destination,
                                                        std::uint32_t) const {
  auto place = place_of(destination);
  const bool somewhere = place || destination.is_multicast() || is_beyond(destination) ||
                         is_of_another_lab(destination) || is_to_be_asked_for(destination) ||
                         hosts_.find_elsewhere(destination);
  if (!somewhere) {
    return tl::unexpected(std::errc::network_unreachable);
  }
  if (!place || place->node != node_) place = first_active();
  return destination.is_ipv4_mapped() || is_loopback(destination) ? hosts_.address_of(*place)
                                                                  : hosts_.gid_of(*place);
}

tl::expected<Gid, std::errc> NodeInterfaces::peer(const Gid& address) const {
  const auto place = place_of(address);
  if (place) {
    wanted_(place->node);
    return hosts_.gid_of(*place);
  }
  if (const auto host = hosts_.find_elsewhere(address)) return *host;
  // Whether there is a way, the subnet administrator knows.
  if (is_beyond(address) || is_of_another_lab(address)) return address;
  return tl::unexpected(is_to_be_asked_for(address) ? std::errc::operation_in_progress
                                                    : std::errc::host_unreachable);
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// From IP addresses to devices and paths. Addresses resolve at once where the host knows its
// interfaces and routes; programs still hear of it by an event, as they expect. On a fabric the
// subnet administrator is asked for the path, and for hosts of which nothing is known here.
#include <chrono>

#include "rdmacm/command_core.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint8_t kCommandsAddressHopLimit = 64;
const Gid kLoopback4 = Gid::from_ipv4(0x7F000001);
constexpr Gid kLoopback6{std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0,  //
                                                      0, 0, 0, 0, 0, 0, 0, 1}};

// The address in the first `size` bytes of a command's storage.
std::optional<Address> parse_sized(const __kernel_sockaddr_storage& storage, std::size_t size) {
  if (size > Address::kStorage) return std::nullopt;
  return Address::parse(abi::bytes_of(storage).first(size));
}

std::optional<Address> parse_ip(const sockaddr_in6& address) {
  return Address::parse(abi::bytes_of(address));
}

// Programs see errno values, negative, as the status of an event.
std::int32_t status_of(std::errc error) {
  return -static_cast<std::int32_t>(error);
}

}  // namespace

std::errc CommandCore::bind_ip(Call& call) {
  const auto command = abi::read<rdma_ucm_bind_ip>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto address = parse_ip(command->addr);
  const auto identity = find(call, command->id);
  if (!identity) return identity.error();
  return address ? bind_to(**identity, *address) : std::errc::address_family_not_supported;
}

std::errc CommandCore::bind(Call& call) {
  const auto command = abi::read<rdma_ucm_bind>(call.in);
  if (!command || command->addr_size == 0) return std::errc::invalid_argument;
  const auto address = parse_sized(command->addr, command->addr_size);
  const auto identity = find(call, command->id);
  if (!identity) return identity.error();
  return address ? bind_to(**identity, *address) : std::errc::address_family_not_supported;
}

std::errc CommandCore::bind_to(Identity& identity, const Address& address) {
  if (address.family == Family::kNone) return std::errc::address_family_not_supported;
  if (identity.state != IdState::kIdle) return std::errc::invalid_argument;
  std::optional<LocalAddress> device;
  if (!address.any()) {
    if (address.address.is_link_local() && address.is_ip() && address.scope_id == 0) {
      return std::errc::invalid_argument;
    }
    device = interfaces_.describe(address.address, address.scope_id);
    if (!device) return std::errc::no_such_device;
  }

  // An InfiniBand address names its port space in the service ID.
  const wire::PortSpace space = address.family == Family::kIb ? address.ib_space : identity.space;
  const bool af_only = identity.af_only.value_or(address.family == Family::kIpv4);
  const auto port = ports_.bind(
      space, address.port,
      {identity.handle, address.family, address.address, identity.reuse_address, af_only, false});
  if (!port) return port.error();
  identity.space = space;
  identity.af_only = af_only;
  identity.source = address;
  identity.source.port = *port;
  identity.source.ib_sid_mask = ~std::uint64_t{0};
  identity.holds_port = true;
  identity.device = device;
  if (device) {
    identity.path.sgid = device->gid;
    identity.path.sgid_index = device->end.sgid_index;
    identity.path.scope_id = address.scope_id;
    identity.path_mtu = device->path_mtu;
  }
  identity.state = IdState::kBound;
  return {};
}

std::errc CommandCore::resolve_ip(Call& call) {
  const auto command = abi::read<rdma_ucm_resolve_ip>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto identity = find(call, command->id);
  if (!identity) return identity.error();
  const auto source = parse_ip(command->src_addr);
  const auto destination = parse_ip(command->dst_addr);
  if (!source || !destination) return std::errc::invalid_argument;
  return resolve(**identity, *source, *destination, command->timeout_ms);
}

std::errc CommandCore::resolve_addr(Call& call) {
  const auto command = abi::read<rdma_ucm_resolve_addr>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto identity = find(call, command->id);
  if (!identity) return identity.error();
  const auto source = command->src_size == 0 ? std::optional<Address>(Address{})
                                             : parse_sized(command->src_addr, command->src_size);
  const auto destination = parse_sized(command->dst_addr, command->dst_size);
  if (!source || !destination) return std::errc::invalid_argument;
  return resolve(**identity, *source, *destination, command->timeout_ms);
}

// A program that resolves without having bound gets a port at once.
std::errc CommandCore::bind_for(Identity& identity, const Address& source,
                                const Address& destination) {
  if (source.family != Family::kNone) return bind_to(identity, source);
  Address any;
  any.family = destination.family;
  any.scope_id = destination.scope_id;
  any.ib_space = destination.family == Family::kIb ? destination.ib_space : identity.space;
  return bind_to(identity, any);
}

std::errc CommandCore::resolve(Identity& identity, const Address& source,
                               const Address& destination, std::uint32_t timeout_ms) {
  if (destination.family == Family::kNone) return std::errc::invalid_argument;
  if (identity.state == IdState::kIdle) {
    const std::errc error = bind_for(identity, source, destination);
    if (error != std::errc{}) return error;
  }
  if (identity.state != IdState::kBound || identity.source.family != destination.family) {
    return std::errc::invalid_argument;
  }
  identity.destination = destination;
  if (destination.any()) {
    identity.destination.address = destination.family == Family::kIpv4 ? kLoopback4 : kLoopback6;
  }
  std::errc error = choose_source(identity);
  if (error == std::errc::operation_in_progress && routes_ != nullptr) {
    error =
        routes_->find_host(identity.handle, {.address = identity.destination.address,
                                             .port = identity.device->end.port,
                                             .patience = std::chrono::milliseconds{timeout_ms}});
    if (error == std::errc{}) {
      identity.state = IdState::kAddressQuery;
      return {};
    }
  }
  if (error != std::errc{}) {
    post(identity, abi::Event::kAddrError, status_of(error));
    return {};
  }
  identity.state = IdState::kAddressResolved;
  post(identity, abi::Event::kAddrResolved, 0);
  return {};
}

std::errc CommandCore::choose_source(Identity& identity) {
  const Gid& destination = identity.destination.address;
  const std::uint32_t scope = identity.destination.scope_id;
  if (identity.source.any()) {
    const auto source = interfaces_.source_for(destination, scope);
    if (!source) return source.error();
    const auto device = interfaces_.describe(*source, scope);
    if (!device) return std::errc::no_such_device;
    identity.source.address = *source;
    identity.source.scope_id = scope;
    identity.device = device;
  } else if (!identity.device) {
    return std::errc::no_such_device;
  } else if (!destination.is_multicast()) {
    // There must be a way; which source it would have chosen does not matter.
    const auto routed = interfaces_.source_for(destination, scope);
    if (!routed) return routed.error();
  }
  return make_path(identity);
}

std::errc CommandCore::make_path(Identity& identity) const {
  const Gid& destination = identity.destination.address;
  const auto peer = destination.is_multicast() ? destination : interfaces_.peer(destination);
  const bool to_ask = !peer && peer.error() == std::errc::operation_in_progress;
  if (!peer && !to_ask) return peer.error();
  hca::Path path;
  path.sgid = identity.device->gid;
  path.dgid = peer.value_or(Gid{});
  path.scope_id =
      identity.destination.scope_id != 0 ? identity.destination.scope_id : identity.source.scope_id;
  path.sgid_index = identity.device->end.sgid_index;
  path.hop_limit = kCommandsAddressHopLimit;
  path.traffic_class = identity.tos;
  path.global = !identity.device->end.on_fabric;
  identity.path = path;
  identity.path_mtu = identity.device->path_mtu;
  return to_ask ? std::errc::operation_in_progress : std::errc{};
}

void CommandCore::end_address_query(std::uint32_t identifier,
                                    const tl::expected<Gid, std::errc>& gid) {
  Identity* const identity = lookup(identifier);
  if (identity == nullptr || identity->state != IdState::kAddressQuery) return;
  identity->state = gid ? IdState::kAddressResolved : IdState::kBound;
  if (!gid) return post(*identity, abi::Event::kAddrError, status_of(gid.error()));
  identity->path.dgid = *gid;
  post(*identity, abi::Event::kAddrResolved, 0);
}

void CommandCore::host_found(std::uint32_t identifier, const Gid& gid) {
  end_address_query(identifier, gid);
}

void CommandCore::host_failed(std::uint32_t identifier, std::errc why) {
  end_address_query(identifier, tl::unexpected(why));
}

// What the subnet administrator knows of the path.
void CommandCore::take_path(Identity& identity, const PathRecord& record) const {
  hca::Path& path = identity.path;
  path.dlid = record.dlid;
  path.source_path_bits =
      static_cast<std::uint8_t>(record.slid.value() - identity.device->end.lid.value());
  path.sl = record.sl;
  path.static_rate = record.rate;
  path.flow_label = record.flow_label;
  path.hop_limit = record.hop_limit;
  path.traffic_class = record.traffic_class;
  // Beyond the subnet only (IBA 8.3.6).
  path.global = record.hop_limit > 1;
  identity.path_mtu = record.mtu;
  identity.pkey = record.pkey;
  identity.packet_life = record.packet_life;
}

std::errc CommandCore::resolve_route(Call& call) {
  const auto command = abi::read<rdma_ucm_resolve_route>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  Identity& identity = **found;
  if (identity.state != IdState::kAddressResolved) return std::errc::invalid_argument;
  if (!identity.device) return std::errc::no_such_device;  // it is gone, and the program knows
  if (identity.device->end.on_fabric) {
    if (identity.asks_for_route) return std::errc::invalid_argument;
    if (routes_ == nullptr) return std::errc::function_not_supported;
    const std::errc error =
        routes_->ask(identity.handle, {.sgid = identity.path.sgid,
                                       .dgid = identity.path.dgid,
                                       .port = identity.device->end.port,
                                       .service = identity.service_of(identity.destination),
                                       .traffic_class = identity.tos,
                                       .patience = std::chrono::milliseconds{command->timeout_ms}});
    identity.asks_for_route = error == std::errc{};
    return error;
  }
  identity.path.traffic_class = identity.tos;
  identity.state = IdState::kRouteResolved;
  post(identity, abi::Event::kRouteResolved, 0);
  return {};
}

Identity* CommandCore::find_asking(std::uint32_t identifier) {
  Identity* const identity = lookup(identifier);
  if (identity == nullptr || !identity->asks_for_route) return nullptr;
  identity->asks_for_route = false;
  return identity;
}

void CommandCore::route_found(std::uint32_t identifier, const PathRecord& path) {
  Identity* const identity = find_asking(identifier);
  if (identity == nullptr) return;
  // The port may have got its LID since the program bound to it.
  if (const auto device = interfaces_.describe(identity->path.sgid, 0)) identity->device = device;
  if (!identity->device) {
    return post(*identity, abi::Event::kRouteError, status_of(std::errc::no_such_device));
  }
  const mgmt::LocalEnd& end = identity->device->end;
  if (!hca::is_unicast(path.dlid) || !mgmt::path_bits(end, path.slid) ||
      !interfaces_.pkey_index(end, path.pkey)) {
    return post(*identity, abi::Event::kRouteError, status_of(std::errc::host_unreachable));
  }
  take_path(*identity, path);
  identity->state = IdState::kRouteResolved;
  post(*identity, abi::Event::kRouteResolved, 0);
}

void CommandCore::route_failed(std::uint32_t identifier, std::errc why) {
  Identity* const identity = find_asking(identifier);
  if (identity != nullptr) post(*identity, abi::Event::kRouteError, status_of(why));
}

}  // namespace weft::rdmacm

// SPDX-License-Identifier: Apache-2.0
// What programs ask about an identifier.
#include <algorithm>

#include "rdmacm/command_core.h"
#include "rdmacm/connection_values.h"
#include "rdmacm/path_record.h"
#include "rdmacm/qp_attributes.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint32_t kMostStates = static_cast<std::uint32_t>(hca::QpState::kErr);

PathRecord path_record(const Identity& identity, std::uint8_t ack_timeout) {
  PathRecord out;
  out.dgid = identity.path.dgid;
  out.sgid = identity.path.sgid;
  if (identity.path.by_lid() && identity.device) {
    const unsigned slid = identity.device->end.lid.value() + identity.path.source_path_bits;
    out.dlid = identity.path.dlid;
    out.slid = Lid{static_cast<std::uint16_t>(slid)};
    out.sl = identity.path.sl;
    out.rate = identity.path.static_rate;
    out.pkey = identity.pkey;
  }
  out.flow_label = identity.path.flow_label;
  out.hop_limit = identity.path.hop_limit;
  out.traffic_class = identity.path.traffic_class;
  out.mtu = identity.path_mtu;
  out.rate_mbps = identity.device ? identity.device->rate_mbps : 0;
  // The timeout is twice the time that a packet is under way at most (IBA 12.7.34).
  out.packet_life = static_cast<std::uint8_t>(ack_timeout > 0 ? ack_timeout - 1 : 0);
  return out;
}

bool has_route(const Identity& identity) {
  return identity.state == IdState::kRouteResolved || identity.state == IdState::kConnected ||
         identity.state == IdState::kDisconnected;
}

sockaddr_in6 short_form(const Address& address) {
  std::array<std::byte, Address::kStorage> raw{};
  address.write(raw);
  sockaddr_in6 out{};
  std::memcpy(&out, raw.data(), sizeof out);
  return out;
}

// The device that the program is told of. As in the kernel, an identifier bound to a loopback
// address has none until its destination decides: libfabric asks so for every device there is, and
// would leave out all others than the one that is named.
const LocalAddress* device_to_tell(const Identity& identity) {
  if (!identity.device) return nullptr;
  const bool undecided = identity.state == IdState::kBound || identity.state == IdState::kListening;
  const bool may_change = identity.source.loopback() && !identity.device->end.on_fabric;
  return undecided && may_change ? nullptr : &*identity.device;
}

}  // namespace

std::errc CommandCore::query_route(Call& call) {
  const auto command = abi::read<rdma_ucm_query>(call.in, offsetof(rdma_ucm_query, option));
  if (!command) return std::errc::invalid_argument;
  if (call.out_size < offsetof(rdma_ucm_query_route_resp, ibdev_index)) {
    return std::errc::no_space_on_device;
  }
  const auto found = find(call, command->id);
  if (!found) return found.error();
  const Identity& identity = **found;
  rdma_ucm_query_route_resp response{};
  response.src_addr = short_form(identity.source);
  response.dst_addr = short_form(identity.destination);
  response.ibdev_index = abi::kNoDeviceIndex;
  if (const LocalAddress* const device = device_to_tell(identity)) {
    response.node_guid = abi::network_order(device->end.ca_guid.value());
    response.port_num = device->end.port;
    response.num_paths = has_route(identity) ? 1 : 0;
    // Without a path, programs still read the GIDs from where it would be.
    response.ib_route[0] = path_record(identity, ack_timeout_of(identity)).unpacked();
  }
  respond(call, abi::bytes_of(response));
  return {};
}

std::errc CommandCore::query_path(Call& call, const Identity& identity) const {
  constexpr std::size_t kHeader = sizeof(rdma_ucm_query_path_resp);
  if (call.out_size < kHeader) return std::errc::no_space_on_device;
  std::array<std::byte, kHeader + sizeof(ib_path_rec_data)> response{};
  std::uint32_t paths = 0;
  if (has_route(identity) && call.out_size >= response.size()) {
    const ib_path_rec_data path = path_record(identity, ack_timeout_of(identity)).packed();
    std::memcpy(response.data() + kHeader, &path, sizeof path);
    paths = 1;
  }
  std::memcpy(response.data(), &paths, sizeof paths);
  respond(call, response);
  return {};
}

std::errc CommandCore::query(Call& call) {
  const auto command = abi::read<rdma_ucm_query>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  const Identity& identity = **found;

  if (command->option == RDMA_USER_CM_QUERY_PATH) {
    return query_path(call, identity);
  }

  if (command->option != RDMA_USER_CM_QUERY_ADDR && command->option != RDMA_USER_CM_QUERY_GID) {
    return std::errc::function_not_supported;
  }
  if (call.out_size < offsetof(rdma_ucm_query_addr_resp, ibdev_index)) {
    return std::errc::no_space_on_device;
  }
  rdma_ucm_query_addr_resp response{};
  Address source = identity.source;
  Address destination = identity.destination;
  if (command->option == RDMA_USER_CM_QUERY_GID) {
    source = as_ib(identity.path.sgid, source, identity.pkey, identity.space);
    destination = as_ib(identity.path.dgid, destination, identity.pkey, identity.space);
  }
  std::array<std::byte, Address::kStorage> raw{};
  response.src_size = static_cast<std::uint16_t>(source.write(raw));
  std::memcpy(&response.src_addr, raw.data(), raw.size());
  response.dst_size = static_cast<std::uint16_t>(destination.write(raw));
  std::memcpy(&response.dst_addr, raw.data(), raw.size());
  response.ibdev_index = abi::kNoDeviceIndex;
  // Nothing for an identifier on any address: librdmacm would open the device while it holds the
  // lock that it needs for that.
  if (const LocalAddress* const device = device_to_tell(identity)) {
    response.node_guid = abi::network_order(device->end.ca_guid.value());
    response.port_num = device->end.port;
    response.pkey = abi::network_order(identity.pkey.value());
  }
  respond(call, abi::bytes_of(response));
  return {};
}

std::errc CommandCore::init_qp_attr(Call& call) {
  const auto command = abi::read<rdma_ucm_init_qp_attr>(call.in);
  if (!command || command->qp_state > kMostStates) return std::errc::invalid_argument;
  if (call.out_size < sizeof(ib_uverbs_qp_attr)) return std::errc::no_space_on_device;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  const Identity& identity = **found;
  if (!identity.device) return std::errc::invalid_argument;
  const auto state = static_cast<hca::QpState>(command->qp_state);

  // Before there is a connection, and for datagrams always, it is the same for every state: a
  // program asks for the first one.
  if (identity.cm == mgmt::CmId{} || identity.is_datagram()) {
    ib_uverbs_qp_attr attributes{};
    attributes.qp_attr_mask = kQpState | kQpPKeyIndex | kQpPort;
    attributes.qp_attr_mask |= identity.is_datagram() ? kQpQKey : kQpAccessFlags;
    attributes.qp_state = command->qp_state;
    attributes.pkey_index =
        interfaces_.pkey_index(identity.device->end, identity.pkey).value_or(std::uint16_t{0});
    attributes.port_num = identity.device->end.port;
    attributes.qkey = identity.is_datagram() ? kDatagramQKey.value() : 0;
    respond(call, abi::bytes_of(attributes));
    return {};
  }
  auto transition = manager_.qp_attributes(identity.cm, state);
  if (!transition) return std::errc::invalid_argument;
  if (identity.ack_timeout && state == hca::QpState::kRts) {
    transition->attributes.ack_timeout = *identity.ack_timeout;
    transition->mask |= hca::kAttrAckTimeout;
  }
  respond(call, abi::bytes_of(qp_attributes(*transition, identity.device->end.port)));
  return {};
}

}  // namespace weft::rdmacm

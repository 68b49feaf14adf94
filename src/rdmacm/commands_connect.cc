// SPDX-License-Identifier: Apache-2.0
// Connections and datagram look-ups: what programs ask for, in the connection manager's words.
#include <algorithm>
#include <vector>

#include "rdmacm/command_core.h"
#include "rdmacm/connection_values.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint32_t kMostBacklog = 1024;
constexpr std::uint8_t kMostRetries = 7;
// Values of enum ib_event_type that NOTIFY takes.
constexpr std::uint32_t kCommunicationEstablished = 4;
constexpr std::uint32_t kPathMigrated = 6;

// Errors of the connection manager in the kernel's words.
std::errc as_kernel(const Expected<void>& result) {
  if (result) return {};
  return result.error().code == std::errc::not_connected ? std::errc::invalid_argument
                                                         : result.error().code;
}

std::optional<Bytes> private_data(const rdma_ucm_conn_param& parameters, std::size_t most) {
  if (parameters.private_data_len > most) return std::nullopt;
  return abi::bytes_of(parameters.private_data).first(parameters.private_data_len);
}

// IBA A11: a request between IP addresses begins with them; one between GIDs does not.
std::vector<std::byte> with_ip_header(const Identity& identity, Bytes data) {
  std::vector<std::byte> out;
  if (identity.source.is_ip()) {
    out.resize(wire::CmIpHeader::kSize);
    wire::CmIpHeader::between(identity.source.address, identity.source.port,
                              identity.destination.address)
        .write(out);
  }
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

}  // namespace

std::errc CommandCore::connect(Call& call) {
  const auto command = abi::read<rdma_ucm_connect>(call.in, offsetof(rdma_ucm_connect, ece));
  if (!command || command->conn_param.valid == 0) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  Identity& identity = **found;
  if (identity.state != IdState::kRouteResolved) return std::errc::invalid_argument;
  const std::size_t header = identity.source.is_ip() ? wire::CmIpHeader::kSize : 0;
  const std::size_t most =
      (identity.is_datagram() ? wire::kSidrReqPrivateData : wire::kReqPrivateData) - header;
  const auto data = private_data(command->conn_param, most);
  if (!data) return std::errc::invalid_argument;
  const std::errc error = identity.is_datagram()
                              ? connect_datagram(identity, *data, call.now)
                              : connect_connected(identity, command->conn_param, *data, call.now);
  if (error == std::errc{}) identity.state = IdState::kConnected;
  return error;
}

// On a fabric it is twice the time that a packet may be under way (IBA 12.7.34).
std::uint8_t CommandCore::ack_timeout_of(const Identity& identity) const {
  if (identity.ack_timeout) return *identity.ack_timeout;
  if (!identity.packet_life) return config_.ack_timeout;
  return static_cast<std::uint8_t>(std::min(*identity.packet_life + 1, 31));
}

std::errc CommandCore::connect_datagram(Identity& identity, Bytes data, Time now) {
  const std::vector<std::byte> full = with_ip_header(identity, data);
  mgmt::SidrParameters wanted;
  wanted.path = identity.path;
  wanted.service_id = identity.service_of(identity.destination);
  wanted.pkey = identity.pkey;
  wanted.private_data = full;
  wanted.user = identity.handle;
  wanted.owner = identity.channel;
  wanted.events = this;
  const auto cm = manager_.sidr_request(wanted, now);
  if (!cm) return cm.error().code;
  identity.cm = *cm;
  return {};
}

std::errc CommandCore::connect_connected(Identity& identity, const rdma_ucm_conn_param& parameters,
                                         Bytes data, Time now) {
  const std::vector<std::byte> full = with_ip_header(identity, data);
  mgmt::ConnectParameters wanted;
  wanted.path = identity.path;
  wanted.service_id = identity.service_of(identity.destination);
  wanted.type = identity.type;
  wanted.qpn = Qpn{parameters.qp_num};
  wanted.path_mtu = identity.path_mtu;
  wanted.responder_resources = parameters.responder_resources;
  wanted.initiator_depth = parameters.initiator_depth;
  wanted.retry_count = std::min(parameters.retry_count, kMostRetries);
  wanted.rnr_retry = std::min(parameters.rnr_retry_count, kMostRetries);
  wanted.srq = parameters.srq != 0;
  wanted.flow_control = parameters.flow_control != 0;
  wanted.ack_timeout = ack_timeout_of(identity);
  wanted.pkey = identity.pkey;
  wanted.private_data = full;
  wanted.extensions = config_.extensions;
  wanted.user = identity.handle;
  wanted.owner = identity.channel;
  wanted.events = this;
  const auto cm = manager_.connect(wanted, now);
  if (!cm) return cm.error().code;
  identity.cm = *cm;
  identity.qpn = wanted.qpn;
  return {};
}

std::errc CommandCore::listen(Call& call) {
  const auto command = abi::read<rdma_ucm_listen>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  Identity& identity = **found;
  if (identity.state == IdState::kIdle) {
    Address any;
    any.family = Family::kIpv4;
    const std::errc error = bind_to(identity, any);
    if (error != std::errc{}) return error;
  }
  if (identity.state != IdState::kBound) return std::errc::invalid_argument;
  std::errc error = ports_.listen(identity.space, identity.source.port, identity.handle);
  if (error == std::errc{}) error = add_to_service(identity);
  if (error != std::errc{}) return error;
  const bool named = command->backlog > 0 && command->backlog <= kMostBacklog;
  identity.backlog = named ? command->backlog : kMostBacklog;
  identity.state = IdState::kListening;
  return {};
}

std::errc CommandCore::add_to_service(Identity& identity) {
  const wire::ServiceId id = identity.service_of(identity.source);
  Service& service = services_[id];
  if (service.identities.empty()) {
    mgmt::ListenParameters wanted;
    wanted.service_id = id;
    // Each of the identifiers behind it has a backlog of its own.
    wanted.backlog = config_.max_ids;
    wanted.events = this;
    const auto listener = manager_.listen(wanted);
    if (!listener) {
      services_.erase(id);
      return listener.error().code;
    }
    service.listener = *listener;
  }
  service.identities.push_back(identity.handle);
  return {};
}

void CommandCore::leave_service(Identity& identity, Time now) {
  const auto found = services_.find(identity.service_of(identity.source));
  if (found == services_.end()) return;
  std::erase(found->second.identities, identity.handle);
  if (!found->second.identities.empty()) return;
  manager_.destroy(found->second.listener, now);
  services_.erase(found);
}

std::errc CommandCore::accept(Call& call) {
  const auto command = abi::read<rdma_ucm_accept>(call.in, offsetof(rdma_ucm_accept, ece));
  if (!command) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  Identity& identity = **found;
  if (identity.state != IdState::kConnected || identity.cm == mgmt::CmId{}) {
    return std::errc::invalid_argument;
  }
  // Without parameters it is the active side, which is ready: its program has moved its queue pair.
  if (command->conn_param.valid == 0) {
    if (identity.is_datagram()) return std::errc::invalid_argument;
    return as_kernel(manager_.ready(identity.cm, {}, call.now));
  }
  std::errc error{};
  if (identity.is_datagram()) {
    const auto data = private_data(command->conn_param, wire::kSidrRepPrivateData);
    if (!data) return std::errc::invalid_argument;
    mgmt::SidrAnswer answer;
    answer.qpn = Qpn{command->conn_param.qp_num};
    answer.qkey = command->conn_param.qkey != 0 ? QKey{command->conn_param.qkey} : kDatagramQKey;
    answer.private_data = *data;
    error = as_kernel(manager_.sidr_reply(identity.cm, answer, call.now));
  } else {
    error = accept_connected(identity, command->conn_param, call.now);
  }
  if (error == std::errc{}) identity.uid = command->uid;
  return error;
}

std::errc CommandCore::accept_connected(Identity& identity, const rdma_ucm_conn_param& parameters,
                                        Time now) {
  const auto data = private_data(parameters, wire::kRepPrivateData);
  if (!data) return std::errc::invalid_argument;
  mgmt::AcceptParameters wanted;
  wanted.qpn = Qpn{parameters.qp_num};
  wanted.responder_resources = parameters.responder_resources;
  wanted.initiator_depth = parameters.initiator_depth;
  wanted.rnr_retry = std::min(parameters.rnr_retry_count, kMostRetries);
  wanted.srq = parameters.srq != 0;
  wanted.flow_control = parameters.flow_control != 0;
  wanted.private_data = *data;
  wanted.extensions = config_.extensions & identity.offered;
  const auto accepted = manager_.accept(identity.cm, wanted, now);
  if (!accepted) return as_kernel(accepted);
  identity.qpn = wanted.qpn;
  if ((manager_.agreed_extensions(identity.cm) & mgmt::kWeftTransport) != 0) {
    signal_.agreed({identity.qpn, identity.remote_qpn, identity.path.dgid});
  }
  return {};
}

std::errc CommandCore::reject(Call& call) {
  const auto command = abi::read<rdma_ucm_reject>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  Identity& identity = **found;
  if (identity.cm == mgmt::CmId{}) return std::errc::invalid_argument;
  const std::size_t most =
      identity.is_datagram() ? wire::kSidrRepPrivateData : wire::kRejPrivateData;
  if (command->private_data_len > most) return std::errc::invalid_argument;
  const Bytes data = abi::bytes_of(command->private_data).first(command->private_data_len);
  if (identity.is_datagram()) {
    mgmt::SidrAnswer answer;
    answer.status = mgmt::SidrStatus::kRejected;
    answer.private_data = data;
    return as_kernel(manager_.sidr_reply(identity.cm, answer, call.now));
  }
  mgmt::RejectParameters wanted;
  if (command->reason != 0) wanted.reason = static_cast<mgmt::RejectReason>(command->reason);
  const bool allowed = wanted.reason == mgmt::RejectReason::kConsumerReject ||
                       wanted.reason == mgmt::RejectReason::kVendorOptionNotSupported;
  if (!allowed) return std::errc::invalid_argument;
  wanted.private_data = data;
  return as_kernel(manager_.reject(identity.cm, wanted, call.now));
}

std::errc CommandCore::disconnect(Call& call) {
  const auto command = abi::read<rdma_ucm_disconnect>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  const Identity& identity = **found;
  if (identity.cm == mgmt::CmId{}) return std::errc::invalid_argument;
  // Programs disconnect what the peer has disconnected already, and that is no error.
  static_cast<void>(manager_.disconnect(identity.cm, {}, call.now));
  return {};
}

std::errc CommandCore::notify(Call& call) {
  const auto command = abi::read<rdma_ucm_notify>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  const Identity& identity = **found;
  if (identity.cm == mgmt::CmId{}) return std::errc::invalid_argument;
  switch (command->event) {
    case kCommunicationEstablished:
      return as_kernel(manager_.notify_established(identity.cm));
    case kPathMigrated:
      return as_kernel(manager_.notify_migrated(identity.cm));
    default:
      return std::errc::invalid_argument;
  }
}

}  // namespace weft::rdmacm

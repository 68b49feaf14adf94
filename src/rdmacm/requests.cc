// SPDX-License-Identifier: Apache-2.0
// A peer's request finds the identifier that listens for it and becomes an identifier itself.
#include <algorithm>

#include "rdmacm/command_core.h"
#include "rdmacm/connection_values.h"
#include "rdmacm/qp_attributes.h"

namespace weft::rdmacm {
namespace {

// How well a listener suits a request to `address`: nothing, or more is better.
std::optional<int> suits(const Identity& listener, const Gid& address) {
  if (listener.source.address == address) return 2;
  if (!listener.source.any()) return std::nullopt;
  const Family wanted = address.is_ipv4_mapped() ? Family::kIpv4 : Family::kIpv6;
  if (listener.source.family == wanted || listener.source.family == Family::kIb) return 1;
  return listener.af_only.value_or(false) ? std::nullopt : std::optional(0);
}

Bytes after_header(const mgmt::PrivateData& data, bool has_header) {
  return data.bytes().subspan(has_header ? wire::CmIpHeader::kSize : 0);
}

template <class Parameters>
void set_private_data(Parameters& out, Bytes data) {
  const std::size_t size = std::min(data.size(), sizeof out.private_data);
  std::memcpy(out.private_data, data.data(), size);
  out.private_data_len = static_cast<std::uint8_t>(size);
}

}  // namespace

Identity* CommandCore::listener_for(mgmt::CmId listener,
                                    const std::optional<wire::CmIpHeader>& header,
                                    const hca::Path& path) {
  const auto service = std::find_if(services_.begin(), services_.end(), [&](const auto& each) {
    return each.second.listener == listener;
  });
  if (service == services_.end()) return nullptr;
  const Gid address = header ? header->destination_gid() : path.sgid;
  Identity* best = nullptr;
  int best_score = -1;
  for (const std::uint32_t handle : service->second.identities) {
    Identity* const identity = lookup(handle);
    // Only InfiniBand addresses can do without the IP header.
    if (identity == nullptr || (!header && identity->source.family != Family::kIb)) continue;
    const auto score = suits(*identity, address);
    if (!score || *score <= best_score) continue;
    best = identity;
    best_score = *score;
  }
  return best;
}

ChannelId CommandCore::channel_of_leaving(Bytes mad, const hca::Path& path) {
  return manager_.owner_of_leaving(mad, path);
}

// The first of a request is its listener's.
ChannelId CommandCore::channel_of_arriving(Bytes mad, const hca::Path& path) {
  const auto mad_header = wire::MadHeader::parse(mad);
  if (!mad_header || mad.size() != wire::kMadSize) return 0;
  if (const ChannelId owner = manager_.owner_of_arriving(mad, path)) return owner;
  const Bytes body = mad.subspan(wire::MadHeader::kSize);
  const auto of_listener = [&](wire::ServiceId service, Bytes private_data) -> ChannelId {
    const Identity* const listener = listener_for(manager_.listener_for(service, path.sgid),
                                                  wire::CmIpHeader::parse(private_data), path);
    return listener == nullptr ? 0 : listener->channel;
  };
  if (mad_header->attribute_id == static_cast<std::uint16_t>(wire::CmMessage::kReq)) {
    const auto req = wire::CmReq::parse(body);
    return req ? of_listener(req->service_id, req->private_data) : 0;
  }
  if (mad_header->attribute_id == static_cast<std::uint16_t>(wire::CmMessage::kSidrReq)) {
    const auto req = wire::CmSidrReq::parse(body);
    return req ? of_listener(req->service_id, req->private_data) : 0;
  }
  return 0;
}

Identity* CommandCore::add_request(Identity& listener, mgmt::CmId cm,
                                   const std::optional<wire::CmIpHeader>& header,
                                   const hca::Path& path, PKey pkey) {
  const auto device = interfaces_.describe(path.sgid, path.scope_id);
  if (listener.backlog == 0 || !device) return nullptr;
  Identity* const identity = add_identity(channels_[listener.channel]);
  if (identity == nullptr) return nullptr;
  --listener.backlog;
  identity->space = listener.space;
  identity->type = listener.type;
  identity->state = IdState::kConnected;
  identity->listener = listener.handle;
  identity->cm = cm;
  identity->device = device;
  identity->path = path;
  identity->path_mtu = device->path_mtu;
  identity->pkey = pkey;
  identity->tos = listener.tos;
  identity->ack_timeout = listener.ack_timeout;
  if (header && listener.source.family != Family::kIb) {
    identity->source = Address::ip(header->destination_gid(), listener.source.port, path.scope_id);
    identity->destination = Address::ip(header->source_gid(), header->source_port, path.scope_id);
  } else {
    identity->source = as_ib(path.sgid, listener.source, pkey, listener.space);
    identity->destination = as_ib(path.dgid, Address{}, pkey, listener.space);
  }
  static_cast<void>(manager_.set_user(cm, identity->handle));
  static_cast<void>(manager_.set_owner(cm, identity->channel));
  return identity;
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::ConnectRequest& what) {
  const auto header = wire::CmIpHeader::parse(what.private_data.bytes());
  const auto refuse = [&](Counter counter, mgmt::RejectReason reason) {
    counters_.add(counter);
    mgmt::RejectParameters wanted;
    wanted.reason = reason;
    static_cast<void>(manager_.reject(event.id, wanted, now_));
    manager_.destroy(event.id, now_);
  };
  Identity* const listener = listener_for(what.listener, header, what.path);
  if (listener == nullptr) {
    return refuse(header ? Counter::kRequestsUnheard : Counter::kRequestsBadIp,
                  mgmt::RejectReason::kInvalidServiceId);
  }
  if (listener->is_datagram()) {
    return refuse(Counter::kRequestsUnheard, mgmt::RejectReason::kInvalidTransportServiceType);
  }
  Identity* const request = add_request(*listener, event.id, header, what.path, what.pkey);
  if (request == nullptr) {
    return refuse(Counter::kRequestsOverBacklog, mgmt::RejectReason::kNoResources);
  }
  request->type = what.type;
  request->offered = what.extensions;
  request->remote_qpn = what.remote_qpn;
  request->path_mtu = std::min(request->path_mtu, what.path_mtu);

  QueuedEvent out;
  out.owner = listener->handle;
  out.request = request->handle;
  out.body.uid = listener->uid;
  out.body.id = request->handle;
  out.body.event = static_cast<std::uint32_t>(abi::Event::kConnectRequest);
  rdma_ucm_conn_param& parameters = out.body.param.conn;
  parameters.qp_num = what.remote_qpn.value();
  parameters.srq = what.srq ? 1 : 0;
  parameters.responder_resources = what.responder_resources;
  parameters.initiator_depth = what.initiator_depth;
  parameters.flow_control = what.flow_control ? 1 : 0;
  parameters.retry_count = what.retry_count;
  parameters.rnr_retry_count = what.rnr_retry;
  set_private_data(parameters, after_header(what.private_data, request->source.is_ip()));
  post(out, listener->channel);
}

void CommandCore::on(const mgmt::CmEvent& event, const mgmt::SidrRequest& what) {
  const auto header = wire::CmIpHeader::parse(what.private_data.bytes());
  const auto refuse = [&](Counter counter, mgmt::SidrStatus status) {
    counters_.add(counter);
    mgmt::SidrAnswer answer;
    answer.status = status;
    static_cast<void>(manager_.sidr_reply(event.id, answer, now_));
    manager_.destroy(event.id, now_);
  };
  Identity* const listener = listener_for(what.listener, header, what.path);
  if (listener == nullptr || !listener->is_datagram()) {
    return refuse(header ? Counter::kRequestsUnheard : Counter::kRequestsBadIp,
                  mgmt::SidrStatus::kServiceNotSupported);
  }
  Identity* const request = add_request(*listener, event.id, header, what.path, what.pkey);
  if (request == nullptr) {
    return refuse(Counter::kRequestsOverBacklog, mgmt::SidrStatus::kRejected);
  }
  QueuedEvent out;
  out.owner = listener->handle;
  out.request = request->handle;
  out.body.uid = listener->uid;
  out.body.id = request->handle;
  out.body.event = static_cast<std::uint32_t>(abi::Event::kConnectRequest);
  out.body.param.ud.ah_attr = ah_attributes(what.path, request->device->end.port);
  set_private_data(out.body.param.ud, after_header(what.private_data, request->source.is_ip()));
  post(out, listener->channel);
}

}  // namespace weft::rdmacm

// SPDX-License-Identifier: Apache-2.0
// The side that asks for a connection (IBA 12.9.7.1).
#include <algorithm>
#include <utility>

#include "mgmt/cm_check.h"
#include "mgmt/cm_route.h"
#include "mgmt/connection_manager.h"
#include "mgmt/extension_offer.h"

namespace weft::mgmt {
namespace {

Expected<void> check(const ConnectParameters& p) {
  if (p.type != hca::QpType::kRc && p.type != hca::QpType::kUc &&
      p.type != hca::QpType::kXrcInitiator) {
    return fail(std::errc::invalid_argument, "queue pair type: RC, UC or XRC initiator");
  }
  if (!can_connect(p.qpn)) {
    return fail(std::errc::invalid_argument,
                fmt::format("queue pair number {:#x}: cannot be connected", p.qpn.value()));
  }
  if (mtu_code(p.path_mtu) == 0) {
    return fail(std::errc::invalid_argument,
                fmt::format("path MTU {}: 256, 512, 1024, 2048 or 4096 bytes", p.path_mtu));
  }
  return check_ranges({{"retry count", p.retry_count, 7},
                       {"RNR retry count", p.rnr_retry, 7},
                       {"ACK timeout", p.ack_timeout, 31},
                       {"min RNR timer", p.min_rnr_timer, 31},
                       {"remote CM timeout", p.remote_cm_timeout, 31},
                       {"local CM timeout", p.local_cm_timeout, 31},
                       {"max CM retries", p.max_cm_retries, 15}});
}

wire::CmTransport transport_of(hca::QpType type) {
  switch (type) {
    case hca::QpType::kUc:
      return wire::CmTransport::kUc;
    case hca::QpType::kXrcInitiator:
      return wire::CmTransport::kXrc;
    default:
      return wire::CmTransport::kRc;
  }
}

wire::CmReq request(const ConnectParameters& p, const CmEntry& entry) {
  wire::CmReq req{.local_comm_id = entry.id,
                  .service_id = p.service_id,
                  .local_ca_guid = entry.route.end.ca_guid,
                  .local_qpn = p.qpn,
                  .responder_resources = p.responder_resources,
                  .initiator_depth = p.initiator_depth,
                  .remote_cm_timeout = p.remote_cm_timeout,
                  .transport = transport_of(p.type),
                  .flow_control = p.flow_control && hca::is_reliable(p.type),
                  .starting_psn = entry.local.starting_psn,
                  .local_cm_timeout = p.local_cm_timeout,
                  .retry_count = p.retry_count,
                  .pkey = p.pkey,
                  .path_mtu = mtu_code(p.path_mtu),
                  .rnr_retry = p.rnr_retry,
                  .max_cm_retries = p.max_cm_retries,
                  .srq = p.srq,
                  .primary = to_wire(entry.route)};
  if (p.type == hca::QpType::kXrcInitiator) req.extended_transport = wire::CmReq::kExtendedXrc;
  if (entry.alternate) req.alternate = to_wire(*entry.alternate);
  return req;
}

}  // namespace

Expected<CmId> ConnectionManager::connect(const ConnectParameters& p, Time now) {
  if (const auto good = check(p); !good) return tl::unexpected(good.error());
  const auto data = area_of<wire::kReqPrivateData>("private data of a REQ", p.private_data);
  if (!data) return tl::unexpected(data.error());
  const auto route = route_of(p.path, p.ack_timeout);
  if (!route) return tl::unexpected(route.error());
  std::optional<CmRoute> alternate;
  if (p.alternate_path) {
    const auto other = route_of(*p.alternate_path, p.ack_timeout);
    if (!other) return tl::unexpected(other.error());
    alternate = *other;
  }
  CmEntry* entry = table_.add(draw_id(), false);
  if (entry == nullptr) {
    return fail(std::errc::too_many_files_open,
                fmt::format("{} connections: there may be no more", table_.size()));
  }
  entry->user = p.user;
  entry->owner = p.owner;
  entry->events = p.events;
  entry->peer = peer_of(p.path);
  entry->service_id = p.service_id;
  entry->route = *route;
  entry->alternate = alternate;
  entry->type = p.type;
  entry->pkey = p.pkey;
  entry->path_mtu = p.path_mtu;
  entry->local = {.qpn = p.qpn,
                  .starting_psn = p.starting_psn.value_or(draw_psn()),
                  .responder_resources = p.responder_resources,
                  .initiator_depth = p.initiator_depth};
  entry->retry_count = p.retry_count;
  entry->min_rnr_timer = p.min_rnr_timer;
  entry->max_cm_retries = p.max_cm_retries;
  entry->cm_timeout = p.remote_cm_timeout;
  entry->patience = patience(p.remote_cm_timeout);
  wire::CmReq req = request(p, *entry);
  req.private_data = *data;
  entry->offered = p.extensions;
  entry->transaction = entropy_.draw();
  if (p.extensions != 0) {
    const auto drawn = static_cast<std::uint16_t>(entry->transaction);
    entry->transaction = offering_transaction(req, p.extensions, drawn);
  }
  entry->state = CmState::kReqSent;
  out_.send_until_answered(*entry, entry->repeat, req, entry->transaction, now);
  return entry->id;
}

void ConnectionManager::refuse(const wire::CmRep& rep, RejectReason reason, const Arrival& at) {
  const wire::CmRej rej{.local_comm_id = rep.remote_comm_id,
                        .remote_comm_id = rep.local_comm_id,
                        .message = wire::CmAnswered::kRep,
                        .reason = reason};
  out_.send(at.from, at.pkey, rej, at.transaction);
}

void ConnectionManager::on(wire::CmRep rep, const Arrival& at) {
  if (table_.find(rep.remote_comm_id) == nullptr) {
    counters_.add(CmCounter::kRxNoConnection);
    return refuse(rep, RejectReason::kInvalidCommId, at);
  }
  CmEntry* entry = addressee(rep.remote_comm_id, rep.local_comm_id, at);
  if (entry == nullptr) return;
  if (entry->passive) return counters_.add(CmCounter::kRxWrongState);
  switch (entry->state) {
    case CmState::kReqSent:
      return on_first(*entry, rep, at.now);
    case CmState::kRepReceived:
      return on_repeated(*entry);
    case CmState::kEstablished:
    case CmState::kIdle:
      return out_.answer_again(*entry, entry->repeat);
    default:
      counters_.add(CmCounter::kRxWrongState);
  }
}

void ConnectionManager::on_first(CmEntry& entry, wire::CmRep& rep, Time now) {
  entry.remote_id = rep.local_comm_id;
  entry.remote_ca_guid = rep.local_ca_guid;
  entry.remote = {.qpn = rep.local_qpn,
                  .starting_psn = rep.starting_psn,
                  .responder_resources = rep.responder_resources,
                  .initiator_depth = rep.initiator_depth};
  std::optional<RejectReason> refused;
  if (!can_connect(rep.local_qpn)) {
    refused = RejectReason::kUnsupportedRequest;
    counters_.add(CmCounter::kRefusedInvalid);
  } else if (!table_.index_by_queue_pair(entry)) {
    refused = RejectReason::kStaleConnection;
    counters_.add(CmCounter::kRefusedStale);
    break_stale(*table_.find_by_queue_pair(entry.peer, rep.local_qpn), now);
  }
  if (refused) {
    emit(entry, Rejected{.reason = *refused, .message = wire::CmAnswered::kRep});
    return send_reject(entry, {.reason = *refused});
  }
  out_.stop(entry);
  if (entry.offered != 0) entry.agreed = take_agreement(rep) & entry.offered;
  // The peer may allow less than was asked for, never more.
  CmSide& local = entry.local;
  local.responder_resources = std::min(local.responder_resources, rep.initiator_depth);
  local.initiator_depth = std::min(local.initiator_depth, rep.responder_resources);
  entry.rnr_retry = rep.rnr_retry;
  entry.target_ack_delay = rep.target_ack_delay;
  if (rep.failover_accepted != 0) entry.alternate.reset();
  entry.repeat.valid = false;
  entry.state = CmState::kRepReceived;
  emit(entry, ConnectResponse{.remote_ca_guid = rep.local_ca_guid,
                              .remote_qpn = rep.local_qpn,
                              .starting_psn = rep.starting_psn,
                              .responder_resources = local.responder_resources,
                              .initiator_depth = local.initiator_depth,
                              .target_ack_delay = rep.target_ack_delay,
                              .failover_accepted = rep.failover_accepted,
                              .rnr_retry = rep.rnr_retry,
                              .srq = rep.srq,
                              .flow_control = rep.flow_control,
                              .extensions = entry.agreed,
                              .private_data = PrivateData(rep.private_data)});
}

Expected<void> ConnectionManager::ready(CmId id, Bytes private_data, Time) {
  const auto found = in_state(id, {CmState::kRepReceived});
  if (!found) return tl::unexpected(found.error());
  const auto data = area_of<wire::kRtuPrivateData>("private data of an RTU", private_data);
  if (!data) return tl::unexpected(data.error());
  CmEntry& entry = **found;
  const wire::CmRtu rtu{
      .local_comm_id = id, .remote_comm_id = entry.remote_id, .private_data = *data};
  out_.send_and_keep(entry, entry.repeat, rtu, entry.transaction);
  entry.state = CmState::kEstablished;
  return {};
}

}  // namespace weft::mgmt

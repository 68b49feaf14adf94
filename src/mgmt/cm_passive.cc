// SPDX-License-Identifier: Apache-2.0
// The side that is asked for a connection (IBA 12.9.7.2).
#include <algorithm>

#include "mgmt/cm_check.h"
#include "mgmt/cm_route.h"
#include "mgmt/connection_manager.h"
#include "mgmt/extension_offer.h"

namespace weft::mgmt {
namespace {

// The type of queue pair that answers the peer's; nothing for a service that does not exist here.
std::optional<hca::QpType> answering_type(const wire::CmReq& req) {
  switch (req.transport) {
    case wire::CmTransport::kRc:
      return hca::QpType::kRc;
    case wire::CmTransport::kUc:
      return hca::QpType::kUc;
    case wire::CmTransport::kXrc:
      if (req.extended_transport == wire::CmReq::kExtendedXrc) return hca::QpType::kXrcTarget;
      return std::nullopt;
    case wire::CmTransport::kRd:
      return std::nullopt;
  }
  return std::nullopt;
}

ConnectRequest request_event(const wire::CmReq& req, const CmEntry& entry) {
  return {.listener = entry.waits_for,
          .service_id = req.service_id,
          .path = entry.route.path,
          .alternate_path = entry.alternate ? std::optional(entry.alternate->path) : std::nullopt,
          .remote_ca_guid = req.local_ca_guid,
          .remote_qpn = req.local_qpn,
          .starting_psn = req.starting_psn,
          .type = entry.type,
          .pkey = req.pkey,
          .path_mtu = entry.path_mtu,
          .responder_resources = entry.local.responder_resources,
          .initiator_depth = entry.local.initiator_depth,
          .retry_count = req.retry_count,
          .rnr_retry = req.rnr_retry,
          .srq = req.srq,
          .flow_control = req.flow_control,
          .extensions = entry.offered,
          .private_data = PrivateData(req.private_data)};
}

}  // namespace

void ConnectionManager::refuse(const wire::CmReq& req, RejectReason reason, const Arrival& at) {
  const wire::CmRej rej{
      .remote_comm_id = req.local_comm_id, .message = wire::CmAnswered::kReq, .reason = reason};
  out_.send(at.from, at.pkey, rej, at.transaction);
}

// The sender's address and the path's must be the same: else a stranger could have us send to
// somebody who never asked.
std::optional<RejectReason> ConnectionManager::flaw(const wire::CmReq& req,
                                                    const Arrival& at) const {
  if (!answering_type(req)) return RejectReason::kInvalidTransportServiceType;
  if (mtu_bytes(req.path_mtu) == 0) return RejectReason::kInvalidPathMtu;
  const auto primary = from_wire(req.primary, ends_, at.from);
  if (!primary) {
    return primary.error() == RouteFlaw::kGid ? RejectReason::kPrimaryGidRejected
                                              : RejectReason::kPrimaryLidRejected;
  }
  if (peer_of(primary->path) != peer_of(at.from) || !can_connect(req.local_qpn) ||
      !ends_.pkey_index(primary->end, req.pkey)) {
    return RejectReason::kUnsupportedRequest;
  }
  if (req.alternate.remote_gid.is_zero()) return std::nullopt;
  const auto alternate = from_wire(req.alternate, ends_, at.from);
  if (alternate) return std::nullopt;
  return alternate.error() == RouteFlaw::kGid ? RejectReason::kAlternateGidRejected
                                              : RejectReason::kAlternateLidRejected;
}

void ConnectionManager::on(wire::CmReq req, const Arrival& at) {
  if (CmEntry* known = table_.find_by_peer(peer_of(at.from), req.local_comm_id, false)) {
    if (known->transaction == at.transaction) return on_repeated(*known);
    // An ID that the peer uses anew: well if the old connection is over, else not.
    if (known->state != CmState::kTimewait && known->state != CmState::kIdle) {
      counters_.add(CmCounter::kRefusedInvalid);
      return refuse(req, RejectReason::kDuplicateLocalCommId, at);
    }
    table_.release_peer_id(*known);
  }
  if (listeners_.match(req.service_id, req.primary.remote_gid) == CmId{}) {
    const EarlyRequests::Request early{
        .id = req.local_comm_id, .service = req.service_id, .address = req.primary.remote_gid};
    if (waits_for_listener(early, at)) return;
    return refuse(req, RejectReason::kInvalidServiceId, at);
  }
  if (const auto reason = flaw(req, at)) {
    counters_.add(CmCounter::kRefusedInvalid);
    return refuse(req, *reason, at);
  }
  if (CmEntry* other = table_.find_by_queue_pair(peer_of(at.from), req.local_qpn)) {
    counters_.add(CmCounter::kRefusedStale);
    break_stale(*other, at.now);
    return refuse(req, RejectReason::kStaleConnection, at);
  }
  const auto admitted = admit(req.service_id, req.primary.remote_gid);
  if (!admitted) return refuse(req, admitted.error(), at);
  begin(**admitted, req, at);
}

void ConnectionManager::begin(CmEntry& entry, wire::CmReq& req, const Arrival& at) {
  entry.state = CmState::kReqReceived;
  entry.peer = peer_of(at.from);
  entry.route = *from_wire(req.primary, ends_, at.from);
  if (const auto alternate = from_wire(req.alternate, ends_, at.from)) entry.alternate = *alternate;
  entry.remote_id = req.local_comm_id;
  entry.remote_ca_guid = req.local_ca_guid;
  entry.transaction = at.transaction;
  entry.type = *answering_type(req);
  entry.pkey = req.pkey;
  entry.path_mtu = mtu_bytes(req.path_mtu);
  entry.local = {.qpn = {},
                 .starting_psn = draw_psn(),
                 .responder_resources = req.initiator_depth,
                 .initiator_depth = req.responder_resources};
  entry.remote = {.qpn = req.local_qpn,
                  .starting_psn = req.starting_psn,
                  .responder_resources = req.responder_resources,
                  .initiator_depth = req.initiator_depth};
  entry.retry_count = req.retry_count;
  entry.rnr_retry = req.rnr_retry;
  entry.max_cm_retries = req.max_cm_retries;
  entry.patience = patience(req.local_cm_timeout);
  entry.offered = offered_extensions(req, at.transaction);
  table_.index_by_peer(entry);
  table_.index_by_queue_pair(entry);
  emit(entry, request_event(req, entry));
}

void ConnectionManager::on_repeated(CmEntry& entry) {
  const auto ask_for_time = [&](wire::CmAnswered message) {
    counters_.add(CmCounter::kRxRepeated);
    const wire::CmMra mra{.local_comm_id = entry.id,
                          .remote_comm_id = entry.remote_id,
                          .message = message,
                          .service_timeout = config_.mra_timeout};
    out_.send(entry, mra, entry.transaction);
  };
  switch (entry.state) {
    case CmState::kReqReceived:
      return ask_for_time(wire::CmAnswered::kReq);
    case CmState::kRepReceived:
      return ask_for_time(wire::CmAnswered::kRep);
    case CmState::kRepSent:
    case CmState::kIdle:
      return out_.answer_again(entry, entry.repeat);
    default:
      counters_.add(CmCounter::kRxRepeated);
  }
}

void ConnectionManager::break_stale(CmEntry& entry, Time now) {
  switch (entry.state) {
    case CmState::kEstablished:
      return send_dreq(entry, {}, now);
    case CmState::kReqReceived:
    case CmState::kRepSent:
    case CmState::kRepReceived:
      emit(entry,
           Rejected{.reason = RejectReason::kStaleConnection, .message = wire::CmAnswered::kNone});
      return finish(entry);
    default:
      return;  // it is ending already
  }
}

Expected<void> ConnectionManager::accept(CmId id, const AcceptParameters& p, Time now) {
  const auto found = in_state(id, {CmState::kReqReceived});
  if (!found) return tl::unexpected(found.error());
  CmEntry& entry = **found;
  if (!can_connect(p.qpn)) {
    return fail(std::errc::invalid_argument,
                fmt::format("queue pair number {:#x}: cannot be connected", p.qpn.value()));
  }
  const auto good = check_ranges({{"target ACK delay", p.target_ack_delay, 31},
                                  {"RNR retry count", p.rnr_retry, 7},
                                  {"min RNR timer", p.min_rnr_timer, 31},
                                  {"failover accepted", p.failover_accepted, 3}});
  if (!good) return tl::unexpected(good.error());
  if ((p.extensions & ~entry.offered) != 0) {
    return fail(std::errc::invalid_argument, fmt::format("extensions {:#x}: the peer offers {:#x}",
                                                         p.extensions, entry.offered));
  }
  const auto data = area_of<wire::kRepPrivateData>("private data of a REP", p.private_data);
  if (!data) return tl::unexpected(data.error());

  leave_backlog(entry);
  CmSide& local = entry.local;
  local.qpn = p.qpn;
  if (p.starting_psn) local.starting_psn = *p.starting_psn;
  // The peer may be given less than it asked for, never more.
  local.responder_resources = std::min(p.responder_resources, entry.remote.initiator_depth);
  local.initiator_depth = std::min(p.initiator_depth, entry.remote.responder_resources);
  entry.min_rnr_timer = p.min_rnr_timer;
  entry.target_ack_delay = p.target_ack_delay;
  if (p.failover_accepted != 0) entry.alternate.reset();
  wire::CmRep rep{.local_comm_id = id,
                  .remote_comm_id = entry.remote_id,
                  .local_qpn = p.qpn,
                  .starting_psn = local.starting_psn,
                  .responder_resources = local.responder_resources,
                  .initiator_depth = local.initiator_depth,
                  .target_ack_delay = p.target_ack_delay,
                  .failover_accepted = p.failover_accepted,
                  .flow_control = p.flow_control && hca::is_reliable(entry.type),
                  .rnr_retry = p.rnr_retry,
                  .srq = p.srq,
                  .local_ca_guid = entry.route.end.ca_guid,
                  .private_data = *data};
  if (p.extensions != 0 && has_room_for_agreement(p.private_data.size())) {
    entry.agreed = p.extensions;
    put_agreement(rep, p.extensions);
  }
  entry.state = CmState::kRepSent;
  out_.send_until_answered(entry, entry.repeat, rep, entry.transaction, now);
  return {};
}

void ConnectionManager::on(const wire::CmRtu& rtu, const Arrival& at) {
  CmEntry* entry = addressee(rtu.remote_comm_id, rtu.local_comm_id, at);
  if (entry == nullptr) return;
  if (entry->state != CmState::kRepSent) {
    const bool repeated = entry->passive && entry->state == CmState::kEstablished;
    counters_.add(repeated ? CmCounter::kRxRepeated : CmCounter::kRxWrongState);
    return;
  }
  out_.stop(*entry);
  entry->state = CmState::kEstablished;
  emit(*entry, Established{.private_data = PrivateData(rtu.private_data)});
}

Expected<void> ConnectionManager::notify_established(CmId id) {
  const auto found = in_state(id, {CmState::kRepSent, CmState::kEstablished});
  if (!found) return tl::unexpected(found.error());
  CmEntry& entry = **found;
  if (entry.state == CmState::kEstablished) return {};
  out_.stop(entry);
  entry.state = CmState::kEstablished;
  emit(entry, Established{});
  return {};
}

}  // namespace weft::mgmt

// SPDX-License-Identifier: Apache-2.0
// From a service ID to a queue pair of datagrams (IBA 12.11).
#include "mgmt/cm_check.h"
#include "mgmt/connection_manager.h"

namespace weft::mgmt {

Expected<CmId> ConnectionManager::sidr_request(const SidrParameters& p, Time now) {
  if (const auto good = check_ranges({{"CM timeout", p.cm_timeout, 31}}); !good) {
    return tl::unexpected(good.error());
  }
  const auto data =
      area_of<wire::kSidrReqPrivateData>("private data of a SIDR_REQ", p.private_data);
  if (!data) return tl::unexpected(data.error());
  const auto route = route_of(p.path, 0);
  if (!route) return tl::unexpected(route.error());
  CmEntry* entry = table_.add(draw_id(), false);
  if (entry == nullptr) {
    return fail(std::errc::too_many_files_open,
                fmt::format("{} connections: there may be no more", table_.size()));
  }
  entry->sidr = true;
  entry->user = p.user;
  entry->owner = p.owner;
  entry->events = p.events;
  entry->peer = peer_of(p.path);
  entry->service_id = p.service_id;
  entry->route = *route;
  entry->transaction = entropy_.draw();
  entry->max_cm_retries = p.max_cm_retries;
  entry->patience = patience(p.cm_timeout);
  entry->state = CmState::kSidrSent;
  entry->pkey = p.pkey;
  const wire::CmSidrReq req{
      .request_id = entry->id, .pkey = p.pkey, .service_id = p.service_id, .private_data = *data};
  out_.send_until_answered(*entry, entry->repeat, req, entry->transaction, now);
  return entry->id;
}

void ConnectionManager::on(const wire::CmSidrReq& req, const Arrival& at) {
  if (CmEntry* known = table_.find_by_peer(peer_of(at.from), req.request_id, true)) {
    if (known->transaction == at.transaction || known->state != CmState::kIdle) {
      return out_.answer_again(*known, known->repeat);
    }
    table_.release_peer_id(*known);  // an ID that the peer uses anew
  }
  wire::CmSidrRep refusal{
      .request_id = req.request_id, .status = SidrStatus::kRejected, .service_id = req.service_id};
  const auto end = ends_.find(at.from.sgid);
  if (!end) {
    counters_.add(CmCounter::kRefusedInvalid);
    return out_.send(at.from, at.pkey, refusal, at.transaction);
  }
  const bool heard = listeners_.match(req.service_id, at.from.sgid) != CmId{};
  const EarlyRequests::Request early{
      .id = req.request_id, .service = req.service_id, .address = at.from.sgid};
  if (!heard && waits_for_listener(early, at)) return;
  const auto admitted = admit(req.service_id, at.from.sgid);
  if (!admitted) {
    if (admitted.error() == RejectReason::kInvalidServiceId) {
      refusal.status = SidrStatus::kServiceNotSupported;
    }
    return out_.send(at.from, at.pkey, refusal, at.transaction);
  }
  CmEntry& entry = **admitted;
  entry.sidr = true;
  entry.state = CmState::kSidrReceived;
  entry.peer = peer_of(at.from);
  entry.route = {.path = at.from, .end = *end};
  entry.remote_id = req.request_id;
  entry.pkey = at.pkey;
  entry.transaction = at.transaction;
  table_.index_by_peer(entry);
  emit(entry, SidrRequest{.listener = entry.waits_for,
                          .service_id = req.service_id,
                          .pkey = req.pkey,
                          .path = at.from,
                          .private_data = PrivateData(req.private_data)});
}

Expected<void> ConnectionManager::sidr_reply(CmId id, const SidrAnswer& answer, Time) {
  const auto found = in_state(id, {CmState::kSidrReceived});
  if (!found) return tl::unexpected(found.error());
  CmEntry& entry = **found;
  const auto info =
      area_of<wire::kMaxAdditionalInfo>("additional information", answer.additional_info);
  if (!info) return tl::unexpected(info.error());
  const auto data =
      area_of<wire::kSidrRepPrivateData>("private data of a SIDR_REP", answer.private_data);
  if (!data) return tl::unexpected(data.error());
  const wire::CmSidrRep rep{.request_id = entry.remote_id,
                            .status = answer.status,
                            .info_length = static_cast<std::uint8_t>(answer.additional_info.size()),
                            .qpn = answer.qpn,
                            .service_id = entry.service_id,
                            .qkey = answer.qkey,
                            .info = *info,
                            .private_data = *data};
  leave_backlog(entry);
  out_.send_and_keep(entry, entry.repeat, rep, entry.transaction);
  entry.state = CmState::kIdle;
  return {};
}

void ConnectionManager::on(const wire::CmSidrRep& rep, const Arrival& at) {
  CmEntry* entry = table_.find(rep.request_id);
  if (entry == nullptr || !entry->sidr) return counters_.add(CmCounter::kRxNoConnection);
  if (peer_of(at.from) != entry->peer) return counters_.add(CmCounter::kRxWrongPeer);
  if (entry->state != CmState::kSidrSent) return counters_.add(CmCounter::kRxWrongState);
  emit(*entry, SidrReply{.status = rep.status,
                         .service_id = rep.service_id,
                         .qpn = rep.qpn,
                         .qkey = rep.qkey,
                         .additional_info = information(rep.info, rep.info_length),
                         .private_data = PrivateData(rep.private_data)});
  finish(*entry);
}

}  // namespace weft::mgmt

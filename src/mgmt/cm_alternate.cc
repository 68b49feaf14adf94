// SPDX-License-Identifier: Apache-2.0
// Another path for a standing connection (IBA 12.8).
#include "mgmt/cm_check.h"
#include "mgmt/cm_route.h"
#include "mgmt/connection_manager.h"

namespace weft::mgmt {

using State = CmAlternateExchange::State;

Expected<void> ConnectionManager::load_alternate_path(CmId id, const AlternatePathParameters& p,
                                                      Time now) {
  const auto found = in_state(id, {CmState::kEstablished});
  if (!found) return tl::unexpected(found.error());
  CmEntry& entry = **found;
  if (entry.passive) {
    return fail(std::errc::operation_not_permitted,
                "only the side that asked for the connection may load an alternate path");
  }
  if (entry.lap) {
    return fail(std::errc::operation_in_progress, "an alternate path is being loaded already");
  }
  if (auto good = check_ranges({{"ACK timeout", p.ack_timeout, 31}}); !good) return good;
  const auto data = area_of<wire::kLapPrivateData>("private data of a LAP", p.private_data);
  if (!data) return tl::unexpected(data.error());
  const auto route = route_of(p.path, p.ack_timeout);
  if (!route) return tl::unexpected(route.error());

  entry.lap = std::make_unique<CmAlternateExchange>();
  entry.lap->state = State::kAsked;
  entry.lap->transaction = entropy_.draw();
  entry.lap->route = *route;
  const wire::CmLap lap{.local_comm_id = id,
                        .remote_comm_id = entry.remote_id,
                        .remote_qpn = entry.remote.qpn,
                        .remote_cm_timeout = entry.cm_timeout,
                        .path = to_wire(*route),
                        .private_data = *data};
  out_.send_until_answered(entry, entry.lap->repeat, lap, entry.lap->transaction, now);
  return {};
}

void ConnectionManager::on(const wire::CmLap& lap, const Arrival& at) {
  CmEntry* entry = addressee(lap.remote_comm_id, lap.local_comm_id, at);
  if (entry == nullptr) return;
  if (entry->state != CmState::kEstablished || !entry->passive) {
    return counters_.add(CmCounter::kRxWrongState);
  }
  if (lap.remote_qpn != entry->local.qpn) return counters_.add(CmCounter::kRxWrongPeer);
  if (entry->lap && entry->lap->transaction == at.transaction) {
    if (entry->lap->state == State::kAnswered) {
      return out_.answer_again(*entry, entry->lap->repeat);
    }
    counters_.add(CmCounter::kRxRepeated);
    const wire::CmMra mra{.local_comm_id = entry->id,
                          .remote_comm_id = entry->remote_id,
                          .message = wire::CmAnswered::kLap,
                          .service_timeout = config_.mra_timeout};
    return out_.send(*entry, mra, at.transaction);
  }
  // One at a time: the peer may not ask for another before it has its answer.
  if (entry->lap && entry->lap->state == State::kWasAsked) {
    return counters_.add(CmCounter::kRxWrongState);
  }
  const auto route = from_wire(lap.path, ends_, at.from);
  entry->lap = std::make_unique<CmAlternateExchange>();
  entry->lap->state = State::kWasAsked;
  entry->lap->transaction = at.transaction;
  if (!route) {
    counters_.add(CmCounter::kRefusedInvalid);
    (void)answer(*entry,
                 {.status = route.error() == RouteFlaw::kGid ? AlternatePathStatus::kGidRejected
                                                             : AlternatePathStatus::kLidRejected});
    return;
  }
  entry->lap->route = *route;
  emit(*entry, AlternatePathRequest{.path = route->path,
                                    .ack_timeout = route->ack_timeout,
                                    .private_data = PrivateData(lap.private_data)});
}

Expected<void> ConnectionManager::answer(CmEntry& entry, const AlternatePathAnswer& answer) {
  const auto info =
      area_of<wire::kMaxAdditionalInfo>("additional information", answer.additional_info);
  if (!info) return tl::unexpected(info.error());
  const auto data = area_of<wire::kAprPrivateData>("private data of an APR", answer.private_data);
  if (!data) return tl::unexpected(data.error());
  CmAlternateExchange& lap = *entry.lap;
  if (answer.status == AlternatePathStatus::kLoaded) {
    entry.alternate = lap.route;
    entry.may_rearm = true;
  }
  lap.state = State::kAnswered;
  const wire::CmApr apr{.local_comm_id = entry.id,
                        .remote_comm_id = entry.remote_id,
                        .info_length = static_cast<std::uint8_t>(answer.additional_info.size()),
                        .status = answer.status,
                        .info = *info,
                        .private_data = *data};
  out_.send_and_keep(entry, lap.repeat, apr, lap.transaction);
  return {};
}

Expected<void> ConnectionManager::reply_alternate_path(CmId id, const AlternatePathAnswer& p,
                                                       Time) {
  const auto found = in_state(id, {CmState::kEstablished});
  if (!found) return tl::unexpected(found.error());
  CmEntry& entry = **found;
  if (!entry.lap || entry.lap->state != State::kWasAsked) {
    return fail(std::errc::not_connected,
                fmt::format("connection ID {:#010x}: nobody asked for a path", id.value()));
  }
  return answer(entry, p);
}

void ConnectionManager::on(const wire::CmApr& apr, const Arrival& at) {
  CmEntry* entry = addressee(apr.remote_comm_id, apr.local_comm_id, at);
  if (entry == nullptr) return;
  if (entry->state != CmState::kEstablished || !entry->lap || entry->lap->state != State::kAsked ||
      entry->lap->transaction != at.transaction) {
    return counters_.add(CmCounter::kRxWrongState);
  }
  out_.stop(*entry);
  if (apr.status == AlternatePathStatus::kLoaded) {
    entry->alternate = entry->lap->route;
    entry->may_rearm = true;
  }
  entry->lap.reset();
  emit(*entry, AlternatePathReply{.status = apr.status,
                                  .additional_info = information(apr.info, apr.info_length),
                                  .private_data = PrivateData(apr.private_data)});
}

Expected<void> ConnectionManager::notify_migrated(CmId id) {
  const auto found = in_state(id, {CmState::kEstablished});
  if (!found) return tl::unexpected(found.error());
  CmEntry& entry = **found;
  if (!entry.alternate) {
    return fail(std::errc::not_connected,
                fmt::format("connection ID {:#010x}: it has no alternate path", id.value()));
  }
  entry.route = *entry.alternate;
  entry.alternate.reset();
  entry.may_rearm = false;
  return {};
}

}  // namespace weft::mgmt

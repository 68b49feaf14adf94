// SPDX-License-Identifier: Apache-2.0
// The answers that are not the one hoped for: REJ and MRA (IBA 12.6.6, 12.6.7).
#include "mgmt/cm_check.h"
#include "mgmt/connection_manager.h"

namespace weft::mgmt {
namespace {

constexpr unsigned kMostMra = 24;  // 69 s, what Linux asks for

}  // namespace

void ConnectionManager::send_reject(CmEntry& entry, wire::CmRej rej) {
  switch (entry.state) {
    case CmState::kReqReceived:
      rej.message = wire::CmAnswered::kReq;
      break;
    case CmState::kReqSent:
    case CmState::kRepReceived:
      rej.message = wire::CmAnswered::kRep;
      break;
    default:
      rej.message = wire::CmAnswered::kNone;
      break;
  }
  rej.local_comm_id = entry.id;
  rej.remote_comm_id = entry.remote_id;
  leave_backlog(entry);
  out_.stop(entry);
  table_.release_queue_pair(entry);
  out_.send_and_keep(entry, entry.repeat, rej, entry.transaction);
  entry.state = CmState::kIdle;
}

Expected<void> ConnectionManager::reject(CmId id, const RejectParameters& p, Time) {
  const auto found =
      in_state(id, {CmState::kReqReceived, CmState::kRepReceived, CmState::kRepSent});
  if (!found) return tl::unexpected(found.error());
  const auto info =
      area_of<wire::kMaxAdditionalInfo>("additional reject information", p.additional_info);
  if (!info) return tl::unexpected(info.error());
  const auto data = area_of<wire::kRejPrivateData>("private data of a REJ", p.private_data);
  if (!data) return tl::unexpected(data.error());
  send_reject(**found, {.info_length = static_cast<std::uint8_t>(p.additional_info.size()),
                        .reason = p.reason,
                        .info = *info,
                        .private_data = *data});
  return {};
}

void ConnectionManager::on(const wire::CmRej& rej, const Arrival& at) {
  CmEntry* entry = nullptr;
  if (rej.remote_comm_id == wire::CommId{} && rej.reason == RejectReason::kTimeout) {
    // From a peer that asked and gave up before it knew our ID.
    if (early_.forget(at.from, rej.local_comm_id)) return;
    entry = table_.find_by_peer(peer_of(at.from), rej.local_comm_id, false);
    if (entry == nullptr) return counters_.add(CmCounter::kRxNoConnection);
  } else {
    // A peer that has forgotten the connection may not know its own ID.
    const CmEntry* ours = table_.find(rej.remote_comm_id);
    const bool forgotten = rej.local_comm_id == wire::CommId{} && ours != nullptr;
    entry = addressee(rej.remote_comm_id, forgotten ? ours->remote_id : rej.local_comm_id, at);
    if (entry == nullptr) return;
  }
  const bool of_request = rej.message == wire::CmAnswered::kReq;
  switch (entry->state) {
    case CmState::kRepReceived:
      // An old refusal of a REQ that was accepted when it was sent again.
      if (of_request) return counters_.add(CmCounter::kRxWrongState);
      [[fallthrough]];
    case CmState::kReqSent:
    case CmState::kReqReceived:
    case CmState::kRepSent:
      emit(*entry, Rejected{.reason = rej.reason,
                            .message = rej.message,
                            .additional_info = information(rej.info, rej.info_length),
                            .private_data = PrivateData(rej.private_data)});
      return finish(*entry);
    case CmState::kEstablished:
    case CmState::kDreqSent:
      if (of_request) return counters_.add(CmCounter::kRxWrongState);
      return enter_timewait(*entry, {.cause = Disconnected::Cause::kStale}, at.now);
    default:
      counters_.add(CmCounter::kRxWrongState);
  }
}

Expected<void> ConnectionManager::mra(CmId id, std::uint8_t service_timeout, Bytes private_data,
                                      Time) {
  const auto found =
      in_state(id, {CmState::kReqReceived, CmState::kRepReceived, CmState::kEstablished});
  if (!found) return tl::unexpected(found.error());
  CmEntry& entry = **found;
  wire::CmMra mra{.local_comm_id = id,
                  .remote_comm_id = entry.remote_id,
                  .message = wire::CmAnswered::kReq,
                  .service_timeout = service_timeout};
  std::uint64_t transaction = entry.transaction;
  if (entry.state == CmState::kRepReceived) mra.message = wire::CmAnswered::kRep;
  if (entry.state == CmState::kEstablished) {
    if (!entry.lap || entry.lap->state != CmAlternateExchange::State::kWasAsked) {
      return fail(std::errc::not_connected,
                  fmt::format("connection ID {:#010x}: nothing waits for an answer", id.value()));
    }
    mra.message = wire::CmAnswered::kLap;
    transaction = entry.lap->transaction;
  }
  if (auto good = check_ranges({{"service timeout", service_timeout, 31}}); !good) return good;
  const auto data = area_of<wire::kMraPrivateData>("private data of an MRA", private_data);
  if (!data) return tl::unexpected(data.error());
  mra.private_data = *data;
  out_.send(entry, mra, transaction);
  return {};
}

void ConnectionManager::on(const wire::CmMra& mra, const Arrival& at) {
  CmEntry* entry = addressee(mra.remote_comm_id, mra.local_comm_id, at);
  if (entry == nullptr) return;
  CmRepeat* waiting = nullptr;
  if ((entry->state == CmState::kReqSent && mra.message == wire::CmAnswered::kReq) ||
      (entry->state == CmState::kRepSent && mra.message == wire::CmAnswered::kRep)) {
    waiting = &entry->repeat;
  } else if (entry->state == CmState::kEstablished && mra.message == wire::CmAnswered::kLap &&
             entry->lap && entry->lap->state == CmAlternateExchange::State::kAsked) {
    waiting = &entry->lap->repeat;
  }
  if (waiting == nullptr) return counters_.add(CmCounter::kRxWrongState);
  const Duration service = cm_interval(std::min<unsigned>(mra.service_timeout, kMostMra));
  out_.wait_longer(*entry, *waiting, service + 2 * cm_interval(config_.packet_lifetime), at.now);
  emit(*entry, MoreTime{.message = mra.message,
                        .service_timeout = service,
                        .private_data = PrivateData(mra.private_data)});
}

}  // namespace weft::mgmt

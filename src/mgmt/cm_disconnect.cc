// SPDX-License-Identifier: Apache-2.0
// The end of a connection (IBA 12.9.9).
#include <algorithm>

#include "mgmt/cm_check.h"
#include "mgmt/connection_manager.h"

namespace weft::mgmt {

void ConnectionManager::send_dreq(CmEntry& entry, Bytes private_data, Time now) {
  const auto data = area_of<wire::kDreqPrivateData>("private data of a DREQ", private_data);
  assert(data && "the caller has checked its length");
  const wire::CmDreq dreq{.local_comm_id = entry.id,
                          .remote_comm_id = entry.remote_id,
                          .remote_qpn = entry.remote.qpn,
                          .private_data = *data};
  entry.lap.reset();
  entry.state = CmState::kDreqSent;
  entry.transaction = entropy_.draw();
  out_.send_until_answered(entry, entry.repeat, dreq, entry.transaction, now);
}

Expected<void> ConnectionManager::disconnect(CmId id, Bytes private_data, Time now) {
  const auto found = in_state(id, {CmState::kEstablished, CmState::kRepSent, CmState::kRepReceived,
                                   CmState::kDreqSent, CmState::kTimewait, CmState::kIdle});
  if (!found) return tl::unexpected(found.error());
  const auto data = area_of<wire::kDreqPrivateData>("private data of a DREQ", private_data);
  if (!data) return tl::unexpected(data.error());
  CmEntry& entry = **found;
  const bool ends = entry.state == CmState::kDreqSent || entry.state == CmState::kTimewait ||
                    entry.state == CmState::kIdle;
  if (!ends) send_dreq(entry, private_data, now);
  return {};
}

void ConnectionManager::enter_timewait(CmEntry& entry, Disconnected why, Time now) {
  entry.lap.reset();
  entry.repeat.valid = false;
  table_.release_queue_pair(entry);
  entry.state = CmState::kTimewait;
  // IBA 12.9.8.4: as long as a packet of the connection can be under way and acknowledged.
  const unsigned delay = std::min<unsigned>(entry.target_ack_delay, config_.packet_lifetime);
  table_.set_deadline(entry, now + 2 * cm_interval(config_.packet_lifetime) + cm_interval(delay));
  emit(entry, why);
}

void ConnectionManager::on(const wire::CmDreq& dreq, const Arrival& at) {
  const wire::CmDrep drep{.local_comm_id = dreq.remote_comm_id,
                          .remote_comm_id = dreq.local_comm_id};
  if (table_.find(dreq.remote_comm_id) == nullptr) {
    // Long over here: so that the peer need not wait.
    counters_.add(CmCounter::kRxNoConnection);
    return out_.send(at.from, at.pkey, drep, at.transaction);
  }
  CmEntry* entry = addressee(dreq.remote_comm_id, dreq.local_comm_id, at);
  if (entry == nullptr) return;
  switch (entry->state) {
    case CmState::kRepSent:
    case CmState::kRepReceived:
    case CmState::kEstablished:
    case CmState::kDreqSent:
      if (dreq.remote_qpn != entry->local.qpn) return counters_.add(CmCounter::kRxWrongPeer);
      out_.send(*entry, drep, at.transaction);
      return enter_timewait(
          *entry,
          {.cause = Disconnected::Cause::kPeer, .private_data = PrivateData(dreq.private_data)},
          at.now);
    case CmState::kTimewait:
      counters_.add(CmCounter::kRxRepeated);
      return out_.send(*entry, drep, at.transaction);
    default:
      counters_.add(CmCounter::kRxWrongState);
  }
}

void ConnectionManager::on(const wire::CmDrep& drep, const Arrival& at) {
  CmEntry* entry = addressee(drep.remote_comm_id, drep.local_comm_id, at);
  if (entry == nullptr) return;
  if (entry->state != CmState::kDreqSent) return counters_.add(CmCounter::kRxWrongState);
  enter_timewait(
      *entry, {.cause = Disconnected::Cause::kOurs, .private_data = PrivateData(drep.private_data)},
      at.now);
}

}  // namespace weft::mgmt

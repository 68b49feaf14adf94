// SPDX-License-Identifier: Apache-2.0
// What a consumer modifies its queue pair to, step by step (IBA 11.2.5.2, 12.9.7).
#include <algorithm>

#include "mgmt/cm_check.h"
#include "mgmt/connection_manager.h"

namespace weft::mgmt {
namespace {

using hca::QpState;
using hca::QpType;

bool has_requester(QpType type) {
  return type == QpType::kRc || type == QpType::kXrcInitiator;
}

bool has_responder(QpType type) {
  return type == QpType::kRc || type == QpType::kXrcTarget;
}

void add_alternate(QpTransition& step, const CmRoute& alternate, std::uint16_t pkey_index) {
  step.mask |= hca::kAttrAlternatePath;
  step.attributes.alternate_path = alternate.path;
  step.attributes.alternate_port = alternate.end.port;
  step.attributes.alternate_pkey_index = pkey_index;
  step.attributes.alternate_ack_timeout = alternate.ack_timeout;
}

QpTransition to_init(const CmEntry& entry, std::uint16_t pkey_index) {
  QpTransition step{
      .attributes = {.state = QpState::kInit,
                     .pkey_index = pkey_index,
                     .port = entry.route.end.port,
                     .access = hca::kRemoteWrite},
      .mask = hca::kAttrState | hca::kAttrPKeyIndex | hca::kAttrPort | hca::kAttrAccess};
  if (entry.local.responder_resources > 0) {
    step.attributes.access |= hca::kRemoteRead | hca::kRemoteAtomic;
  }
  return step;
}

QpTransition to_rtr(const CmEntry& entry, std::uint16_t alternate_pkey_index) {
  QpTransition step{.attributes = {.state = QpState::kRtr,
                                   .rq_psn = entry.local.starting_psn,
                                   .peer = entry.remote.qpn,
                                   .path = entry.route.path,
                                   .path_mtu = entry.path_mtu},
                    .mask = hca::kAttrState | hca::kAttrPath | hca::kAttrPathMtu | hca::kAttrPeer |
                            hca::kAttrRqPsn};
  if (has_responder(entry.type)) {
    step.mask |= hca::kAttrMaxReadsIn | hca::kAttrRnrTimer;
    step.attributes.max_reads_in = entry.local.responder_resources;
    step.attributes.rnr_timer = entry.min_rnr_timer;
  }
  if (entry.alternate) add_alternate(step, *entry.alternate, alternate_pkey_index);
  return step;
}

QpTransition to_rts(const CmEntry& entry) {
  QpTransition step{.attributes = {.state = QpState::kRts, .sq_psn = entry.remote.starting_psn},
                    .mask = hca::kAttrState | hca::kAttrSqPsn};
  if (hca::is_reliable(entry.type)) {
    step.mask |= hca::kAttrAckTimeout;
    step.attributes.ack_timeout = entry.route.ack_timeout;
  }
  if (has_requester(entry.type)) {
    step.mask |= hca::kAttrRetryCount | hca::kAttrRnrRetry | hca::kAttrMaxReadsOut;
    step.attributes.retry_count = entry.retry_count;
    step.attributes.rnr_retry = entry.rnr_retry;
    step.attributes.max_reads_out = entry.local.initiator_depth;
  }
  if (entry.alternate) {
    step.mask |= hca::kAttrPathMigration;
    step.attributes.migration = hca::PathMigration::kRearm;
  }
  return step;
}

}  // namespace

Expected<QpTransition> ConnectionManager::qp_attributes(CmId id, QpState to) const {
  const CmEntry* entry = table_.find(id);
  if (entry == nullptr || entry->orphan || entry->sidr) {
    return fail(std::errc::no_such_file_or_directory,
                fmt::format("connection ID {:#010x}: there is none such", id.value()));
  }
  const auto pkey_index = ends_.pkey_index(entry->route.end, entry->pkey);
  if (!pkey_index) {
    return fail(std::errc::invalid_argument,
                fmt::format("connection ID {:#010x}: its P_Key {:#06x} is not the port's any more",
                            id.value(), entry->pkey.value()));
  }
  if (to == QpState::kInit) return to_init(*entry, *pkey_index);
  const std::uint16_t alternate_pkey_index =
      entry->alternate
          ? ends_.pkey_index(entry->alternate->end, entry->pkey).value_or(std::uint16_t{0})
          : std::uint16_t{0};
  const bool peer_known =
      entry->state == CmState::kReqReceived || entry->state == CmState::kRepReceived ||
      entry->state == CmState::kRepSent || entry->state == CmState::kEstablished;
  if (!peer_known) {
    return fail(std::errc::not_connected, fmt::format("connection ID {:#010x}: its state is {}",
                                                      id.value(), to_string(entry->state)));
  }
  if (to == QpState::kRtr) return to_rtr(*entry, alternate_pkey_index);
  if (to != QpState::kRts) {
    return fail(std::errc::invalid_argument, "queue pair state: INIT, RTR or RTS");
  }
  if (!entry->may_rearm) return to_rts(*entry);
  QpTransition step{.attributes = {.state = QpState::kRts, .migration = hca::PathMigration::kRearm},
                    .mask = hca::kAttrState | hca::kAttrPathMigration};
  add_alternate(step, *entry->alternate, alternate_pkey_index);
  return step;
}

}  // namespace weft::mgmt

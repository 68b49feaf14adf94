// SPDX-License-Identifier: Apache-2.0
#include "mgmt/cm_table.h"

#include <cassert>

namespace weft::mgmt {

CmEntry* CmTable::add(CmId id, bool passive) {
  assert(id != CmId{} && !entries_.contains(id));
  if (entries_.size() >= limits_.ids) return nullptr;
  if (passive && passive_ >= limits_.passive_ids) return nullptr;
  CmEntry& entry = entries_[id];
  entry.id = id;
  entry.passive = passive;
  if (passive) ++passive_;
  return &entry;
}

void CmTable::erase(CmEntry& entry) {
  assert(find(entry.id) == &entry);
  release_peer_id(entry);
  release_queue_pair(entry);
  set_deadline(entry, std::nullopt);
  if (entry.passive) --passive_;
  entries_.erase(CmId{entry.id});  // a copy: the entry goes while its key is looked for
}

CmEntry* CmTable::find(CmId id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

const CmEntry* CmTable::find(CmId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

void CmTable::index_by_peer(const CmEntry& entry) {
  [[maybe_unused]] const bool added = by_peer_.emplace(peer_key(entry), entry.id).second;
  assert(added && "the caller looks before");
}

CmEntry* CmTable::find_by_peer(const CmAddress& peer, wire::CommId id, bool sidr) {
  const auto found = by_peer_.find(PeerKey{peer, id, sidr});
  return found == by_peer_.end() ? nullptr : find(found->second);
}

bool CmTable::index_by_queue_pair(const CmEntry& entry) {
  const auto [at, added] = by_queue_pair_.emplace(queue_pair_key(entry), entry.id);
  return added || at->second == entry.id;
}

CmEntry* CmTable::find_by_queue_pair(const CmAddress& peer, Qpn qpn) {
  const auto found = by_queue_pair_.find(QueuePairKey{peer, qpn});
  return found == by_queue_pair_.end() ? nullptr : find(found->second);
}

void CmTable::release_peer_id(const CmEntry& entry) {
  const auto found = by_peer_.find(peer_key(entry));
  if (found != by_peer_.end() && found->second == entry.id) by_peer_.erase(found);
}

void CmTable::release_queue_pair(const CmEntry& entry) {
  const auto found = by_queue_pair_.find(queue_pair_key(entry));
  if (found != by_queue_pair_.end() && found->second == entry.id) by_queue_pair_.erase(found);
}

void CmTable::set_deadline(CmEntry& entry, std::optional<Time> deadline) {
  if (entry.deadline) deadlines_.erase({*entry.deadline, entry.id});
  entry.deadline = deadline;
  if (deadline) deadlines_.emplace(*deadline, entry.id);
}

std::optional<Time> CmTable::deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

CmEntry* CmTable::take_due(Time now) {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return nullptr;
  CmEntry* entry = find(deadlines_.begin()->second);
  assert(entry != nullptr);
  set_deadline(*entry, std::nullopt);
  return entry;
}

void CmTable::linger(CmEntry& entry, Time until) {
  assert(entry.orphan && entry.state == CmState::kIdle);
  set_deadline(entry, until);
  lingering_.push_back(entry.id);
  if (lingering_.size() <= kMaxLingering) return;
  CmEntry* oldest = find(lingering_.front());
  lingering_.pop_front();
  // An ID that is used anew is not one that lingers.
  if (oldest != nullptr && oldest->orphan && oldest->state == CmState::kIdle) erase(*oldest);
}

}  // namespace weft::mgmt

// SPDX-License-Identifier: Apache-2.0
// Everything that the connection manager remembers, found by our ID, by the peer's, by the peer's
// queue pair, and by time. Bounded. Internal to mgmt/.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "mgmt/cm_entry.h"

namespace weft::mgmt {

struct CmLimits {
  // Connections, SIDR exchanges and timewaits together; a new one beyond is refused (with reason
  // kNoResources to a peer, std::errc::too_many_files_open to the consumer).
  std::uint32_t ids = 32768;
  // How many of those may have begun with a message of a peer.
  std::uint32_t passive_ids = 24576;
  std::uint32_t listeners = 4096;
  std::uint32_t early = 64;  // requests that wait for a listener; more are refused at once
};

class CmTable {
 public:
  // Answers to requests that nobody here cares about any more, kept in case they are repeated.
  static constexpr std::size_t kMaxLingering = 1024;

  explicit CmTable(const CmLimits& limits) : limits_(limits) {}

  // A new entry; nullptr when there are too many. It stays where it is until it is erased.
  CmEntry* add(CmId id, bool passive);
  void erase(CmEntry& entry);
  [[nodiscard]] CmEntry* find(CmId id);
  [[nodiscard]] const CmEntry* find(CmId id) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  // What a passive entry is to its peer: the peer's address and ID, known from peer and remote_id.
  void index_by_peer(const CmEntry& entry);
  void release_peer_id(const CmEntry& entry);
  [[nodiscard]] CmEntry* find_by_peer(const CmAddress& peer, wire::CommId id, bool sidr);

  // The peer's queue pair, known from peer and remote.qpn, is connected to this entry from here
  // until release_queue_pair() or erase(). False when it is to another one already.
  bool index_by_queue_pair(const CmEntry& entry);
  [[nodiscard]] CmEntry* find_by_queue_pair(const CmAddress& peer, Qpn qpn);

  void release_queue_pair(const CmEntry& entry);

  void set_deadline(CmEntry& entry, std::optional<Time> deadline);
  [[nodiscard]] std::optional<Time> deadline() const;
  // An entry whose deadline has passed; it has none then. nullptr when there is no more.
  [[nodiscard]] CmEntry* take_due(Time now);

  // An orphan that only repeats its last message stays until then, or until too many others do.
  void linger(CmEntry& entry, Time until);

 private:
  using PeerKey = std::tuple<CmAddress, wire::CommId, bool>;
  using QueuePairKey = std::pair<CmAddress, Qpn>;
  static PeerKey peer_key(const CmEntry& entry) {
    return {entry.peer, entry.remote_id, entry.sidr};
  }
  static QueuePairKey queue_pair_key(const CmEntry& entry) {
    return {entry.peer, entry.remote.qpn};
  }

  CmLimits limits_;
  std::size_t passive_ = 0;
  std::unordered_map<CmId, CmEntry> entries_;
  // Ordered, because peers choose these keys: nobody can make them collide.
  std::map<PeerKey, CmId> by_peer_;
  std::map<QueuePairKey, CmId> by_queue_pair_;
  std::set<std::pair<Time, CmId>> deadlines_;
  std::deque<CmId> lingering_;  // oldest first; some may be gone already
};

}  // namespace weft::mgmt

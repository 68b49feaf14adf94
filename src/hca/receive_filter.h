// SPDX-License-Identifier: Apache-2.0
// Which of the packets that come in by a port are for its protocol engine, and which go as they
// are, with all headers, to a set of receive queues: those of a data service on the node.
//
//   by DLID     service LIDs, which the subnet manager routes to the port besides its own
//   by DGID     of the GRH
//   inverted    what is not the port's own, by LID (a node between two others) or by GID (a router)
//   all         a copy of everything, for who watches
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/error.h"
#include "base/gid_prefix.h"
#include "base/ids.h"
#include "wire/lrh.h"

namespace weft::hca {

// A designated set of receive queues, by a number of the owner's.
using QueueSet = Id<struct QueueSetTag, std::uint16_t, 16>;

enum class FilterCounter : std::uint8_t {
  kManagement,
  kEngine,
  kByLid,
  kByGid,
  kOtherLid,
  kOtherGid,
  kShared,
  kWatched,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(FilterCounter::kCount)>
    kFilterCounters{{
        {"filter_management", "packets of subnet management, which no filter diverts"},
        {"filter_engine", "packets left to the protocol engine"},
        {"filter_by_lid", "packets that went to raw queues by their DLID"},
        {"filter_by_gid", "packets that went to raw queues by their DGID"},
        {"filter_other_lid", "packets that went to raw queues since their DLID is not the port's"},
        {"filter_other_gid", "packets that went to raw queues since their DGID is not the port's"},
        {"filter_shared", "of these, multicast packets that went to the engine too"},
        {"filter_watched", "copies of packets for who watches the port"},
    }};

using FilterCounters = CounterSet<FilterCounter, kFilterCounters>;

// Where a packet goes.
struct Steered {
  bool engine = true;           // to the protocol engine
  std::optional<QueueSet> raw;  // to one of these queues; with `engine` a copy
  friend bool operator==(const Steered&, const Steered&) = default;
};

// The filter of one port. What it costs to ask it does not grow with what it has been told. Rules
// are asked in the order of the list above; the first that matches decides.
class ReceiveFilter {
 public:
  static constexpr std::size_t kMostGids = 65'536;  // prefixes, and GIDs of the port's own

  // --- the port ----------------------------------------------------------------------------------
  // Its 2^`lmc` LIDs from `base` on (IBA 4.1.3); 0: it has none yet, and none is another's.
  // invalid_argument: `lmc` above 7, or `base` is not a unicast LID.
  Expected<void> set_own_lids(Lid base, std::uint8_t lmc);
  // All of its GIDs, with each prefix that they are known by. invalid_argument: more than
  // kMostGids.
  Expected<void> set_own_gids(std::span<const Gid> gids);

  // --- rules -------------------------------------------------------------------------------------
  // invalid_argument: not a unicast LID. file_exists: it goes to other queues already. A LID of the
  // port's own may be diverted: then its own applications get what the service gives back.
  Expected<void> divert_lid(Lid dlid, QueueSet to);
  // invalid_argument: nothing diverts it.
  Expected<void> restore_lid(Lid dlid);
  // Packets with a GRH, by the longest of all prefixes that covers their DGID; of one GID it is all
  // of its bits. invalid_argument: the zero GID, or there are kMostGids. file_exists: as above.
  Expected<void> divert_gids(const GidPrefix& prefix, QueueSet to);
  Expected<void> restore_gids(const GidPrefix& prefix);
  // What is not the port's own; nothing: is left to the engine, which drops it. Multicast packets
  // are of nobody's own, so they go to both.
  void divert_other_lids(std::optional<QueueSet> to) { other_lids_ = to; }
  // The same of packets with a GRH.
  void divert_other_gids(std::optional<QueueSet> to) { other_gids_ = to; }
  // Copies of what no other rule takes.
  void watch(std::optional<QueueSet> by) { watcher_ = by; }
  [[nodiscard]] const std::optional<QueueSet>& other_lids() const { return other_lids_; }
  [[nodiscard]] const std::optional<QueueSet>& other_gids() const { return other_gids_; }
  [[nodiscard]] const std::optional<QueueSet>& watcher() const { return watcher_; }

  // --- packets -----------------------------------------------------------------------------------
  // False: everything is the engine's, and nobody need ask.
  [[nodiscard]] bool diverts() const {
    return !lids_.empty() || !gids_.empty() || other_lids_ || other_gids_ || watcher_;
  }
  // Whether that LID is in the table.
  [[nodiscard]] bool diverts(Lid dlid) const { return diverted_[dlid.value()]; }
  // `after_lrh`: what the packet has there, as far as its GRH if it has one; one too short to have
  // it is taken for local. VL15 and the permissive LID are the engine's always: without them the
  // subnet manager would lose the port.
  Steered steer(const wire::Lrh& lrh, Bytes after_lrh);

  [[nodiscard]] bool owns(Lid lid) const {
    return has_lids_ && (lid.value() & own_mask_) == own_base_.value();
  }
  [[nodiscard]] const FilterCounters& counters() const { return counters_; }

 private:
  struct PrefixHash {
    std::size_t operator()(const GidPrefix& prefix) const noexcept;
  };
  using Prefixes = std::unordered_map<GidPrefix, QueueSet, PrefixHash>;
  struct Match {
    QueueSet to;
    FilterCounter why;
  };
  [[nodiscard]] std::optional<QueueSet> find(const Gid& dgid) const;
  [[nodiscard]] std::optional<Match> match(const wire::Lrh& lrh, Bytes after_lrh) const;

  Lid own_base_{};
  std::uint16_t own_mask_ = 0xFFFF;
  bool has_lids_ = false;
  std::unordered_set<Gid> own_gids_;
  std::bitset<0x1'0000> diverted_;  // of `lids_`: asked of each packet, in few lines of the cache
  std::unordered_map<Lid, QueueSet> lids_;
  Prefixes gids_;
  // How many there are of each length, and which lengths there are, the longest first.
  std::array<std::uint32_t, GidPrefix::kMostBits + 1> of_length_{};
  std::vector<unsigned> lengths_;
  std::optional<QueueSet> other_lids_;
  std::optional<QueueSet> other_gids_;
  std::optional<QueueSet> watcher_;
  FilterCounters counters_;
};

}  // namespace weft::hca

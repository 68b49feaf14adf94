// SPDX-License-Identifier: Apache-2.0
// The multicast forwarding tables of a subnet: what they are to be, by the groups that there are,
// and what of it is different from what the switches have.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sm/changes.h"
#include "sm/routing/multicast_tree.h"
#include "sm/routing/switch_graph.h"
#include "sm/subnet.h"

namespace weft::sm {

// All of one MLID; several groups may share it.
struct MulticastGroup {
  Lid mlid{};                   // 0xC000 to 0xFFFE
  std::vector<Guid> members{};  // port GUIDs; those that no sweep has found do not count
  std::vector<Guid> senders{};  // that are no members: they send to it, and receive nothing
  friend bool operator==(const MulticastGroup&, const MulticastGroup&) = default;
};

class MulticastTables {
 public:
  // How long the way of what a port has sent stays after the port has left: what it sent before
  // may be under way as long (PacketLifeTime, IBA 15.2.5.16: 4.096 us * 2^18), and the tables are
  // written past all packets that wait for credits.
  static constexpr Duration kLinger = 4096ns * (1 << 18);

  // Groups that are not among them are no more. Whoever has left one that is still there receives
  // nothing from now on, and is taken for a sender until kLinger has passed.
  void set_groups(std::vector<MulticastGroup> groups, Time now);
  // Forgets those for whom it has. Call it at deadline().
  void expire(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return expires_; }
  // What a sweep has found. `index`: of the switches in the graph, by node.
  void take(const Subnet& subnet, SwitchGraph graph, const std::vector<SwitchIndex>& index);
  // Leaves a switch as it is, until the next take(): it belongs to a part of the subnet that is not
  // joined with the manager's yet.
  void leave_alone(std::uint32_t node);
  [[nodiscard]] bool is_left_alone(std::uint32_t node) const { return left_alone_.contains(node); }
  // There is no subnet, until take().
  void forget();

  // write() has something to do for groups that have changed since the last one.
  [[nodiscard]] bool changed() const { return trees_ != nullptr && !changed_.empty(); }
  // Writes all that is different from what the switches are known to have, but for those that are
  // left alone. `subnet` is the one that was taken; it and `changes` outlive what is on its way.
  // What fails, the next take() writes.
  void write(Changes& changes, Subnet& subnet);
  // What a switch's MulticastFDBTop is to be, after write(): the end of the last block that is
  // used; as it is where the switch has none.
  [[nodiscard]] Lid top(const Subnet& subnet, std::uint32_t node) const;

 private:
  struct Switch {
    std::uint32_t node = 0;
    std::size_t positions = 1;
    std::size_t entries = 0;
    std::vector<std::uint16_t> masks{};  // by (MLID - 0xC000) * positions + position
  };
  // Switch, block, position.
  using Block = std::tuple<SwitchIndex, std::size_t, std::size_t>;
  // MLID and port GUID.
  using Leaver = std::pair<Lid, Guid>;
  void note_leavers(const MulticastGroup& before, const MulticastGroup& after, Time now);
  void plan(Lid mlid, Changes& changes, const Subnet& subnet);
  void put(Lid mlid, const MulticastHop& hop);
  void add_known(const Subnet& subnet);
  void write_block(const Block& block, Changes& changes, Subnet& subnet);

  std::map<Lid, MulticastGroup> groups_;
  std::map<Leaver, Time> leavers_;  // until when they count as senders
  std::optional<Time> expires_;     // the first of them
  std::set<Lid> changed_;
  std::map<Lid, std::vector<SwitchIndex>> planned_;       // which switches have ports for it
  std::set<Block> different_;                             // as it may be
  std::unordered_map<std::uint64_t, MulticastEnd> ends_;  // by port GUID
  std::vector<Switch> switches_;
  std::unordered_map<std::uint32_t, SwitchIndex> switch_at_;  // by node
  std::set<std::uint32_t> left_alone_;                        // nodes
  std::unique_ptr<SwitchGraph> graph_;
  std::unique_ptr<MulticastTrees> trees_;
};

}  // namespace weft::sm

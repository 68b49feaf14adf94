// SPDX-License-Identifier: Apache-2.0
// The multicast forwarding tables of a subnet: what they are to be, by the groups that there are,
// and what of it is different from what the switches have.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
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
  // Groups that are not among them are no more.
  void set_groups(std::vector<MulticastGroup> groups);
  // What a sweep has found. `index`: of the switches in the graph, by node.
  void take(const Subnet& subnet, SwitchGraph graph, const std::vector<SwitchIndex>& index);
  // There is no subnet, until take().
  void forget();

  // write() has something to do for groups that have changed since the last one.
  [[nodiscard]] bool changed() const { return trees_ != nullptr && !changed_.empty(); }
  // Writes all that is different from what the switches are known to have. `subnet` is the one that
  // was taken; it and `changes` outlive what is on its way. What fails, the next take() writes.
  void write(Changes& changes, Subnet& subnet);

 private:
  struct Switch {
    std::uint32_t node = 0;
    std::size_t positions = 1;
    std::size_t entries = 0;
    std::vector<std::uint16_t> masks{};  // by (MLID - 0xC000) * positions + position
  };
  // Switch, block, position.
  using Block = std::tuple<SwitchIndex, std::size_t, std::size_t>;
  void plan(Lid mlid, Changes& changes, const Subnet& subnet);
  void put(Lid mlid, const MulticastHop& hop);
  void add_known(const Subnet& subnet);
  void write_block(const Block& block, Changes& changes, Subnet& subnet);

  std::map<Lid, MulticastGroup> groups_;
  std::set<Lid> changed_;
  std::map<Lid, std::vector<SwitchIndex>> planned_;       // which switches have ports for it
  std::set<Block> different_;                             // as it may be
  std::unordered_map<std::uint64_t, MulticastEnd> ends_;  // by port GUID
  std::vector<Switch> switches_;
  std::unique_ptr<SwitchGraph> graph_;
  std::unique_ptr<MulticastTrees> trees_;
};

}  // namespace weft::sm

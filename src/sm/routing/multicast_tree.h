// SPDX-License-Identifier: Apache-2.0
// Multicast: by which ports each switch hands on the packets of a group. The ways of a group are
// those of a tree, so that every member gets each packet once, and nobody else does.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

using PortSet = std::bitset<256>;  // of a switch, by number

// Where the packets of a group enter and leave the switches.
struct MulticastEnd {
  SwitchIndex at = 0;
  std::uint8_t port = 0;  // 0: the switch itself
  bool receives = true;   // false: it only sends
  friend bool operator==(const MulticastEnd&, const MulticastEnd&) = default;
};

struct MulticastHop {
  SwitchIndex at = 0;
  PortSet ports;
};

class MulticastTrees {
 public:
  // `graph` outlives it, and is finished.
  explicit MulticastTrees(const SwitchGraph& graph);

  // The output ports of the switches that take part, in the order of switches; what came in by one
  // of them goes out by all others. Depends on the graph and the MLID as to the tree, and on the
  // members as to how much of it is needed: who comes or goes does not move the ways of others.
  // Trees of different MLIDs use different links, where there are several as good.
  // Members that are not connected do not hear each other.
  [[nodiscard]] std::vector<MulticastHop> hops(Lid mlid, std::span<const MulticastEnd> ends) const;

 private:
  struct Component {
    std::vector<SwitchIndex> switches;
    std::vector<SwitchIndex> roots;  // from which it is least deep
  };
  void find_roots(Component& component) const;
  // One of the hops that lead nearer to the root.
  [[nodiscard]] const Hop& up_from(SwitchIndex at, const std::vector<std::uint32_t>& depth,
                                   std::size_t turn) const;
  using Masks = std::map<SwitchIndex, PortSet>;
  void add_tree(const Component& component, std::span<const MulticastEnd> members, std::size_t turn,
                Masks& masks) const;
  // Numbers of hops from a switch; all ones: not connected.
  [[nodiscard]] std::vector<std::uint32_t> distances(SwitchIndex from) const;

  const SwitchGraph& graph_;
  std::vector<Component> components_;
  std::vector<std::uint32_t> component_of_;
};

}  // namespace weft::sm

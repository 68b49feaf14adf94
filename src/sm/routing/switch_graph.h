// SPDX-License-Identifier: Apache-2.0
// A subnet as routing sees it: switches, the links between them, and the end ports, which hang on
// switches. Everything has a small number, in the order in which it was added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace weft::sm {

using SwitchIndex = std::uint32_t;
using HopIndex = std::uint32_t;

inline constexpr std::uint8_t kNoPort = 0xFF;  // of a forwarding table: the LID is dropped

// One direction of a link between two switches.
struct Hop {
  SwitchIndex from = 0;
  SwitchIndex to = 0;
  std::uint8_t port = 0;       // of `from`
  std::uint8_t peer_port = 0;  // of `to`
  HopIndex back = 0;           // the other direction
};

// A port that has LIDs: of an adapter, or port 0 of a switch.
struct EndPort {
  SwitchIndex at = 0;     // the switch that it hangs on, or is part of
  std::uint8_t port = 0;  // of that switch; 0: its own
  Lid lid{};
  std::uint8_t lmc = 0;  // 0 to 7: it has 2^lmc LIDs
  [[nodiscard]] unsigned lids() const { return 1u << lmc; }
};

class SwitchGraph {
 public:
  // Indices count from 0. `guid` decides where there is nothing else to decide by.
  SwitchIndex add_switch(Guid guid, std::uint8_t ports);
  // Errors: a port that the switch does not have, or that is in use. A link of a switch with itself
  // is no way to anywhere, and left out.
  Expected<void> connect(SwitchIndex a, std::uint8_t port_a, SwitchIndex b, std::uint8_t port_b);
  // Errors: as above; LID 0, a multicast LID, LIDs that are not aligned to 2^lmc or overlap
  // others'.
  Expected<void> attach(const EndPort& end);
  // To be called once, when everything is there, and before any question about hops.
  void finish();

  [[nodiscard]] std::size_t switches() const { return guids_.size(); }
  [[nodiscard]] Guid guid(SwitchIndex at) const { return guids_[at]; }
  [[nodiscard]] std::uint8_t ports(SwitchIndex at) const { return ports_[at]; }
  [[nodiscard]] const std::vector<EndPort>& ends() const { return ends_; }
  // Indices in ends() of those that are at a switch.
  [[nodiscard]] std::span<const std::uint32_t> ends_at(SwitchIndex at) const;
  // Whether an adapter hangs on it, so that packets begin and end there.
  [[nodiscard]] bool has_hosts(SwitchIndex at) const { return hosts_[at] > 0; }

  // In the order of switches and, for each, of its ports.
  [[nodiscard]] const std::vector<Hop>& hops() const { return hops_; }
  [[nodiscard]] std::span<const Hop> hops_of(SwitchIndex at) const;
  // The index of the first of hops_of(at).
  [[nodiscard]] HopIndex first_hop(SwitchIndex at) const { return first_hop_[at]; }

  // One more than the highest LID; 0 when there is none.
  [[nodiscard]] std::size_t lid_end() const { return owner_of_lid_.size(); }
  // An index in ends(), or kNobody.
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t owner(Lid lid) const {
    return lid.value() < owner_of_lid_.size() ? owner_of_lid_[lid.value()] : kNobody;
  }

 private:
  Expected<void> take_port(SwitchIndex at, std::uint8_t port);

  std::vector<Guid> guids_;
  std::vector<std::uint8_t> ports_;
  std::vector<std::vector<bool>> in_use_;
  std::vector<std::uint32_t> hosts_;
  std::vector<Hop> hops_;
  std::vector<HopIndex> first_hop_;  // one more than switches
  std::vector<EndPort> ends_;
  std::vector<std::uint32_t> ends_by_switch_;
  std::vector<std::uint32_t> first_end_;  // one more than switches
  std::vector<std::uint32_t> owner_of_lid_;
};

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
// A subnet as a sweep has found it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "sm/smp_queue.h"
#include "wire/sm/node_info.h"
#include "wire/sm/port_info.h"
#include "wire/sm/switch_info.h"
#include "wire/sm/tables.h"

namespace weft::sm {

struct PortRef {
  std::uint32_t node = 0;  // index in Subnet::nodes
  std::uint8_t port = 0;
  friend bool operator==(const PortRef&, const PortRef&) = default;
};

// Whether a port is the manager's to change.
using MayTouch = std::function<bool(const PortRef&)>;

// Of the tables of a port what they are known to hold: what was read, or written and confirmed.
// Nothing: nobody has asked.
struct PortTables {
  std::vector<std::optional<wire::PKeyBlock>> pkeys{};  // by block
  std::vector<std::optional<wire::GuidBlock>> guids{};  // by block
  bool asked_guids = false;  // the port has been asked for them, or has none for sure
  // Of packets that leave by this port: by the port where they come in, of an adapter the first.
  std::vector<std::optional<wire::SlToVl>> sl_to_vl{};
  // By half, from 0 on: low 1 to 32, low 33 to 64, high 1 to 32, high 33 to 64.
  std::vector<std::optional<wire::VlArbitrationBlock>> vl_arbitration{};
};

// The same of a switch as a whole.
struct SwitchTables {
  std::vector<std::optional<wire::LinearBlock>> linear{};  // by block
  // By block * positions(ports) + position.
  std::vector<std::optional<wire::MulticastBlock>> multicast{};

  // Of the ports of a switch, port 0 with them, 16 each.
  [[nodiscard]] static std::size_t positions(std::uint8_t ports) {
    return ports / wire::MulticastBlock::kPortsPerPosition + 1;
  }
};

struct SubnetPort {
  Guid guid{};  // of end ports: those of adapters, and port 0 of a switch
  // Nothing: it was not reached, or did not answer.
  std::optional<wire::PortInfo> info{};
  std::optional<PortRef> peer{};
  DirectedRoute route{};  // of adapters: that comes in by this port
  PortTables tables{};
  // Of end ports: it was not there before, or not known, and has not been asked yet to register
  // anew. What it had registered went with it.
  bool is_new = true;
};

struct SubnetNode {
  wire::NodeInfo info;
  std::string description;
  std::optional<wire::SwitchInfo> switch_info;
  std::vector<SubnetPort> ports;  // by number; of an adapter, 0 is not used
  DirectedRoute route;            // by which it was found first
  SwitchTables tables{};

  [[nodiscard]] bool is_switch() const { return info.type == wire::NodeType::kSwitch; }
};

struct Subnet {
  std::vector<SubnetNode> nodes;                             // that of the manager first
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid;  // node GUIDs

  [[nodiscard]] SubnetPort& port(const PortRef& at) { return nodes[at.node].ports[at.port]; }
  [[nodiscard]] const SubnetPort& port(const PortRef& at) const {
    return nodes[at.node].ports[at.port];
  }
  // The ports that have LIDs, in the order of nodes: of adapters those with a link, of each switch
  // port 0.
  [[nodiscard]] std::vector<PortRef> end_ports() const;
  // By node GUID, but for that of the manager, which stays first: what is made of a subnet does not
  // depend on the order in which nodes answered.
  void sort_nodes();
  // Takes what is known of the tables of nodes that were there before, and have not been away
  // since: who was may have forgotten what it was told; and which end ports are not new.
  void keep_known(Subnet& before);
  // The way of an SMP about a port: to the node, and for an adapter in by that very port.
  [[nodiscard]] const DirectedRoute& route_to(const PortRef& at) const;
};

}  // namespace weft::sm

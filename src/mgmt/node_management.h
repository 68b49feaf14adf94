// SPDX-License-Identifier: Apache-2.0
// All management of one node, behind its queue pairs 0 and 1: directed routes, the agents of
// subnet and performance management, traps, and the MAD layer of its ports. A switch or channel
// adapter has one of these, hands it every management packet that is for the node (a directed route
// always is), tells it what happens at its ports, and sends what it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "mgmt/device/io_controller.h"
#include "mgmt/key_violation.h"
#include "mgmt/mad/mad_port.h"
#include "mgmt/mad_envelope.h"
#include "mgmt/managed_node.h"
#include "mgmt/management_counters.h"

namespace weft::mgmt {

class NodeManagement {
 public:
  // Both must outlive it. The node need not be complete yet: nothing is asked of it here.
  NodeManagement(ManagedNode& node, MadOutlet& outlet);
  ~NodeManagement();
  NodeManagement(const NodeManagement&) = delete;
  NodeManagement& operator=(const NodeManagement&) = delete;

  // A datagram from port `envelope.port`, to QP 0 or 1 (mad_packet.h takes a packet apart).
  void receive(const MadEnvelope& envelope, wire::MadBytes mad, Time now);

  // The MAD layer of a port: of a switch 0, of a channel adapter 1 to NumPorts. It is made when it
  // is asked for. After each of its calls that has the time, look at deadline() again.
  [[nodiscard]] MadPort& mad_port(PortNumber port);

  // A subnet manager runs at the port, or does so no more: IsSM in its CapabilityMask.
  void set_subnet_manager(PortNumber port, bool present, Time now);
  // The node is an I/O unit with these controllers, in slots 1 and so on; at most 255. Without any
  // it is none, and device management is not answered. Its ports have to say so
  // (wire::kCapDeviceManagement).
  void set_io_controllers(std::vector<IoController> controllers);

  // PortInfo as the subnet manager gets it: with IsSM.
  [[nodiscard]] wire::PortInfo port_info(PortNumber port) const;

  // --- what happens at the node, for traps (IBA 14.2.5.1)
  // ----------------------------------------- Switches: a link came up or went down, and
  // SwitchInfo.PortStateChange was set. Trap 128.
  void link_state_changed(Time now);
  // NodeDescription was changed here. Trap 144.
  void description_changed(Time now);
  // A link's thresholds were passed: local link integrity, excessive buffer overrun. Traps 129,
  // 130.
  void link_integrity_lost(PortNumber port, Time now);
  void buffer_overrun(PortNumber port, Time now);
  // No flow-control packet came in for the watchdog's time. Trap 131.
  void flow_control_timed_out(PortNumber port, Time now);
  // The port refused a packet, and has counted it in PortInfo. Traps 257, 258; at an external port
  // of a switch 259.
  void key_violated(PortNumber port, const KeyViolation& violation, Time now);

  // Sends again what was not answered, ends leases. What is for the node itself waits until then
  // too: deadline() is in the past when there is some.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const ManagementCounters& counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::mgmt

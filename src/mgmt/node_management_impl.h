// SPDX-License-Identifier: Apache-2.0
// The inside of NodeManagement: what comes in goes by its route, then to the agent of its class.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "mgmt/device/device_agent.h"
#include "mgmt/mad_answer.h"
#include "mgmt/node_management.h"
#include "mgmt/perf/performance_agent.h"
#include "mgmt/sm/directed_route.h"
#include "mgmt/sm/mkey_guard.h"
#include "mgmt/sm/subnet_agent.h"
#include "mgmt/sm/trap_sender.h"

namespace weft::mgmt {

class NodeManagement::Impl final : public MadOutlet {
 public:
  Impl(ManagedNode& node, MadOutlet& outlet)
      : node_(node),
        outlet_(outlet),
        guard_(node),
        subnet_agent_(node),
        performance_agent_(node),
        device_agent_(node),
        traps_(node, *this, counters_) {}

  void receive(const MadEnvelope& envelope, wire::MadBytes mad, Time now);
  MadPort& mad_port(PortNumber port);
  void set_subnet_manager(PortNumber port, bool present, Time now);
  [[nodiscard]] wire::PortInfo port_info(PortNumber port) const;
  [[nodiscard]] DeviceAgent& device_agent() { return device_agent_; }
  // From the port of management that `port` belongs to.
  void trap(PortNumber port, const wire::Notice& notice, Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] ManagedNode& node() { return node_; }
  [[nodiscard]] wire::NodeType type() const { return node_.node_info(0).type; }
  // Where LIDs and agents are: of a switch port 0.
  [[nodiscard]] PortNumber management_port(PortNumber port) const {
    return type() == wire::NodeType::kSwitch ? PortNumber{0} : port;
  }
  [[nodiscard]] const ManagementCounters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kMaxLooped = 1024;
  struct Looped {
    MadEnvelope envelope;
    wire::MadBuffer mad;
  };

  // What an agent or a manager of this node sends: LIDs, or a directed route that begins here.
  void send(const MadEnvelope& envelope, wire::MadBytes mad) override;
  void send_directed(const MadEnvelope& envelope, wire::MutableMadBytes mad);
  void take_step(const DirectedStep& step, const MadEnvelope& envelope, wire::MutableMadBytes mad);
  void loop_back(const MadEnvelope& envelope, wire::MadBytes mad);
  void drop(ManagementCounter reason) { counters_.add(reason); }
  [[nodiscard]] RouteElement element() const;

  // What has arrived, behind its route.
  void deliver(const MadEnvelope& envelope, wire::MutableMadBytes mad, Time now);
  void deliver_smp(const MadEnvelope& envelope, wire::MutableMadBytes mad, Time now);
  void deliver_perf(const MadEnvelope& envelope, wire::MutableMadBytes mad, Time now);
  void deliver_device(const MadEnvelope& envelope, wire::MutableMadBytes mad, Time now);
  // To those who have registered; else it is answered that nobody has.
  void deliver_to_agents(const MadEnvelope& envelope, wire::MutableMadBytes mad, Time now);
  // False: without the key that the node asks for; counted, and told to the manager.
  bool admit(const MadEnvelope& envelope, wire::MadBytes mad, bool& veil, Time now);
  [[nodiscard]] bool names_other_port(PortNumber port, wire::MadBytes mad) const;
  void answer(const MadEnvelope& request, wire::MutableMadBytes mad, wire::MadStatus status);

  ManagedNode& node_;
  MadOutlet& outlet_;
  ManagementCounters counters_;
  MkeyGuard guard_;
  SubnetAgent subnet_agent_;
  PerformanceAgent performance_agent_;
  DeviceAgent device_agent_;
  TrapSender traps_;
  std::map<PortNumber, std::unique_ptr<MadPort>> mad_ports_;
  std::map<PortNumber, bool> subnet_managers_;  // ports that have one
  std::deque<Looped> looped_;                   // from this node to itself
};

}  // namespace weft::mgmt

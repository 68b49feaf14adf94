// SPDX-License-Identifier: Apache-2.0
// What switches and channel adapters have in common: ports, and the management behind queue pairs 0
// and 1. Packets come in from the ports' links; what management sends waits in an outbox until the
// node's own turn, so that no packet travels a fabric on one stack.
#pragma once

#include <bitset>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "fabric/lab.h"
#include "fabric/node_port.h"
#include "fabric/worker.h"
#include "link/packet_pool.h"
#include "mgmt/node_management.h"

namespace weft::fabric {

// What a node is built with; worker and pool outlive it.
struct NodeParts {
  Worker& worker;
  link::PacketPool& pool;
  // Ports whose links have a line rate: credit is told by the standard's clock there.
  std::bitset<256> timed_ports;
  // Where an adapter's queue pair numbers begin.
  Qpn first_qpn{};
  // Of a node that is an I/O unit.
  std::vector<mgmt::IoController> io_controllers{};
};

class Node : public mgmt::ManagedNode,
             private mgmt::MadOutlet,
             private link::PortOwner,
             private Task {
 public:
  Node(const LabNode& lab, const NodeParts& parts);
  ~Node() override;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] NodeKind kind() const { return kind_; }
  // Without a switch's port 0.
  [[nodiscard]] std::uint8_t port_count() const { return info_.ports; }

  // 1 to port_count(), and 0 on a switch.
  [[nodiscard]] NodePort& port(mgmt::PortNumber number) { return *ports_[index(number)]; }
  [[nodiscard]] const NodePort& port(mgmt::PortNumber number) const {
    return *ports_[index(number)];
  }

  // Told of every change of PortInfo, but for counters, and of a port's tables. `reregister`: the
  // subnet manager asks for subscriptions anew (IBA 14.4.11). From inside the fabric's run(); not
  // the place to add or remove observers.
  class PortObserver {
   public:
    virtual ~PortObserver() = default;
    virtual void port_changed(mgmt::PortNumber port, bool reregister) = 0;
  };
  // Until it is removed; it or the node goes afterwards.
  void add_observer(PortObserver& observer) { observers_.push_back(&observer); }
  void remove_observer(PortObserver& observer) { std::erase(observers_, &observer); }

  // Whoever calls it, or one of its MAD ports, calls management_used() afterwards.
  [[nodiscard]] mgmt::NodeManagement& management() { return *management_; }
  void management_used();

  // --- mgmt::ManagedNode -------------------------------------------------------------------------
  [[nodiscard]] wire::NodeInfo node_info(mgmt::PortNumber arrival) const override;
  [[nodiscard]] wire::NodeDescription node_description() const override { return description_; }
  [[nodiscard]] wire::PortInfo port_info(mgmt::PortNumber port) const override;
  void set_port_info(mgmt::PortNumber port, const wire::PortInfo& info, Time now) override;
  void set_port_state(mgmt::PortNumber port, wire::PortState state, Time now) override;
  void set_physical_state(mgmt::PortNumber port, wire::PortPhysicalState state, Time now) override;
  [[nodiscard]] wire::PKeyBlock pkeys(mgmt::PortNumber port, std::uint16_t block) const override;
  void set_pkeys(mgmt::PortNumber port, std::uint16_t block, const wire::PKeyBlock& value) override;
  [[nodiscard]] wire::GuidBlock guids(mgmt::PortNumber port, std::uint8_t block) const override;
  void set_guids(mgmt::PortNumber port, std::uint8_t block, const wire::GuidBlock& value) override;
  [[nodiscard]] wire::VlArbitrationBlock vl_arbitration(mgmt::PortNumber port,
                                                        std::uint8_t half) const override;
  void set_vl_arbitration(mgmt::PortNumber port, std::uint8_t half,
                          const wire::VlArbitrationBlock& value) override;
  [[nodiscard]] bool led(mgmt::PortNumber port) const override;
  void set_led(mgmt::PortNumber port, bool on) override;
  [[nodiscard]] mgmt::PortCounts port_counts(mgmt::PortNumber port) const override;

 protected:
  // A packet of management on its way out.
  struct Outgoing {
    link::PacketPtr packet;
    mgmt::PortNumber port = 0;  // as MadEnvelope has it
    Lid dlid{};
    Sl sl{};
    bool on_vl15 = false;
  };

  // From the link of a port; every check of the link is passed.
  virtual void take(NodePort& in, link::PacketPtr packet, Time now) = 0;
  virtual void send_out(Outgoing outgoing, Time now) = 0;
  // A link came up, or went down.
  virtual void link_changed(NodePort& port, Time now) = 0;
  // As PortObserver has it, for the kind of node.
  virtual void port_changed(NodePort& port, bool reregister) = 0;

  [[nodiscard]] link::PacketPool& pool() { return pool_; }
  [[nodiscard]] Worker& worker() { return worker_; }
  // To this node's queue pairs 0 and 1. `table` is the port whose P_Keys hold for queue pair 1.
  void to_management(NodePort& in, NodePort& table, const link::Packet& packet, Time now);
  void violated(NodePort& port, mgmt::KeyViolation::Kind kind, std::uint32_t key,
                const link::Packet& packet, Time now);
  static void transmit(NodePort& out, link::PacketPtr packet, Vl vl, Time now);

 private:
  // mgmt::MadOutlet
  void send(const mgmt::MadEnvelope& envelope, wire::MadBytes mad) override;
  // link::PortOwner
  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port& port, link::PortState before, Time now) override;
  void integrity_lost(link::Port& port, Time now) override;
  void wake(link::Port& port) override;
  // Task
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;

  void tell_change(NodePort& port, bool reregister);
  [[nodiscard]] std::size_t index(mgmt::PortNumber number) const {
    return kind_ == NodeKind::kSwitch ? number : number - 1u;
  }

  const std::string name_;
  const NodeKind kind_;
  const wire::NodeDescription description_;
  wire::NodeInfo info_;
  Worker& worker_;
  link::PacketPool& pool_;
  std::vector<std::unique_ptr<NodePort>> ports_;
  std::vector<Outgoing> outbox_;
  std::vector<PortObserver*> observers_;
  Psn psn_{};
  std::unique_ptr<mgmt::NodeManagement> management_;
};

}  // namespace weft::fabric

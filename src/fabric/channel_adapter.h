// SPDX-License-Identifier: Apache-2.0
// A channel adapter's ports, its management, and the programs that are attached to it. Each port is
// an end of the fabric: it forwards nothing. Routers are made of it too, without programs: what is
// for other subnets goes to whoever carries it there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fabric/attachment.h"
#include "fabric/node.h"
#include "fabric/program_port.h"
#include "fabric/queue_pair_table.h"
#include "fabric/raw_port.h"

namespace weft::fabric {

// Carries packets from a router to other subnets.
class Forwarder {
 public:
  virtual ~Forwarder() = default;
  // A packet that came in by a port of the router and is not for the router itself; the port's
  // partitions let it through. From inside the fabric's run().
  virtual void from_subnet(link::PacketPtr packet, Time now) = 0;
};

class ChannelAdapter final : public Node, private ProgramPort::Adapter, private RawPort::Adapter {
 public:
  ChannelAdapter(const LabNode& lab, const NodeParts& parts);

  // Of a router, until another one or null takes its place. Without one, what is for other subnets
  // is dropped and counted.
  void set_forwarder(Forwarder* forwarder) { forwarder_ = forwarder; }
  // A packet from another subnet, with the LRH of the path that it takes in this one, but for the
  // VL; dropped and counted where partitions or lanes do not let it out by that port.
  void send_routed(mgmt::PortNumber port, link::PacketPtr packet, Time now);

  // A place for `program`, which outlives it, on a port. invalid_argument: there is no such port.
  [[nodiscard]] Expected<std::unique_ptr<Attachment>> attach(mgmt::PortNumber port,
                                                             Program& program);

  // A port as data services have it. invalid_argument: there is no such port.
  [[nodiscard]] Expected<RawPort*> raw_port(mgmt::PortNumber port);
  // The same, where a service has asked for it; null: none has, or there is no such port.
  [[nodiscard]] const RawPort* opened_raw_port(mgmt::PortNumber port) const {
    return port < 1 || port > raw_ports_.size() ? nullptr : raw_ports_[port - 1u].get();
  }

  // Programs on the node may have raw queue pairs, for which keys are drawn there: it carries a
  // data service. `entropy` outlives it.
  void carry_service(Entropy& entropy) { entropy_ = &entropy; }

  // --- mgmt::ManagedNode -------------------------------------------------------------------------
  [[nodiscard]] wire::SlToVl sl_to_vl(mgmt::PortNumber in, mgmt::PortNumber out) const override;
  void set_sl_to_vl(mgmt::PortNumber in, mgmt::PortNumber out, const wire::SlToVl& value) override;
  // Of switches; nobody asks.
  [[nodiscard]] wire::SwitchInfo switch_info() const override { return {}; }
  void set_switch_info(const wire::SwitchInfo&) override {}
  [[nodiscard]] wire::LinearBlock linear(std::uint16_t) const override { return {}; }
  void set_linear(std::uint16_t, const wire::LinearBlock&) override {}
  [[nodiscard]] wire::MulticastBlock multicast(std::uint8_t, std::uint16_t) const override {
    return {};
  }
  void set_multicast(std::uint8_t, std::uint16_t, const wire::MulticastBlock&) override {}

 private:
  void take(NodePort& in, link::PacketPtr packet, Time now) override;
  void send_out(Outgoing outgoing, Time now) override;
  void link_changed(NodePort&, Time) override {}  // adapters have no trap for it
  void port_changed(NodePort& port, bool reregister) override;
  // ProgramPort::Adapter, RawPort::Adapter
  [[nodiscard]] Vl lane(const NodePort& out, Sl sl) const override;
  void take_back(NodePort& port, link::PacketPtr packet, Time now) override;
  [[nodiscard]] bool is_diverted(const NodePort& port, Lid dlid) const override;
  void to_engine(NodePort& in, link::PacketPtr packet, Time now) override;
  [[nodiscard]] Expected<ProgramPort::Adapter::Raw> raw_port_for_programs(
      const NodePort& port) override;
  [[nodiscard]] Error no_port(mgmt::PortNumber port) const;
  void route(NodePort& in, link::PacketPtr packet, std::optional<PKey> pkey, Time now);

  // Of each port, once it was set.
  std::vector<std::optional<wire::SlToVl>> lanes_;
  Forwarder* forwarder_ = nullptr;
  QueuePairTable numbers_;
  // Of each port, once a program was attached.
  std::vector<std::unique_ptr<ProgramPort>> programs_;
  Entropy* entropy_ = nullptr;  // null: it carries no data service
  // Of each port, once a service asked for it.
  std::vector<std::unique_ptr<RawPort>> raw_ports_;
};

}  // namespace weft::fabric

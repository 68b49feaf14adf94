// SPDX-License-Identifier: Apache-2.0
// A switch, IBA 18: forwards unicast packets by its linear table, multicast packets by its
// multicast table, puts them on the lane that SL to VL has for the two ports, and keeps partitions
// apart where it was told to. Port 0 is its management.
#pragma once

#include <bitset>
#include <vector>

#include "fabric/node.h"

namespace weft::fabric {

class Switch final : public Node {
 public:
  Switch(const LabNode& lab, const NodeParts& parts);

  // The port by which a packet for this LID leaves; nothing: it has none.
  [[nodiscard]] std::optional<std::uint8_t> port_for(Lid dlid) const;
  // All of them, of a multicast LID.
  using PortSet = std::bitset<256>;
  [[nodiscard]] PortSet ports_for(Lid multicast) const;
  // The lane for packets from `in` to `out`; 15: none.
  [[nodiscard]] Vl lane(std::uint8_t in, std::uint8_t out, Sl sl) const;

  // --- mgmt::ManagedNode -------------------------------------------------------------------------
  [[nodiscard]] wire::SlToVl sl_to_vl(mgmt::PortNumber in, mgmt::PortNumber out) const override;
  void set_sl_to_vl(mgmt::PortNumber in, mgmt::PortNumber out, const wire::SlToVl& value) override;
  [[nodiscard]] wire::SwitchInfo switch_info() const override { return info_; }
  void set_switch_info(const wire::SwitchInfo& info) override;
  [[nodiscard]] wire::LinearBlock linear(std::uint16_t block) const override;
  void set_linear(std::uint16_t block, const wire::LinearBlock& value) override;
  [[nodiscard]] wire::MulticastBlock multicast(std::uint8_t position,
                                               std::uint16_t block) const override;
  void set_multicast(std::uint8_t position, std::uint16_t block,
                     const wire::MulticastBlock& value) override;

 private:
  void take(NodePort& in, link::PacketPtr packet, Time now) override;
  void send_out(Outgoing outgoing, Time now) override;
  void link_changed(NodePort& port, Time now) override;
  void port_changed(NodePort&, bool) override {}  // nobody is attached

  [[nodiscard]] bool let_in(NodePort& in, const link::Packet& packet, const wire::Lrh& lrh,
                            Time now);
  [[nodiscard]] bool let_out(NodePort& out, const link::Packet& packet, const wire::Lrh& lrh,
                             Time now);
  void forward(NodePort& in, link::PacketPtr packet, const wire::Lrh& lrh, Time now);
  void forward_multicast(NodePort& in, link::PacketPtr packet, const wire::Lrh& lrh, Time now);
  // By a port that the tables have named.
  void pass(NodePort& in, std::uint8_t out, link::PacketPtr packet, const wire::Lrh& lrh, Time now);

  struct Lanes {
    bool set = false;
    wire::SlToVl map;
  };
  [[nodiscard]] std::size_t lanes_index(std::uint8_t in, std::uint8_t out) const {
    return std::size_t{in} * (port_count() + 1u) + out;
  }
  [[nodiscard]] std::size_t positions() const {
    return port_count() / wire::MulticastBlock::kPortsPerPosition + 1;
  }

  wire::SwitchInfo info_;
  // Up to the last block that was set; what lies beyond has no port.
  std::vector<std::uint8_t> linear_;
  // positions() masks for each multicast LID.
  std::vector<std::uint16_t> multicast_;
  // For each pair of ports, once one was set.
  std::vector<Lanes> lanes_;
};

}  // namespace weft::fabric

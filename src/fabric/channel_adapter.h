// SPDX-License-Identifier: Apache-2.0
// A channel adapter's ports and its management. Each port is an end of the fabric: it forwards
// nothing.
#pragma once

#include <optional>
#include <vector>

#include "fabric/node.h"

namespace weft::fabric {

class ChannelAdapter final : public Node {
 public:
  ChannelAdapter(const LabNode& lab, const NodeParts& parts);

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

  [[nodiscard]] Vl lane(const NodePort& out, Sl sl) const;

  // Of each port, once it was set.
  std::vector<std::optional<wire::SlToVl>> lanes_;
};

}  // namespace weft::fabric

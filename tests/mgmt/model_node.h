// SPDX-License-Identifier: Apache-2.0
// A node in memory: it keeps what management sets and shows it again, and counts what was asked of
// it. Links are what the test says they are. Where ManagedNode makes a promise and it is broken,
// the program ends: fuzzing uses it too.
#pragma once

#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "mgmt/managed_node.h"

namespace weft::mgmt::test {

class ModelNode final : public ManagedNode {
 public:
  ModelNode(wire::NodeType type, std::uint8_t ports, std::uint64_t guid, std::string_view name)
      : description(name) {
    node.type = type;
    node.ports = ports;
    node.node_guid = node.system_image_guid = Guid{guid};
    node.partition_cap = 64;
    node.device_id = 0x1234;
    node.vendor_id = 0x02C903;
    infos.resize(ports + 1u);
    counts.resize(ports + 1u);
    for (unsigned i = 0; i <= ports; ++i) {
      wire::PortInfo& info = infos[i];
      info.capability_mask = wire::kCapTrap | wire::kCapSlMapping | wire::kCapLedInfo;
      info.link_width_supported = info.link_width_enabled = 3;
      info.link_width_active = 2;
      info.link_speed_supported = info.link_speed_enabled = 7;
      info.link_speed_active = 4;
      info.state = wire::PortState::kInitialize;
      info.physical_state = wire::PortPhysicalState::kLinkUp;
      info.link_down_default = wire::PortPhysicalState::kPolling;
      info.mtu_cap = 5;
      info.neighbor_mtu = 4;
      info.vl_cap = 4;
      info.operational_vls = 4;
      info.vl_arbitration_high_cap = 8;
      info.vl_arbitration_low_cap = 8;
      info.guid_cap = 10;
      info.subnet_timeout = 18;
    }
    // As the shortest table has it: a block and some.
    switches.linear_cap = 0xC000;
    switches.multicast_cap = 1000;
    switches.partition_enforcement_cap = 40;
  }

  [[nodiscard]] Guid port_guid(PortNumber port) const {
    const bool own = node.type == wire::NodeType::kSwitch;
    return Guid{node.node_guid.value() + (own ? 0u : port)};
  }

  wire::NodeInfo node_info(PortNumber arrival) const override {
    wire::NodeInfo info = node;
    info.port_guid = port_guid(arrival);
    info.local_port = arrival;
    return info;
  }
  wire::NodeDescription node_description() const override { return description; }
  wire::PortInfo port_info(PortNumber port) const override {
    expect_port(port);
    return infos.at(port);
  }
  void set_port_info(PortNumber port, const wire::PortInfo& info, Time) override {
    expect_port(port);
    const wire::PortState state = infos.at(port).state;
    const wire::PortPhysicalState physical = infos.at(port).physical_state;
    if (info.client_reregister) ++reregistered;
    infos.at(port) = info;
    infos.at(port).client_reregister = false;
    infos.at(port).state = state;
    infos.at(port).physical_state = physical;
    ++sets;
  }
  void set_port_state(PortNumber port, wire::PortState state, Time) override {
    expect_port(port);
    promised(state == wire::PortState::kDown || state == wire::PortState::kArmed ||
             state == wire::PortState::kActive);
    infos.at(port).state = state;
    ++sets;
  }
  void set_physical_state(PortNumber port, wire::PortPhysicalState state, Time) override {
    expect_port(port);
    promised(state == wire::PortPhysicalState::kSleep ||
             state == wire::PortPhysicalState::kPolling ||
             state == wire::PortPhysicalState::kDisabled);
    infos.at(port).physical_state = state;
    ++sets;
  }

  wire::PKeyBlock pkeys(PortNumber port, std::uint16_t block) const override {
    expect_port(port);
    const auto it = pkey_blocks.find({port, block});
    if (it != pkey_blocks.end()) return it->second;
    wire::PKeyBlock value;
    if (block == 0) value.pkeys[0] = kDefaultPKey;
    return value;
  }
  void set_pkeys(PortNumber port, std::uint16_t block, const wire::PKeyBlock& value) override {
    expect_port(port);
    const bool external = node.type == wire::NodeType::kSwitch && port != 0;
    expect_block(block, wire::PKeyBlock::kEntries,
                 external ? switches.partition_enforcement_cap : node.partition_cap);
    pkey_blocks[{port, block}] = value;
    ++sets;
  }
  wire::GuidBlock guids(PortNumber port, std::uint8_t block) const override {
    expect_port(port);
    const auto it = guid_blocks.find({port, block});
    wire::GuidBlock value = it == guid_blocks.end() ? wire::GuidBlock{} : it->second;
    if (block == 0) value.guids[0] = port_guid(port);
    return value;
  }
  void set_guids(PortNumber port, std::uint8_t block, const wire::GuidBlock& value) override {
    expect_port(port);
    expect_block(block, wire::GuidBlock::kEntries, infos.at(port).guid_cap);
    guid_blocks[{port, block}] = value;
    ++sets;
  }
  wire::SlToVl sl_to_vl(PortNumber in, PortNumber out) const override {
    const auto it = sl_maps.find({in, out});
    return it == sl_maps.end() ? wire::SlToVl{} : it->second;
  }
  void set_sl_to_vl(PortNumber in, PortNumber out, const wire::SlToVl& value) override {
    promised(in <= node.ports);
    expect_port(out);
    sl_maps[{in, out}] = value;
    ++sets;
  }
  wire::VlArbitrationBlock vl_arbitration(PortNumber port, std::uint8_t half) const override {
    expect_port(port);
    const auto it = arbitration.find({port, half});
    return it == arbitration.end() ? wire::VlArbitrationBlock{} : it->second;
  }
  void set_vl_arbitration(PortNumber port, std::uint8_t half,
                          const wire::VlArbitrationBlock& value) override {
    expect_port(port);
    arbitration[{port, half}] = value;
    ++sets;
  }
  bool led(PortNumber port) const override {
    const auto it = leds.find(port);
    return it != leds.end() && it->second;
  }
  void set_led(PortNumber port, bool on) override {
    leds[port] = on;
    ++sets;
  }

  wire::SwitchInfo switch_info() const override {
    expect_switch();
    return switches;
  }
  void set_switch_info(const wire::SwitchInfo& info) override {
    expect_switch();
    switches = info;
    ++sets;
  }
  wire::LinearBlock linear(std::uint16_t block) const override {
    expect_switch();
    const auto it = linear_blocks.find(block);
    if (it != linear_blocks.end()) return it->second;
    wire::LinearBlock value;
    value.ports.fill(wire::LinearBlock::kNoPort);
    return value;
  }
  void set_linear(std::uint16_t block, const wire::LinearBlock& value) override {
    expect_switch();
    expect_block(block, wire::LinearBlock::kEntries, switches.linear_cap);
    linear_blocks[block] = value;
    ++sets;
  }
  wire::MulticastBlock multicast(std::uint8_t position, std::uint16_t block) const override {
    expect_switch();
    const auto it = multicast_blocks.find({position, block});
    return it == multicast_blocks.end() ? wire::MulticastBlock{} : it->second;
  }
  void set_multicast(std::uint8_t position, std::uint16_t block,
                     const wire::MulticastBlock& value) override {
    expect_switch();
    expect_block(block, wire::MulticastBlock::kEntries, switches.multicast_cap);
    expect_block(position, wire::MulticastBlock::kPortsPerPosition, node.ports + 1u);
    multicast_blocks[{position, block}] = value;
    ++sets;
  }
  PortCounts port_counts(PortNumber port) const override {
    expect_port(port);
    return counts.at(port);
  }

  wire::NodeInfo node;
  wire::NodeDescription description;
  wire::SwitchInfo switches;
  std::vector<wire::PortInfo> infos;
  std::vector<PortCounts> counts;
  std::map<std::pair<PortNumber, std::uint16_t>, wire::PKeyBlock> pkey_blocks;
  std::map<std::pair<PortNumber, std::uint8_t>, wire::GuidBlock> guid_blocks;
  std::map<std::pair<PortNumber, PortNumber>, wire::SlToVl> sl_maps;
  std::map<std::pair<PortNumber, std::uint8_t>, wire::VlArbitrationBlock> arbitration;
  std::map<PortNumber, bool> leds;
  std::map<std::uint16_t, wire::LinearBlock> linear_blocks;
  std::map<std::pair<std::uint8_t, std::uint16_t>, wire::MulticastBlock> multicast_blocks;
  int sets = 0;
  int reregistered = 0;

 private:
  // The promises of ManagedNode.
  static void promised(bool kept) {
    if (!kept) std::abort();
  }
  void expect_port(PortNumber port) const {
    promised(port <= node.ports && (port > 0 || node.type == wire::NodeType::kSwitch));
  }
  void expect_switch() const { promised(node.type == wire::NodeType::kSwitch); }
  void expect_block(std::size_t block, std::size_t entries, std::size_t size) const {
    promised(block * entries < size);
  }
};

}  // namespace weft::mgmt::test

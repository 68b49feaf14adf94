// SPDX-License-Identifier: Apache-2.0
// What the subnet manager reads and sets of a switch as a whole.
#include <algorithm>

#include "fabric/switch.h"

namespace weft::fabric {

Switch::Switch(const LabNode& lab, const NodeParts& parts) : Node(lab, parts) {
  info_.linear_cap = lab.linear_entries;
  info_.multicast_cap = lab.multicast_entries;
  info_.default_port = wire::LinearBlock::kNoPort;
  info_.default_multicast_primary_port = wire::LinearBlock::kNoPort;
  info_.default_multicast_not_primary_port = wire::LinearBlock::kNoPort;
  info_.life_time = 31;          // for ever
  info_.optimized_sl_to_vl = 1;  // many ports can be set at once
  info_.partition_enforcement_cap = kPKeyEntries;
  info_.inbound_enforcement_cap = true;
  info_.outbound_enforcement_cap = true;
  info_.filter_raw_inbound_cap = true;
  info_.filter_raw_outbound_cap = true;
  info_.enhanced_port0 = lab.enhanced_port0;
}

wire::SlToVl Switch::sl_to_vl(mgmt::PortNumber in, mgmt::PortNumber out) const {
  wire::SlToVl value;
  for (std::size_t sl = 0; sl < value.vls.size(); ++sl)
    value.vls[sl] = lane(in, out, Sl{static_cast<std::uint8_t>(sl)});
  return value;
}

void Switch::set_sl_to_vl(mgmt::PortNumber in, mgmt::PortNumber out, const wire::SlToVl& value) {
  if (lanes_.empty()) lanes_.resize(lanes_index(port_count(), port_count()) + 1);
  lanes_[lanes_index(in, out)] = {.set = true, .map = value};
}

void Switch::set_switch_info(const wire::SwitchInfo& info) {
  info_ = info;
  for (unsigned number = 1; number <= port_count(); ++number)
    port(static_cast<mgmt::PortNumber>(number)).link().set_switch_life(info.life_time);
}

wire::LinearBlock Switch::linear(std::uint16_t block) const {
  wire::LinearBlock value;
  value.ports.fill(wire::LinearBlock::kNoPort);
  const std::size_t first = block * wire::LinearBlock::kEntries;
  for (std::size_t i = 0; i < value.ports.size() && first + i < linear_.size(); ++i)
    value.ports[i] = linear_[first + i];
  return value;
}

void Switch::set_linear(std::uint16_t block, const wire::LinearBlock& value) {
  const std::size_t first = block * wire::LinearBlock::kEntries;
  linear_.resize(std::max(linear_.size(), first + value.ports.size()), wire::LinearBlock::kNoPort);
  std::copy(value.ports.begin(), value.ports.end(),
            linear_.begin() + static_cast<std::ptrdiff_t>(first));
}

wire::MulticastBlock Switch::multicast(std::uint8_t position, std::uint16_t block) const {
  wire::MulticastBlock value;
  if (position >= positions()) return value;
  for (std::size_t i = 0; i < value.masks.size(); ++i) {
    const std::size_t at = (block * wire::MulticastBlock::kEntries + i) * positions() + position;
    if (at < multicast_.size()) value.masks[i] = multicast_[at];
  }
  return value;
}

void Switch::set_multicast(std::uint8_t position, std::uint16_t block,
                           const wire::MulticastBlock& value) {
  if (position >= positions()) return;
  const std::size_t first = block * wire::MulticastBlock::kEntries;
  multicast_.resize(
      std::max(multicast_.size(), (first + wire::MulticastBlock::kEntries) * positions()));
  for (std::size_t i = 0; i < value.masks.size(); ++i)
    multicast_[(first + i) * positions() + position] = value.masks[i];
}

}  // namespace weft::fabric

// SPDX-License-Identifier: Apache-2.0
// The attributes that are blocks of tables. Entries of the last block that the table does not have
// read as zero, and a Set leaves them alone.
#include <algorithm>

#include "mgmt/sm/subnet_agent.h"
#include "wire/endian.h"

namespace weft::mgmt {
namespace {

using wire::MadStatus;

// Where entry `first` and those after it are of a table of `size` entries: how many there are.
std::size_t entries_there(std::size_t size, std::size_t first, std::size_t block) {
  return first >= size ? 0 : std::min(size - first, block);
}

}  // namespace

MadStatus SubnetAgent::guid_info(const Request& request, std::uint32_t modifier,
                                 MutableBytes data) {
  constexpr std::size_t kEntries = wire::GuidBlock::kEntries;
  const PortNumber port = own_port(request);
  const std::size_t size = node_.port_info(port).guid_cap;
  if (modifier > 0xFF) return MadStatus::kInvalidValue;
  const std::size_t there = entries_there(size, modifier * kEntries, kEntries);
  if (there == 0) return MadStatus::kInvalidValue;
  const auto block = static_cast<std::uint8_t>(modifier);
  wire::GuidBlock value = node_.guids(port, block);
  if (request.set) {
    const wire::GuidBlock asked = *wire::GuidBlock::parse(data);
    const std::size_t first = block == 0 ? 1 : 0;  // the port's own GUID only tells
    std::copy(asked.guids.begin() + first, asked.guids.begin() + std::max(first, there),
              value.guids.begin() + first);
    node_.set_guids(port, block, value);
  }
  value.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::pkey_table(const Request& request, std::uint32_t modifier,
                                  MutableBytes data) {
  constexpr std::size_t kEntries = wire::PKeyBlock::kEntries;
  const wire::NodeInfo node = node_.node_info(request.arrival);
  PortNumber port = request.arrival;
  std::size_t size = node.partition_cap;
  if (node.type == wire::NodeType::kSwitch) {
    const std::uint32_t number = modifier >> 16;
    if (number > node.ports) return MadStatus::kInvalidValue;
    port = static_cast<PortNumber>(number);
    if (port != 0) size = node_.switch_info().partition_enforcement_cap;
  }
  const auto block = static_cast<std::uint16_t>(modifier);
  const std::size_t there = entries_there(size, block * kEntries, kEntries);
  if (there == 0) return MadStatus::kInvalidValue;
  wire::PKeyBlock value = node_.pkeys(port, block);
  if (request.set) {
    const wire::PKeyBlock asked = *wire::PKeyBlock::parse(data);
    std::copy_n(asked.pkeys.begin(), there, value.pkeys.begin());
    node_.set_pkeys(port, block, value);
  }
  value.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::sl_to_vl(const Request& request, std::uint32_t modifier, MutableBytes data) {
  const wire::NodeInfo node = node_.node_info(request.arrival);
  const bool switched = node.type == wire::NodeType::kSwitch;
  if ((node_.port_info(own_port(request)).capability_mask & wire::kCapSlMapping) == 0) {
    return MadStatus::kBadMethodAttribute;
  }
  PortNumber in = 0;
  PortNumber out = request.arrival;
  bool all_in = false;
  bool all_out = false;
  if (switched) {
    // Of a Set: all ports at once, and the number does not count.
    all_out = (modifier >> 16 & 1) != 0;
    all_in = (modifier >> 17 & 1) != 0;
    const bool optimized = request.set && node_.switch_info().optimized_sl_to_vl == 1;
    if (modifier >> 18 != 0 || ((all_in || all_out) && !optimized)) return MadStatus::kInvalidValue;
    in = all_in ? PortNumber{0} : static_cast<PortNumber>(modifier >> 8 & 0xFF);
    out = all_out ? PortNumber{0} : static_cast<PortNumber>(modifier & 0xFF);
    if (in > node.ports || out > node.ports) return MadStatus::kInvalidValue;
  }
  if (request.set) {
    const wire::SlToVl asked = *wire::SlToVl::parse(data);
    for (unsigned i = in; i <= (all_in ? node.ports : in); ++i) {
      for (unsigned o = out; o <= (all_out ? node.ports : out); ++o)
        node_.set_sl_to_vl(static_cast<PortNumber>(i), static_cast<PortNumber>(o), asked);
    }
  }
  const wire::SlToVl value = node_.sl_to_vl(in, out);
  std::fill(data.begin(), data.end(), std::byte{0});
  value.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::vl_arbitration(const Request& request, std::uint32_t modifier,
                                      MutableBytes data) {
  constexpr std::size_t kEntries = wire::VlArbitrationBlock::kEntries;
  const wire::NodeInfo node = node_.node_info(request.arrival);
  PortNumber port = request.arrival;
  if (node.type == wire::NodeType::kSwitch) {
    const std::uint32_t number = modifier & 0xFFFF;
    if (number > node.ports) return MadStatus::kInvalidValue;
    port = static_cast<PortNumber>(number);
  }
  const std::uint32_t half = modifier >> 16;
  if (half < 1 || half > 4) return MadStatus::kInvalidValue;
  const wire::PortInfo info = node_.port_info(port);
  const std::size_t size = half <= 2 ? info.vl_arbitration_low_cap : info.vl_arbitration_high_cap;
  const std::size_t there = entries_there(size, (half - 1) % 2 * kEntries, kEntries);
  if (there == 0) return MadStatus::kInvalidValue;
  wire::VlArbitrationBlock value = node_.vl_arbitration(port, static_cast<std::uint8_t>(half));
  if (request.set) {
    const wire::VlArbitrationBlock asked = *wire::VlArbitrationBlock::parse(data);
    std::copy_n(asked.entries.begin(), there, value.entries.begin());
    node_.set_vl_arbitration(port, static_cast<std::uint8_t>(half), value);
  }
  value.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::linear(const Request& request, std::uint32_t modifier, MutableBytes data) {
  constexpr std::size_t kEntries = wire::LinearBlock::kEntries;
  if (!is_switch() || node_.switch_info().linear_cap == 0) return MadStatus::kBadMethodAttribute;
  const std::size_t size = node_.switch_info().linear_cap;
  if (modifier > 0xFFFF) return MadStatus::kInvalidValue;
  const std::size_t there = entries_there(size, modifier * kEntries, kEntries);
  if (there == 0) return MadStatus::kInvalidValue;
  const auto block = static_cast<std::uint16_t>(modifier);
  wire::LinearBlock value = node_.linear(block);
  if (request.set) {
    const wire::LinearBlock asked = *wire::LinearBlock::parse(data);
    std::copy_n(asked.ports.begin(), there, value.ports.begin());
    node_.set_linear(block, value);
  }
  value.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::multicast(const Request& request, std::uint32_t modifier,
                                 MutableBytes data) {
  constexpr std::size_t kEntries = wire::MulticastBlock::kEntries;
  if (!is_switch() || node_.switch_info().multicast_cap == 0) {
    return MadStatus::kBadMethodAttribute;
  }
  const std::size_t size = node_.switch_info().multicast_cap;
  const std::uint32_t position = modifier >> 28;
  const std::uint32_t block = modifier & 0x0FFF'FFFF;
  const std::size_t ports = node_.node_info(request.arrival).ports;
  if (position * wire::MulticastBlock::kPortsPerPosition > ports || block > 0x1FF) {
    return MadStatus::kInvalidValue;
  }
  const std::size_t there = entries_there(size, block * kEntries, kEntries);
  if (there == 0) return MadStatus::kInvalidValue;
  const auto at = static_cast<std::uint8_t>(position);
  wire::MulticastBlock value = node_.multicast(at, static_cast<std::uint16_t>(block));
  if (request.set) {
    const wire::MulticastBlock asked = *wire::MulticastBlock::parse(data);
    std::copy_n(asked.masks.begin(), there, value.masks.begin());
    node_.set_multicast(at, static_cast<std::uint16_t>(block), value);
  }
  value.write(data);
  return MadStatus::kOk;
}

}  // namespace weft::mgmt

// SPDX-License-Identifier: Apache-2.0
#include "sm/forwarding_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wire/sm/tables.h"

namespace weft::sm {

using wire::SmAttribute;

void write_linear(Changes& changes, Subnet& subnet, std::uint32_t node,
                  std::span<const std::uint8_t> table) {
  constexpr std::size_t kBlock = wire::LinearBlock::kEntries;
  auto& known = subnet.nodes[node].tables.linear;
  known.resize(std::max(known.size(), (table.size() + kBlock - 1) / kBlock));
  for (std::size_t first = 0; first < table.size(); first += kBlock) {
    wire::LinearBlock block;
    block.ports.fill(wire::LinearBlock::kNoPort);
    const std::size_t count = std::min(kBlock, table.size() - first);
    std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(first), count, block.ports.begin());
    const std::size_t number = first / kBlock;
    if (known[number] == block) continue;
    known[number].reset();  // until the switch has confirmed it
    std::array<std::byte, wire::smp::kDataSize> data{};
    block.write(data);
    changes.set(subnet.nodes[node].route, SmAttribute::kLinearForwarding,
                static_cast<std::uint32_t>(number), data,
                [&changes, &subnet, node, number, block](const SmpResult& result) {
                  SubnetNode& at = subnet.nodes[node];
                  if (result.answered()) {
                    at.tables.linear[number] = block;
                    return;
                  }
                  changes.failed(
                      fmt::format("forwarding table of {:#018x}", at.info.node_guid.value()),
                      result);
                });
  }
}

void write_switch_info(Changes& changes, Subnet& subnet, std::uint32_t node,
                       const wire::SwitchInfo& info) {
  SubnetNode& at = subnet.nodes[node];
  if (info == *at.switch_info) return;
  std::array<std::byte, wire::smp::kDataSize> data{};
  info.write(data);
  changes.set(at.route, SmAttribute::kSwitchInfo, 0, data,
              [&changes, &subnet, node](const SmpResult& result) {
                SubnetNode& there = subnet.nodes[node];
                const auto now = wire::SwitchInfo::parse(result.data);
                if (!result.answered() || !now) {
                  changes.failed(
                      fmt::format("SwitchInfo of {:#018x}", there.info.node_guid.value()), result);
                  return;
                }
                // What changed meanwhile is for the next look, or the trap.
                there.switch_info = now;
                there.switch_info->port_state_change = false;
              });
}

}  // namespace weft::sm

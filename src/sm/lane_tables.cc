// SPDX-License-Identifier: Apache-2.0
#include "sm/lane_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "sm/subnet_changes.h"
#include "wire/sm/port_info.h"

namespace weft::sm {
namespace {

using wire::SlToVl;
using wire::SmAttribute;
using wire::VlArbitrationBlock;

constexpr std::uint8_t kLaneTablesNoLane = 15;
constexpr std::uint8_t kLevels = 16;
constexpr std::size_t kHalf = VlArbitrationBlock::kEntries;
// Bits of the modifier of SLtoVL that stand for all ports.
constexpr std::uint32_t kAllOutputs = 1u << 16;
constexpr std::uint32_t kAllInputs = 1u << 17;
// 4096 bytes: lanes that routing needs take turns packet by packet.
constexpr std::uint8_t kEqualWeight = 64;

// Codes of PortInfo: 1 to 5 are 1, 2, 4, 8 and 15 lanes.
std::uint8_t data_lanes(std::uint8_t code) {
  return code >= 5 ? std::uint8_t{15} : static_cast<std::uint8_t>(1u << std::max(code - 1, 0));
}

bool is_up(const SubnetPort& port) {
  return port.info && port.peer && port.info->state >= wire::PortState::kInitialize;
}

// Onto the lanes that the port has.
SlToVl fitted(SlToVl map, std::uint8_t lanes) {
  for (Vl& vl : map.vls) {
    if (vl.value() != kLaneTablesNoLane) vl = Vl{static_cast<std::uint8_t>(vl.value() % lanes)};
  }
  return map;
}

SlToVl modulo(std::uint8_t lanes) {
  SlToVl map;
  for (std::uint8_t sl = 0; sl < kLevels; ++sl)
    map.vls[sl] = Vl{static_cast<std::uint8_t>(sl % lanes)};
  return map;
}

template <class Value>
std::array<std::byte, wire::smp::kDataSize> bytes_of(const Value& value) {
  std::array<std::byte, wire::smp::kDataSize> data{};
  value.write(data);
  return data;
}

}  // namespace

SubnetLanes lane_plan(const Subnet& subnet, const SwitchGraph& graph, const Routes& routes,
                      const std::vector<SwitchIndex>& index) {
  SubnetLanes plan{.lanes = routes.lanes};
  if (routes.lanes <= 1) return plan;
  plan.switches.resize(subnet.nodes.size());
  for (std::uint32_t node = 0; node < subnet.nodes.size(); ++node) {
    if (!subnet.nodes[node].is_switch()) continue;
    // What leaves the switches waits for no other switch: any lane will do there.
    auto& ports = plan.switches[node];
    ports.assign(subnet.nodes[node].ports.size(), modulo(routes.lanes));
    HopIndex hop = graph.first_hop(index[node]);
    for (const Hop& out : graph.hops_of(index[node])) {
      for (std::uint8_t sl = 0; sl < kLevels; ++sl)
        ports[out.port].vls[sl] = routes.lane(hop, Sl{sl});
      ++hop;
    }
  }
  return plan;
}

const QosProfile* LaneTables::profile(const PortRef& at) const {
  if (!qos_ || !qos_->on) return nullptr;
  switch (subnet_.nodes[at.node].info.type) {
    case wire::NodeType::kSwitch:
      return at.port == 0 ? &qos_->switch_port0 : &qos_->switch_ports;
    case wire::NodeType::kRouter:
      return &qos_->routers;
    case wire::NodeType::kChannelAdapter:
      return &qos_->adapters;
  }
  return nullptr;
}

std::optional<SlToVl> LaneTables::lanes_wanted(const PortRef& at) const {
  const SubnetPort& port = subnet_.port(at);
  const std::uint8_t lanes = data_lanes(port.info->operational_vls);
  if (plan_.lanes > 1) {
    const bool of_switch = subnet_.nodes[at.node].is_switch();
    const bool between =
        of_switch && at.port != 0 && port.peer && subnet_.nodes[port.peer->node].is_switch();
    if (between && lanes < plan_.lanes) {
      changes_.warn(
          fmt::format("{} has {} lanes, routing needs {}: packets may wait for each other",
                      name_of(subnet_, at), lanes, plan_.lanes));
    }
    return fitted(of_switch ? plan_.switches[at.node][at.port] : modulo(plan_.lanes), lanes);
  }
  const QosProfile* const asked = profile(at);
  return asked == nullptr ? std::nullopt : std::optional(fitted(asked->sl_to_vl, lanes));
}

void LaneTables::write(const MayTouch& may_touch) {
  if (plan_.lanes <= 1 && !(qos_ && qos_->on)) return;
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    const SubnetNode& at = subnet_.nodes[node];
    for (std::size_t number = 1; number < at.ports.size(); ++number) {
      const PortRef port{node, static_cast<std::uint8_t>(number)};
      if (!is_up(at.ports[number]) || !may_touch(port)) continue;
      if (!at.is_switch()) write_adapter(port);
      write_arbitration(port);
    }
    const bool is_known = at.is_switch() && at.switch_info && at.ports[0].info;
    if (is_known && may_touch({node, 0})) write_switch(node);
  }
}

bool LaneTables::has(const PortRef& out, const SlToVl& wanted) const {
  const SubnetNode& node = subnet_.nodes[out.node];
  const auto& known = node.ports[out.port].tables.sl_to_vl;
  const std::size_t inputs = node.is_switch() ? node.ports.size() : 1;
  return known.size() == inputs && std::all_of(known.begin(), known.end(),
                                               [&](const auto& table) { return table == wanted; });
}

void LaneTables::know(const PortRef& out, const std::optional<SlToVl>& table) {
  const SubnetNode& node = subnet_.nodes[out.node];
  subnet_.port(out).tables.sl_to_vl.assign(node.is_switch() ? node.ports.size() : 1, table);
}

void LaneTables::write_adapter(const PortRef& at) {
  if ((subnet_.port(at).info->capability_mask & wire::kCapSlMapping) == 0) return;
  const auto wanted = lanes_wanted(at);
  if (wanted && !has(at, *wanted)) write_pairs(at, *wanted);
}

void LaneTables::write_switch(std::uint32_t node) {
  const SubnetNode& at = subnet_.nodes[node];
  if ((at.ports[0].info->capability_mask & wire::kCapSlMapping) == 0) return;
  std::vector<std::optional<SlToVl>> wanted(at.ports.size());
  std::size_t different = 0;
  for (std::size_t number = 1; number < at.ports.size(); ++number) {
    const PortRef out{node, static_cast<std::uint8_t>(number)};
    if (!is_up(at.ports[number])) continue;
    wanted[number] = lanes_wanted(out);
    different += wanted[number] && !has(out, *wanted[number]) ? 1u : 0u;
  }
  if (different == 0) return;
  const bool optimized = at.switch_info->optimized_sl_to_vl == 1;
  if (optimized && different > 1) return write_all(node, wanted);
  for (std::size_t number = 1; number < wanted.size(); ++number) {
    const PortRef out{node, static_cast<std::uint8_t>(number)};
    if (!wanted[number] || has(out, *wanted[number])) continue;
    optimized ? write_output(out, *wanted[number]) : write_pairs(out, *wanted[number]);
  }
}

void LaneTables::write_pairs(const PortRef& out, const SlToVl& wanted) {
  const bool of_switch = subnet_.nodes[out.node].is_switch();
  auto& known = subnet_.port(out).tables.sl_to_vl;
  known.resize(of_switch ? subnet_.nodes[out.node].ports.size() : 1);
  for (std::size_t in = 0; in < known.size(); ++in) {
    if (known[in] == wanted) continue;
    known[in].reset();  // until the node has confirmed it
    const auto modifier =
        of_switch ? static_cast<std::uint32_t>(in << 8 | out.port) : std::uint32_t{0};
    changes_.set(subnet_.route_to(out), SmAttribute::kSlToVl, modifier, bytes_of(wanted),
                 [this, out, in, wanted](const SmpResult& result) {
                   if (result.answered()) {
                     subnet_.port(out).tables.sl_to_vl[in] = wanted;
                   } else {
                     changes_.failed("SL-to-VL table of " + name_of(subnet_, out), result);
                   }
                 });
  }
}

void LaneTables::write_output(const PortRef& out, const SlToVl& wanted) {
  know(out, std::nullopt);
  changes_.set(subnet_.nodes[out.node].route, SmAttribute::kSlToVl, kAllInputs | out.port,
               bytes_of(wanted), [this, out, wanted](const SmpResult& result) {
                 if (result.answered()) return know(out, wanted);
                 changes_.failed("SL-to-VL table of " + name_of(subnet_, out), result);
               });
}

// What most ports want first, and what others want when that is done: it would be overwritten.
void LaneTables::write_all(std::uint32_t node, const std::vector<std::optional<SlToVl>>& wanted) {
  std::optional<SlToVl> common;
  std::ptrdiff_t most = 0;
  for (const auto& table : wanted) {
    if (!table || table == common) continue;
    const auto count = std::count(wanted.begin(), wanted.end(), table);
    if (count > most) std::tie(common, most) = std::pair(table, count);
  }
  const auto each = [this, node](const auto& what) {
    for (std::size_t number = 0; number < subnet_.nodes[node].ports.size(); ++number)
      what(PortRef{node, static_cast<std::uint8_t>(number)});
  };
  each([this](const PortRef& out) { know(out, std::nullopt); });
  changes_.set(subnet_.nodes[node].route, SmAttribute::kSlToVl, kAllInputs | kAllOutputs,
               bytes_of(*common), [this, each, wanted, common, node](const SmpResult& result) {
                 if (!result.answered()) {
                   return changes_.failed("SL-to-VL tables of " + name_of(subnet_.nodes[node]),
                                          result);
                 }
                 each([&](const PortRef& out) {
                   know(out, common);
                   const auto& own = wanted[out.port];
                   if (own && own != common) write_output(out, *own);
                 });
               });
}

void LaneTables::write_arbitration(const PortRef& at) {
  const wire::PortInfo& info = *subnet_.port(at).info;
  const std::uint8_t lanes = data_lanes(info.operational_vls);
  if (lanes == 1) return;
  const auto write_table = [&](std::size_t first_half, std::size_t entries, const Table& table) {
    for (std::size_t half = 0; half < 2 && half * kHalf < entries; ++half)
      write_half(at, first_half + half, std::min(entries - half * kHalf, kHalf), table);
  };
  if (const QosProfile* const asked = profile(at)) {
    write_table(0, info.vl_arbitration_low_cap, asked->low);
    write_table(2, info.vl_arbitration_high_cap, asked->high);
    return;
  }
  Table equal;
  for (std::uint8_t vl = 0; vl < std::min(lanes, plan_.lanes); ++vl)
    equal.push_back({.vl = Vl{vl}, .weight = kEqualWeight});
  write_table(0, info.vl_arbitration_low_cap, equal);
}

void LaneTables::write_half(const PortRef& at, std::size_t half, std::size_t entries,
                            const Table& table) {
  const std::uint8_t lanes = data_lanes(subnet_.port(at).info->operational_vls);
  VlArbitrationBlock block;
  const std::size_t first = half % 2 * kHalf;
  for (std::size_t i = 0; i < entries && first + i < table.size(); ++i) {
    const auto& entry = table[first + i];
    // A lane that the port has not gets nothing; VL 15 is none that is arbitrated.
    if (entry.vl.value() < lanes) block.entries[i] = entry;
  }
  auto& known = subnet_.port(at).tables.vl_arbitration;
  known.resize(4);
  if (known[half] == block) return;
  known[half].reset();  // until the node has confirmed it
  const auto modifier = static_cast<std::uint32_t>((half + 1) << 16) |
                        (subnet_.nodes[at.node].is_switch() ? at.port : std::uint32_t{0});
  changes_.set(subnet_.route_to(at), SmAttribute::kVlArbitration, modifier, bytes_of(block),
               [this, at, half, block](const SmpResult& result) {
                 if (result.answered()) {
                   subnet_.port(at).tables.vl_arbitration[half] = block;
                 } else {
                   changes_.failed("VL arbitration of " + name_of(subnet_, at), result);
                 }
               });
}

}  // namespace weft::sm

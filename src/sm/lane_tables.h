// SPDX-License-Identifier: Apache-2.0
// Which lanes packets travel on, and how lanes share links: SL-to-VL tables and VL arbitration, as
// QoS asks for them and as routing needs them. Where neither does, nothing is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "sm/changes.h"
#include "sm/qos.h"
#include "sm/routing/routes.h"
#include "sm/routing/switch_graph.h"
#include "sm/subnet.h"
#include "wire/sm/tables.h"

namespace weft::sm {

// The lanes that routing needs in order to be free of deadlock.
struct SubnetLanes {
  std::uint8_t lanes = 1;  // 1: any will do
  // By node and port by which packets leave a switch; empty for adapters.
  std::vector<std::vector<wire::SlToVl>> switches{};
};
// `index`: of the switches in the graph, by node.
[[nodiscard]] SubnetLanes lane_plan(const Subnet& subnet, const SwitchGraph& graph,
                                    const Routes& routes, const std::vector<SwitchIndex>& index);

class LaneTables {
 public:
  // All outlive it, and handlers refer to it until the queue is idle. Without `qos` only routing
  // counts. Of both, routing decides the lanes of service levels, QoS how they share a link.
  LaneTables(Changes& changes, Subnet& subnet, const SubnetLanes& plan,
             const std::optional<Qos>& qos)
      : changes_(changes), subnet_(subnet), plan_(plan), qos_(qos) {}
  LaneTables(const LaneTables&) = delete;
  LaneTables& operator=(const LaneTables&) = delete;

  // What is different from what nodes are known to have, as far as they may be touched. Links have
  // their operational lanes by now.
  void write(const MayTouch& may_touch);
  // What QoS says of a port; null: nothing.
  [[nodiscard]] const QosProfile* profile(const PortRef& at) const;

 private:
  using Table = std::vector<wire::VlArbitrationBlock::Entry>;
  [[nodiscard]] std::optional<wire::SlToVl> lanes_wanted(const PortRef& at) const;
  void write_adapter(const PortRef& at);
  void write_switch(std::uint32_t node);
  // Of packets that leave by port `out`: each entry of the table that is different.
  void write_pairs(const PortRef& out, const wire::SlToVl& wanted);
  // For many ports at once, IBA 14.2.5.8.
  void write_all(std::uint32_t node, const std::vector<std::optional<wire::SlToVl>>& wanted);
  void write_output(const PortRef& out, const wire::SlToVl& wanted);
  void write_arbitration(const PortRef& at);
  void write_half(const PortRef& at, std::size_t half, std::size_t entries, const Table& table);
  [[nodiscard]] bool has(const PortRef& out, const wire::SlToVl& wanted) const;
  void know(const PortRef& out, const std::optional<wire::SlToVl>& table);

  Changes& changes_;
  Subnet& subnet_;
  const SubnetLanes& plan_;
  const std::optional<Qos>& qos_;
};

}  // namespace weft::sm

// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/counters.h"
#include "fabric/emulation_text.h"
#include "fabric/link_values.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

// As ibstat has them.
std::string_view text(wire::PortState state) {
  switch (state) {
    case wire::PortState::kDown:
      return "Down";
    case wire::PortState::kInitialize:
      return "Initializing";
    case wire::PortState::kArmed:
      return "Armed";
    case wire::PortState::kActive:
      return "Active";
    default:
      return "No state change";
  }
}

std::string_view text(wire::PortPhysicalState state) {
  switch (state) {
    case wire::PortPhysicalState::kSleep:
      return "Sleep";
    case wire::PortPhysicalState::kPolling:
      return "Polling";
    case wire::PortPhysicalState::kDisabled:
      return "Disabled";
    case wire::PortPhysicalState::kTraining:
      return "PortConfigurationTraining";
    case wire::PortPhysicalState::kLinkUp:
      return "LinkUp";
    case wire::PortPhysicalState::kLinkErrorRecovery:
      return "LinkErrorRecovery";
    default:
      return "Unknown";
  }
}

Json counters_json(const std::vector<CounterValue>& counters) {
  Json out = Json::object();
  for (const CounterValue& counter : counters) {
    if (counter.value != 0) out[std::string(counter.name)] = counter.value;
  }
  return out;
}

Json port_json(const fabric::Node& node, mgmt::PortNumber number) {
  const fabric::NodePort& port = node.port(number);
  const wire::PortInfo info = node.port_info(number);
  Json out{{"port", number},
           {"lid", info.lid.value()},
           {"lmc", info.lmc},
           {"state", text(info.state)},
           {"physical_state", text(info.physical_state)}};
  if (port.guid() != Guid{}) out["guid"] = fabric::to_string(port.guid());
  if (port.has_link()) {
    out["width"] = fabric::to_string(fabric::widest(info.link_width_active));
    out["speed"] =
        fabric::to_string(fabric::fastest({info.link_speed_active, info.link_speed_ext_active}));
    out["counters"] = counters_json(port.link().counters().snapshot());
  }
  return out;
}

Json node_json(const fabric::Node& node, const fabric::LabNode& lab) {
  const bool is_switch = node.kind() == fabric::NodeKind::kSwitch;
  Json out{{"name", node.name()},
           {"kind", is_switch ? "switch" : "ca"},
           {"guid", fabric::to_string(node.node_info(is_switch ? 0 : 1).node_guid)},
           {"ports", Json::array()}};
  for (unsigned port = is_switch ? 0 : 1; port <= node.port_count(); ++port)
    out["ports"].push_back(port_json(node, static_cast<mgmt::PortNumber>(port)));
  for (std::size_t i = 0; i < lab.addresses.size(); ++i)
    out["ports"][i]["ip"] = fabric::to_string(lab.addresses[i]);
  return out;
}

// The state of a link is that of its end that is further from Active.
wire::PortState state_of(fabric::Fabric& fabric, std::size_t link) {
  return std::min(fabric.end(link, 0).link().state(), fabric.end(link, 1).link().state());
}

}  // namespace

Json link_report(fabric::Fabric& fabric, std::size_t index, Time now) {
  const fabric::LabLink& lab = fabric.lab().links[index];
  const link::DirectLink& link = fabric.link(index);
  Json out{{"name", fabric.lab().link_name(lab)},
           {"plugged", link.plugged()},
           {"up", link.up(now)},
           {"state", text(state_of(fabric, index))},
           {"emulation", fabric::to_string(link.emulation())},
           {"counters", counters_json(link.counters().snapshot())},
           {"ends", Json::array()}};
  for (const std::size_t side : {0U, 1U}) {
    const fabric::NodePort& end = fabric.end(index, side);
    out["ends"].push_back({{"at", fabric.lab().end_name(lab.ends[side])},
                           {"state", text(end.link().state())},
                           {"physical_state", text(end.link().physical_state())},
                           {"counters", counters_json(end.link().counters().snapshot())}});
  }
  return out;
}

Json lab_report(fabric::Fabric& fabric, LabDetail detail, Time now) {
  std::map<std::string_view, std::size_t> states;
  for (std::size_t i = 0; i < fabric.link_count(); ++i)
    ++states[text(state_of(fabric, i))];
  std::size_t switches = 0;
  for (std::size_t i = 0; i < fabric.node_count(); ++i)
    switches += fabric.node(i).kind() == fabric::NodeKind::kSwitch ? 1 : 0;
  Json out{{"name", fabric.lab().name},
           {"switches", switches},
           {"cas", fabric.node_count() - switches},
           {"links", {{"count", fabric.link_count()}, {"states", states}}}};
  if (detail == LabDetail::kSummary) return out;
  out["nodes"] = Json::array();
  for (std::size_t i = 0; i < fabric.node_count(); ++i)
    out["nodes"].push_back(node_json(fabric.node(i), fabric.lab().nodes[i]));
  out["links"]["each"] = Json::array();
  for (std::size_t i = 0; i < fabric.link_count(); ++i)
    out["links"]["each"].push_back(link_report(fabric, i, now));
  return out;
}

}  // namespace weft::daemon

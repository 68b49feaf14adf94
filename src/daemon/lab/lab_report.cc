// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/counters.h"
#include "daemon/counters_json.h"
#include "daemon/lab/negotiation_report.h"
#include "fabric/channel_adapter.h"
#include "fabric/lab_census.h"
#include "fabric/link_values.h"
#include "fabric/negotiated_link.h"
#include "link/emulation_text.h"

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

// What the receive filter of a port that a data service uses has matched; null: none does.
Json filter_json(const fabric::ChannelAdapter* adapter, mgmt::PortNumber number) {
  const fabric::RawPort* const port =
      adapter == nullptr ? nullptr : adapter->opened_raw_port(number);
  return port == nullptr ? Json() : counters_json(port->counters().snapshot());
}

// `adapter`: the node, if it is one; else null.
Json port_json(const fabric::Node& node, const fabric::ChannelAdapter* adapter,
               mgmt::PortNumber number) {
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
  if (Json filter = filter_json(adapter, number); !filter.is_null())
    out["filter"] = std::move(filter);
  return out;
}

std::string_view text(fabric::NodeKind kind) {
  return kind == fabric::NodeKind::kChannelAdapter ? "ca" : fabric::to_string(kind);
}

Json node_json(const fabric::Node& node, const fabric::ChannelAdapter* adapter,
               const fabric::LabNode& lab) {
  const bool is_switch = node.kind() == fabric::NodeKind::kSwitch;
  Json out{{"name", node.name()},
           {"kind", text(node.kind())},
           {"guid", fabric::to_string(node.node_info(is_switch ? 0 : 1).node_guid)},
           {"ports", Json::array()}};
  for (unsigned port = is_switch ? 0 : 1; port <= node.port_count(); ++port)
    out["ports"].push_back(port_json(node, adapter, static_cast<mgmt::PortNumber>(port)));
  for (std::size_t i = 0; i < lab.addresses.size(); ++i)
    out["ports"][i]["ip"] = fabric::to_string(lab.addresses[i]);
  return out;
}

// The state of a link is that of its end that is further from Active, of those that are here.
wire::PortState state_of(fabric::Fabric& fabric, std::size_t link) {
  wire::PortState state = wire::PortState::kActive;
  for (const std::size_t side : {0U, 1U}) {
    if (fabric.has_end(link, side)) state = std::min(state, fabric.end(link, side).link().state());
  }
  return state;
}

// Nothing else is known here of an end in another part.
Json end_json(fabric::Fabric& fabric, std::size_t index, std::size_t side) {
  const fabric::Lab& lab = fabric.lab();
  const fabric::LabEnd& at = lab.links[index].ends[side];
  Json out{{"at", lab.end_name(at)}};
  if (fabric.part()) out["part"] = lab.parts[lab.nodes[at.node].part].name;
  if (!fabric.has_end(index, side)) return out;
  const fabric::NodePort& end = fabric.end(index, side);
  out["state"] = text(end.link().state());
  out["physical_state"] = text(end.link().physical_state());
  out["counters"] = counters_json(end.link().counters().snapshot());
  return out;
}

}  // namespace

Json link_report(fabric::Fabric& fabric, std::size_t index, Time now) {
  const fabric::LabLink& lab = fabric.lab().links[index];
  const link::Link& link = fabric.link(index);
  Json out{{"name", fabric.lab().link_name(lab)},
           {"plugged", link.plugged()},
           {"up", link.up(now)},
           {"state", text(state_of(fabric, index))},
           {"emulation", link::to_string(link.emulation())},
           {"counters", counters_json(link.counters().snapshot())},
           {"ends", Json::array()}};
  for (const std::size_t side : {0U, 1U})
    out["ends"].push_back(end_json(fabric, index, side));
  return out;
}

Json link_details(fabric::Fabric& fabric, std::size_t index, Time now) {
  Json out = link_report(fabric, index, now);
  fabric::NegotiatedLink* const negotiated = fabric.negotiated_link(index);
  if (negotiated == nullptr) return out;
  const fabric::LabLink& lab = fabric.lab().links[index];
  out["negotiation"] = negotiation_report(
      negotiated->ddr(), {fabric.lab().end_name(lab.ends[0]), fabric.lab().end_name(lab.ends[1])},
      now);
  return out;
}

Json lab_report(fabric::Fabric& fabric, LabDetail detail, Time now) {
  std::map<std::string_view, std::size_t> states;
  std::size_t links = 0;
  for (std::size_t i = 0; i < fabric.link_count(); ++i) {
    if (!fabric.has_link(i)) continue;
    ++links;
    ++states[text(state_of(fabric, i))];
  }
  const fabric::LabCensus census = fabric::census_of(fabric.lab(), fabric.part());
  Json out{{"name", fabric.lab().name},
           {"switches", census.switches},
           {"cas", census.adapters},
           {"routers", census.routers},
           {"links", {{"count", links}, {"states", states}}}};
  if (fabric.part()) out["part"] = fabric.lab().parts[*fabric.part()].name;
  if (detail == LabDetail::kSummary) return out;
  out["nodes"] = Json::array();
  for (std::size_t i = 0; i < fabric.node_count(); ++i) {
    if (fabric.has_node(i)) {
      const fabric::LabNode& lab = fabric.lab().nodes[i];
      out["nodes"].push_back(node_json(fabric.node(i), fabric.find_adapter(lab.name), lab));
    }
  }
  out["links"]["each"] = Json::array();
  for (std::size_t i = 0; i < fabric.link_count(); ++i) {
    if (fabric.has_link(i)) out["links"]["each"].push_back(link_report(fabric, i, now));
  }
  return out;
}

}  // namespace weft::daemon

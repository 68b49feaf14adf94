// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "daemon/counters_json.h"
#include "daemon/lab/admin_connection.h"
#include "daemon/lab/lab_node.h"
#include "daemon/lan/lan_settings.h"
#include "fabric/lab.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

std::string_view text(lan::Channels::State state) {
  switch (state) {
    case lan::Channels::State::kNone:
      return "none";
    case lan::Channels::State::kAsked:
      return "asked";
    case lan::Channels::State::kUp:
      return "up";
  }
  return "";
}

std::string text(const MacAddress& mac) {
  return mac == MacAddress{} ? "" : fmt::format("{:02x}", fmt::join(mac, ":"));
}

// What can be changed of an interface that is there.
bool same_but_bridge(fabric::LabLan one, const fabric::LabLan& other) {
  one.bridge = other.bridge;
  return one == other;
}

// All ports of a node, or the one that is named.
Expected<std::vector<mgmt::PortNumber>> ports_of(const fabric::LabNode& node, const Json& request) {
  const auto named = request.find("port");
  if (named == request.end()) {
    std::vector<mgmt::PortNumber> all(node.ports);
    std::iota(all.begin(), all.end(), mgmt::PortNumber{1});
    return all;
  }
  const std::int64_t number = named->is_number_integer() ? named->get<std::int64_t>() : 0;
  if (number < 1 || number > node.ports) {
    return fail(std::errc::no_such_device,
                fmt::format("{} has ports 1 to {}", node.name, node.ports));
  }
  return std::vector{static_cast<mgmt::PortNumber>(number)};
}

}  // namespace

LanServer::LanServer(fabric::Fabric& fabric, io::Reactor& reactor, Entropy& entropy,
                     ConnectionManagers& connections)
    : surroundings_{fabric, reactor, entropy, connections, turns_} {
  const fabric::Lab& lab = surroundings_.fabric.lab();
  for (std::size_t i = 0; i < lab.nodes.size(); ++i) {
    const fabric::LabNode& node = lab.nodes[i];
    if (node.kind != fabric::NodeKind::kChannelAdapter) continue;
    for (std::uint8_t port = 1; port <= node.ports; ++port)
      by_guid_.emplace(node.port_guids[port - 1u], Key{i, port});
  }
}

LanServer::~LanServer() = default;

std::vector<std::string> LanServer::notes() const {
  const fabric::Fabric& fabric = surroundings_.fabric;
  std::vector<const fabric::LabNode*> nodes;
  for (std::size_t i = 0; i < fabric.node_count(); ++i) {
    if (fabric.has_node(i) && fabric.lab().nodes[i].lan) nodes.push_back(&fabric.lab().nodes[i]);
  }
  return missing_for_lan(nodes);
}

void LanServer::start() {
  const fabric::Fabric& fabric = surroundings_.fabric;
  for (std::size_t i = 0; i < fabric.node_count(); ++i) {
    const fabric::LabNode& node = fabric.lab().nodes[i];
    for (std::uint8_t port = 1; fabric.has_node(i) && node.lan && port <= node.ports; ++port) {
      const auto begun = begin({i, port}, *node.lan);
      if (!begun) {
        ports_[{i, port}] = {.options = *node.lan, .driver = nullptr, .why = begun.error().message};
      }
    }
  }
}

Expected<void> LanServer::begin(const Key& key, const fabric::LabLan& options) {
  const fabric::LabNode& node = surroundings_.fabric.lab().nodes[key.first];
  const fabric::LanPlace place = fabric::lan_place(options, node.name, key.second);
  if (!fabric::good_interface_name(place.name)) {
    return fail(std::errc::invalid_argument,
                fmt::format("no interface can be called {}: a name has at most {} characters",
                            place.name, fabric::kMostInterfaceName));
  }
  auto driver = LanDriver::open({.node = node.name,
                                 .port = key.second,
                                 .interface = place.name,
                                 .network_namespace = netns_file(place.netns),
                                 .mtu = options.mtu,
                                 .queues = options.queues,
                                 .offloads = options.offloads,
                                 .channels = options.channels,
                                 .bridge = options.bridge},
                                surroundings_);
  if (!driver) return tl::unexpected(driver.error());
  ports_[key] = {.options = options, .driver = std::move(*driver), .why = {}};
  return {};
}

Expected<Json> LanServer::answer(const Json& request) {
  const std::string what = text_of(request, "what");
  const bool change = what == "up" || what == "down";
  const bool all = !request.contains("node");
  if ((!change && what != "show") || (change && all)) {
    return fail(std::errc::invalid_argument,
                fmt::format("this lab's LAN cannot '{}': it is of another version", what));
  }
  Meant named;
  if (!all) {
    auto read = meant(request);
    if (!read) return tl::unexpected(read.error());
    named = std::move(*read);
  }
  Expected<void> done;
  if (what == "up") done = up(named, request);
  if (what == "down") done = down(named, !request.contains("port"));
  if (!done) return tl::unexpected(done.error());
  const bool peers = request.value("peers", Json()) == Json(true);
  Json interfaces = Json::array();
  for (const auto& [key, port] : ports_) {
    const bool wanted = all || (key.first == named.node &&
                                std::ranges::find(named.ports, key.second) != named.ports.end());
    if (wanted) interfaces.push_back(interface_json(key, port, peers));
  }
  return Json{{"interfaces", std::move(interfaces)}};
}

Expected<LanServer::Meant> LanServer::meant(const Json& request) const {
  const fabric::Fabric& fabric = surroundings_.fabric;
  const std::string name = text_of(request, "node");
  const fabric::Lab& lab = fabric.lab();
  const fabric::LabNode* const node = lab.find_node(name);
  const auto index = static_cast<std::size_t>(node - lab.nodes.data());
  if (node == nullptr || !fabric.has_node(index)) return no_such_node(fabric, name);
  if (node->kind != fabric::NodeKind::kChannelAdapter) {
    return fail(std::errc::no_such_device, fmt::format("{} is a {}: LAN ports are of nodes", name,
                                                       fabric::to_string(node->kind)));
  }
  auto ports = ports_of(*node, request);
  if (!ports) return tl::unexpected(ports.error());
  return Meant{.node = index, .ports = std::move(*ports)};
}

// One that is there as it is to be stays; one that has failed is tried again.
Expected<void> LanServer::up(const Meant& meant, const Json& request) {
  const fabric::LabNode& node = surroundings_.fabric.lab().nodes[meant.node];
  const auto given = request.find("options");
  const Json options = given == request.end() ? Json::object() : *given;
  for (const mgmt::PortNumber number : meant.ports) {
    const Key key{meant.node, number};
    const auto there = ports_.find(key);
    fabric::LabLan wanted =
        there != ports_.end() ? there->second.options : node.lan.value_or(fabric::LabLan{});
    if (auto changed = change_lan(wanted, options); !changed) return changed;
    if (there != ports_.end() && there->second.driver) {
      const bool failed = there->second.driver->report().state == LanState::kFailed;
      if (!failed && same_but_bridge(there->second.options, wanted)) {
        there->second.options.bridge = wanted.bridge;
        there->second.driver->set_bridge(wanted.bridge, io::now());
        continue;
      }
      if (!failed) {
        return fail(std::errc::file_exists,
                    fmt::format("{}:{} has an interface with other options; weft lan down {}:{} "
                                "takes it away",
                                node.name, number, node.name, number));
      }
    }
    const bool was_there = ports_.erase(key) != 0;
    if (auto begun = begin(key, wanted); !begun) {
      if (was_there) ports_[key] = {wanted, nullptr, begun.error().message};
      return begun;
    }
  }
  return {};
}

Expected<void> LanServer::down(const Meant& meant, bool all) {
  std::size_t gone = 0;
  for (const mgmt::PortNumber number : meant.ports)
    gone += ports_.erase({meant.node, number});
  if (gone != 0) return {};
  const std::string& name = surroundings_.fabric.lab().nodes[meant.node].name;
  return fail(std::errc::no_such_device,
              all ? fmt::format("{} is not on the LAN", name)
                  : fmt::format("{}:{} is not on the LAN", name, meant.ports.front()));
}

LanReport LanServer::report_of(const Key& key, const Port& port) const {
  if (port.driver) return port.driver->report();
  LanReport out;
  out.node = surroundings_.fabric.lab().nodes[key.first].name;
  out.port = key.second;
  out.mtu = port.options.mtu;
  out.state = LanState::kFailed;
  out.why = port.why;
  return out;
}

// "all", the addresses of groups, or null: it has not said what it wants.
Json groups_json(const std::optional<lan::GroupList>& groups) {
  if (!groups) return nullptr;
  if (groups->all) return "all";
  Json out = Json::array();
  for (const MacAddress& group : groups->groups)
    out.push_back(text(group));
  return out;
}

Json LanServer::peer_json(const LanPeerReport& peer) const {
  Json out{{"mac", text(peer.mac)},
           {"lid", peer.lids.base.value()},
           {"lmc", peer.lids.lmc},
           {"guid", fabric::to_string(peer.port)},
           {"description", peer.node},
           {"qpn", peer.qpn.value()},
           {"channel", text(peer.channel)},
           {"path",
            {{"slid", peer.path.slid.value()},
             {"dlid", peer.path.dlid.value()},
             {"sl", peer.path.sl.value()},
             {"mtu", peer.path.mtu}}},
           {"paths", peer.paths},
           {"groups", groups_json(peer.groups)},
           {"bridges", peer.bridges},
           {"stations", peer.stations}};
  if (const auto known = by_guid_.find(peer.port); known != by_guid_.end()) {
    const fabric::LabNode& node = surroundings_.fabric.lab().nodes[known->second.first];
    out["node"] = node.name;
    out["port"] = known->second.second;
    out["description"] = node.description;
  }
  return out;
}

Json LanServer::interface_json(const Key& key, const Port& port, bool peers) const {
  const LanReport report = report_of(key, port);
  const fabric::LanPlace place = fabric::lan_place(port.options, report.node, key.second);
  const auto channels =
      std::ranges::count(report.peers, lan::Channels::State::kUp, &LanPeerReport::channel);
  Json out{{"node", report.node},
           {"port", report.port},
           {"interface", report.interface.empty() ? place.name : report.interface},
           {"netns", place.netns},
           {"state", to_string(report.state)},
           {"carrier", report.state == LanState::kUp},
           {"mac", text(report.mac)},
           {"lid", report.lids.base.value()},
           {"lmc", report.lids.lmc},
           {"mtu", report.mtu},
           {"queues", port.options.queues},
           {"offloads", port.options.offloads},
           {"bridge", port.options.bridge ? Json(*port.options.bridge) : Json("auto")},
           {"bridges", report.bridges},
           {"qpn", report.qpn.value()},
           {"peer_count", report.peers.size()},
           {"channel_count", channels},
           {"drops", report.drops},
           {"frames", counters_json(report.frames)},
           {"packets", counters_json(report.packets)},
           {"datagrams", counters_json(report.datagrams)},
           {"channels", counters_json(report.channels)},
           {"subnet", counters_json(report.subnet)}};
  out["by_queue"] = Json::array();
  for (const HostInterface::Frames& queue : report.queues)
    out["by_queue"].push_back({{"from_host", queue.read}, {"to_host", queue.written}});
  if (!report.why.empty()) out["why"] = report.why;
  out["notes"] = Json::array();
  for (const LanNotes::Note& note : report.notes)
    out["notes"].push_back(note.text);
  if (!peers) return out;
  out["peers"] = Json::array();
  for (const LanPeerReport& peer : report.peers)
    out["peers"].push_back(peer_json(peer));
  return out;
}

Json LanServer::report(bool all) const {
  Json out{{"states", Json::object()}, {"failed", Json::array()}};
  if (all) out["interfaces"] = Json::array();
  for (const auto& [key, port] : ports_) {
    const LanReport report = report_of(key, port);
    Json& count = out["states"][std::string(to_string(report.state))];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    if (all) out["interfaces"].push_back(interface_json(key, port, false));
    if (report.state == LanState::kFailed) {
      out["failed"].push_back({{"node", report.node}, {"port", report.port}, {"why", report.why}});
    }
  }
  return out;
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// What a subnet manager says of itself and of the subnet.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/gid_text.h"
#include "base/quantity.h"
#include "daemon/lab/admin_connection.h"
#include "daemon/lab/managed_subnet.h"
#include "fabric/lab.h"
#include "io/clock.h"
#include "sm/metrics.h"
#include "sm/sa/explain.h"
#include "wire/sa/rate.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostPast = 10'000;  // nodes, and links, in one answer

double seconds(Duration since_1970) {
  const auto when = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970);
  return static_cast<double>(when.count()) / 1000;
}

Json seconds(const std::optional<Duration>& since_1970) {
  return since_1970 ? Json(seconds(*since_1970)) : Json();
}

// In seconds.
double took(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Json topology_end(const sm::TopologyEnd& end) {
  return {{"node", fabric::to_string(end.node)}, {"port", end.port}};
}

Json manager_json(const sm::OtherManager& manager) {
  return {{"guid", fabric::to_string(manager.info.guid)},
          {"lid", manager.lid.value()},
          {"priority", manager.info.priority},
          {"state", wire::to_string(manager.info.state)}};
}

// The end ports whose node describes itself by the name, with the port behind a colon or without.
std::vector<std::uint32_t> ends_called(const sm::SubnetView& view, std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : parse_integer(name.substr(colon + 1));
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < view.ends().size(); ++i) {
    const sm::PortRef& at = view.ends()[i].at;
    const sm::SubnetNode& node = view.subnet().nodes[at.node];
    const std::uint8_t usual = node.is_switch() ? 0 : 1;
    const bool is_it = (node.description == name && at.port == usual) ||
                       (port == at.port && node.description == name.substr(0, colon));
    if (is_it) found.push_back(i);
  }
  return found;
}

}  // namespace

Expected<Json> ManagedSubnet::answer(const Json& request) {
  const std::string what = text_of(request, "what");
  if (what == "status") return report();
  if (what == "history") return history();
  if (what == "topology") return topology();
  if (what == "metrics") return metrics();
  if (what == "path") return path(text_of(request, "from"), text_of(request, "to"));
  if (what == "policy") return policy(request);
  return fail(std::errc::invalid_argument, fmt::format("sm: nothing is called '{}'", what));
}

Json ManagedSubnet::report() const {
  const sm::SweepReport& sweep = management_.manager().report();
  const sm::SmpCounts& smps = management_.manager().smps();
  Json out{{"node", node_},
           {"port", port_},
           {"state", wire::to_string(management_.manager().state())},
           {"priority", management_.manager().info().priority},
           {"engine", sm::to_string(sweep.engine)},
           {"sweeps", management_.manager().sweeps()},
           {"last_sweep",
            {{"switches", sweep.switches},
             {"adapters", sweep.adapters},
             {"end_ports", sweep.end_ports},
             {"links", sweep.links},
             {"discovery_s", took(sweep.discovery)},
             {"setup_s", took(sweep.setup)},
             {"writes", sweep.writes},
             {"failures", sweep.failures},
             {"problems", sweep.problems}}},
           {"smps",
            {{"sent", smps.sent},
             {"answered", smps.answered},
             {"refused", smps.refused},
             {"timed_out", smps.timed_out},
             {"given_up", smps.given_up},
             {"traps", smps.traps},
             {"requests", smps.requests}}},
           {"managers", Json::array()},
           {"groups", management_.administrator().groups().groups().size()},
           {"services", management_.administrator().services()},
           {"subscriptions", management_.administrator().subscriptions()},
           {"counters", Json::object()}};
  if (database_) {
    out["database"] = {{"file", database_->file()}, {"trouble", database_->trouble()}};
    for (const CounterValue& counter : database_->counters().snapshot())
      out["counters"][std::string(counter.name)] = counter.value;
  }
  if (!sweep.engine_refused.empty()) out["last_sweep"]["engine_refused"] = sweep.engine_refused;
  for (const sm::OtherManager& manager : sweep.managers)
    out["managers"].push_back(manager_json(manager));
  for (const CounterValue& counter : management_.administrator().counters().snapshot())
    out["counters"][std::string(counter.name)] = counter.value;
  return out;
}

Json ManagedSubnet::metrics() const {
  return {{"text", sm::metrics_text(management_)}};
}

Json ManagedSubnet::history() const {
  Json out = Json::array();
  for (const PastEvent& event : events_) {
    out.push_back({{"time", seconds(event.when)},
                   {"kind", sm::to_string(event.what.kind)},
                   {"text", event.what.text}});
  }
  return {{"events", std::move(out)}};
}

Expected<Json> ManagedSubnet::topology() {
  if (!database_) {
    return fail(std::errc::operation_not_supported, "this subnet manager keeps no subnet database");
  }
  const auto past = database_->topology(io::now(), kMostPast);
  if (!past) return tl::unexpected(past.error());
  Json out{{"nodes", Json::array()}, {"links", Json::array()}};
  for (const PastNode& each : past->nodes) {
    out["nodes"].push_back({{"guid", fabric::to_string(each.node.guid)},
                            {"type", to_string(each.node.type)},
                            {"description", each.node.description},
                            {"appeared", seconds(each.appeared)},
                            {"gone", seconds(each.gone)}});
  }
  for (const PastLink& each : past->links) {
    out["links"].push_back({{"from", topology_end(each.link.from)},
                            {"to", topology_end(each.link.to)},
                            {"up", seconds(each.up)},
                            {"down", seconds(each.down)}});
  }
  return out;
}

std::string ManagedSubnet::name_of(const sm::PortRef& port) const {
  const sm::SubnetNode& node = management_.administrator().view().subnet().nodes[port.node];
  return fmt::format("{}:{}", node.description, port.port);
}

Expected<sm::ViewEnd> ManagedSubnet::find_end(std::string_view name) const {
  const sm::SubnetView& view = management_.administrator().view();
  const auto ends = ends_called(view, name);
  if (ends.size() > 1) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: several end ports of the subnet are called so; name a LID or a "
                            "GUID with 0x in front",
                            name));
  }
  std::uint32_t found = ends.empty() ? sm::SubnetView::kNobody : ends.front();
  if (ends.empty() && name.starts_with("0x")) {
    if (const auto guid = parse_guid(name)) found = view.end_of(*guid);
  } else if (const auto gid = parse_gid(name); ends.empty() && gid && !gid->is_multicast()) {
    found = management_.administrator().end_towards(*gid);
  } else if (ends.empty()) {
    const auto lid = parse_integer(name);
    if (lid && *lid <= 0xFFFF) found = view.end_of(Lid{static_cast<std::uint16_t>(*lid)});
  }
  if (found != sm::SubnetView::kNobody) return view.ends()[found];
  return fail(std::errc::no_such_device,
              fmt::format("{}: no end port of the subnet is called so; a node, NODE:PORT, a LID, a "
                          "GUID with 0x in front or a GID is",
                          name));
}

Json ManagedSubnet::end_json(const sm::ViewEnd& end) const {
  return {{"at", name_of(end.at)},
          {"lid", end.lid.value()},
          {"lmc", end.lmc},
          {"guid", fabric::to_string(end.guid)},
          {"gid", management_.administrator().view().gid_of(end).to_string()}};
}

Expected<Json> ManagedSubnet::path(std::string_view from, std::string_view to) const {
  const auto source = find_end(from);
  if (!source) return tl::unexpected(source.error());
  const auto destination = find_end(to);
  if (!destination) return tl::unexpected(destination.error());
  const sm::SubnetView& view = management_.administrator().view();
  const auto way = view.way(*source, destination->lid);
  Json out{{"from", end_json(*source)},
           {"to", end_json(*destination)},
           {"engine", sm::to_string(management_.manager().report().engine)},
           {"reachable", way.has_value()},
           {"hops", Json::array()}};
  const auto gid = parse_gid(to);
  if (gid && !view.is_here(*gid)) out["beyond"] = gid->to_string();
  for (const sm::ExplainedHop& hop : sm::explain(view, *source, destination->lid).hops) {
    out["hops"].push_back({{"out", name_of(hop.out)},
                           {"in", name_of(hop.in)},
                           {"choices", hop.choices},
                           {"detour", hop.detour}});
  }
  const auto pkey = view.common_pkey(*source, *destination);
  if (pkey) out["pkey"] = pkey->value();
  out["sl"] = view.level(*source, destination->lid).value();
  if (way && way->links > 0) {
    out["mtu"] = 128u << way->mtu;
    out["rate_mbps"] = wire::rate_mbps(way->rate);
  }
  return out;
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// `weft lan`: the Ethernet interfaces of a lab's nodes, and who they reach.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/lab_client.h"
#include "cli/report_view.h"
#include "cli/style.h"
#include "cli/table.h"
#include "fabric/lab_lan.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// "a:2", or "a" for all ports of it.
Expected<void> name_ports(Json& request, const std::string& where) {
  const std::size_t colon = where.rfind(':');
  request["node"] = where.substr(0, colon);
  if (colon == std::string::npos) return {};
  unsigned port = 0;
  const char* const last = where.data() + where.size();
  const auto [stop, error] = std::from_chars(where.data() + colon + 1, last, port);
  if (error != std::errc{} || stop != last) {
    return fail(std::errc::invalid_argument, where + ": a port is a number, as in host1:1");
  }
  request["port"] = port;
  return {};
}

Json options_of(const LanOptions& options) {
  Json out = Json::object();
  if (options.netns) out["netns"] = *options.netns;
  if (options.name) out["name"] = *options.name;
  if (options.mtu) out["mtu"] = *options.mtu;
  if (options.queues) out["queues"] = *options.queues;
  if (options.channels) out["channels"] = *options.channels;
  if (options.offloads) out["offloads"] = *options.offloads == "on";
  if (options.bridge) out["bridge"] = *options.bridge == "on";
  if (options.bridge == "auto") out["bridge"] = "auto";
  return out;
}

Expected<Json> request_of(const LanOptions& options) {
  const bool up = options.action == "up";
  const Json changes = options_of(options);
  if (!up && !changes.empty()) {
    return fail(
        std::errc::invalid_argument,
        "--netns, --name, --mtu, --queues, --channels, --offloads and --bridge are of up only");
  }
  if (!up && options.action != "down" && options.action != "show" && options.action != "arp") {
    return fail(
        std::errc::invalid_argument,
        fmt::format("{}: no such action (there are show, arp, up and down)", options.action));
  }
  Json request{{"do", "lan"}, {"what", options.action}};
  if (options.action == "arp") {
    request["what"] = "show";
    request["peers"] = true;
  }
  if (up) request["options"] = changes;
  if (!options.where.empty()) {
    if (auto named = name_ports(request, options.where); !named) {
      return tl::unexpected(named.error());
    }
  } else if (up || options.action == "down") {
    return fail(std::errc::invalid_argument,
                fmt::format("{} wants a node, or one of its ports as in host1:1", options.action));
  }
  return request;
}

std::string interface_at(const Json& interface) {
  return fmt::format("{}:{}", printable(text_of(interface, "node")), number_of(interface, "port"));
}

std::string or_dash(const Json& object, const char* name) {
  const std::string text = object.contains(name) ? printable(text_of(object, name)) : "";
  return text.empty() ? "-" : text;
}

bool is_true(const Json& object, const char* name) {
  return object.value(name, Json()) == Json(true);
}

void print_interfaces(const Json& interfaces, const Style& style) {
  Table table({"PORT", "INTERFACE", "NETNS", "STATE", "MAC", "MTU", "PEERS", "CHANNELS", "BRIDGE",
               "DROPS"});
  for (const Json& each : interfaces) {
    table.add({interface_at(each), or_dash(each, "interface"), or_dash(each, "netns"),
               or_dash(each, "state"), or_dash(each, "mac"), fmt::to_string(number_of(each, "mtu")),
               fmt::to_string(number_of(each, "peer_count")),
               fmt::to_string(number_of(each, "channel_count")),
               is_true(each, "bridges") ? "yes" : "no", fmt::to_string(number_of(each, "drops"))});
  }
  fmt::print("{}", table.to_string(style));
  for (const Json& each : interfaces) {
    if (!each.contains("why")) continue;
    const std::string line =
        fmt::format("{}: {}", interface_at(each), printable(text_of(each, "why")));
    fmt::print("{}\n", text_of(each, "state") == "failed" ? style.red(line) : line);
  }
  for (const Json& each : interfaces)
    for (const Json& note : list_of(each, "notes"))
      fmt::print("{}: {}\n", interface_at(each), printable(note.get<std::string>()));
}

// What it wants of groups: "all", how many, or "-": it has not said so, and gets all.
std::string groups_of(const Json& peer) {
  const Json& groups = peer.contains("groups") ? peer["groups"] : Json();
  if (groups.is_array()) return fmt::to_string(groups.size());
  return groups.is_string() ? printable(groups.get<std::string>()) : "-";
}

// By this lab's file, or as a node of another lab calls itself.
std::string peer_name(const Json& peer) {
  return peer.contains("node") ? interface_at(peer) : or_dash(peer, "description");
}

void print_peers(const Json& interfaces, const Style& style) {
  Table table({"PORT", "INTERFACE", "MAC", "LID", "PEER", "GUID", "MTU", "PATHS", "BY", "GROUPS",
               "STATIONS"});
  for (const Json& each : interfaces) {
    for (const Json& peer : list_of(each, "peers")) {
      const Json& path = object_of(peer, "path");
      table.add({interface_at(each), or_dash(each, "interface"), or_dash(peer, "mac"),
                 fmt::to_string(number_of(peer, "lid")), peer_name(peer), or_dash(peer, "guid"),
                 fmt::to_string(number_of(path, "mtu")), fmt::to_string(number_of(peer, "paths")),
                 text_of(peer, "channel") == "up" ? "channel" : "datagrams", groups_of(peer),
                 is_true(peer, "bridges") ? fmt::to_string(number_of(peer, "stations")) : "-"});
    }
  }
  fmt::print("{}", table.to_string(style));
}

// Without a node: what each part says that runs here.
Expected<Json> ask_lans(const std::vector<daemon::LabPaths>& lab, const Json& request) {
  Json all = Json::array();
  for (const daemon::LabPaths& part : lab) {
    auto answer = ask_parts({part}, request);
    if (!answer) return tl::unexpected(answer.error());
    for (const Json& each : list_of(answer->report, "interfaces"))
      all.push_back(each);
  }
  return Json{{"interfaces", std::move(all)}};
}

}  // namespace

void define_lan(CLI::App& lan, LanOptions& options) {
  lan.add_option("ACTION", options.action, "show (default), arp, up or down");
  lan.add_option("NODE", options.where, "A node, or one of its ports as in host1:1");
  lan.add_option("--netns", options.netns,
                 "Of up: the network namespace; \"\": that of the lab's daemon")
      ->option_text("NAME");
  lan.add_option("--name", options.name, "Of up: the interface's name")->option_text("NAME");
  lan.add_option("--mtu", options.mtu, "Of up: bytes behind the Ethernet header; default 1500")
      ->option_text("BYTES")
      ->check(CLI::Range(fabric::kLeastLanMtu, fabric::kMostLanMtu));
  lan.add_option("--queues", options.queues, "Of up: queues of the interface, 1 (default) to 16")
      ->option_text("NUMBER")
      ->check(CLI::Range(1, int{fabric::kMostLanQueues}));
  lan.add_option("--channels", options.channels,
                 "Of up: connections to peers, interface_at most; default 256")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, int{fabric::kMostLanChannels}));
  lan.add_option("--offloads", options.offloads,
                 "Of up: on (default): kernels leave checksums and segmentation to each other; off")
      ->option_text("WHETHER")
      ->check(CLI::IsMember({"on", "off"}));
  lan.add_option(
         "--bridge", options.bridge,
         "Of up: other stations are behind the interface: on, off, auto (default): while it "
         "is a port of a bridge")
      ->option_text("WHETHER")
      ->check(CLI::IsMember({"on", "off", "auto"}));
  lan.add_option("--lab", options.lab,
                 "The lab; not needed when only one runs; OWNER/LAB: another user's")
      ->option_text("LAB");
  lan.add_flag("--json", options.json, "Print JSON");
}

int lan(const LanOptions& options) {
  const auto request = request_of(options);
  if (!request) return refuse("lan", request.error().message);
  const auto lab = choose_running_lab(options.lab);
  if (!lab) return refuse("lan", lab.error().message);
  Expected<Json> report;
  if (request->contains("node")) {
    auto answer = ask_parts(*lab, *request);
    report = answer ? Expected<Json>(std::move(answer->report))
                    : tl::unexpected(std::move(answer.error()));
  } else {
    report = ask_lans(*lab, *request);
  }
  if (!report) return refuse("lan", report.error().message);
  const Json& interfaces = list_of(*report, "interfaces");
  const Style style = Style::for_stream(stdout);
  if (options.json) {
    print_json(*report);
  } else if (options.action == "arp") {
    print_peers(interfaces, style);
  } else if (options.action != "down") {
    print_interfaces(interfaces, style);
  }
  return kOk;
}

}  // namespace weft::cli

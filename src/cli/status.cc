// SPDX-License-Identifier: Apache-2.0
// `weft status`: what runs on this machine now. Lines are in the manner of iproute2's `rdma`: words
// in pairs, a name and its value.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/counter_meaning.h"
#include "cli/lab_client.h"
#include "cli/lab_view.h"
#include "cli/report_view.h"
#include "cli/style.h"
#include "io/clock.h"
#include "io/runtime_dir.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// The counters that tell of trouble, and are not zero.
Json troubles_of(const Json& counters) {
  Json out = Json::object();
  for (const auto& [name, value] : counters.items()) {
    const bool some = value.is_number_unsigned() && value.get<std::uint64_t>() != 0;
    if (some && !is_ordinary(name)) out[name] = value;
  }
  return out;
}

// How many of the objects of a list have each value of these members.
template <class Names>
std::map<std::string, std::size_t> tally(const Json& list, const Names& names) {
  std::map<std::string, std::size_t> out;
  for (const Json& object : list) {
    std::string key;
    for (const char* name : names)
      key += (key.empty() ? "" : " ") + printable(text_of(object, name));
    ++out[key];
  }
  return out;
}

// {"type": "RC", "state": "RTS", "count": 3}: in such rows.
Json queue_pairs_json(const Json& device) {
  std::map<std::pair<std::string, std::string>, std::size_t> rows;
  for (const Json& qp : list_of(device, "qps"))
    ++rows[{text_of(qp, "type"), text_of(qp, "state")}];
  Json out = Json::array();
  for (const auto& [kind, count] : rows)
    out.push_back({{"type", kind.first}, {"state", kind.second}, {"count", count}});
  return out;
}

Json device_troubles(const Json& device) {
  Json out = troubles_of(object_of(device, "port_counters"));
  out.update(troubles_of(object_of(device, "qp_counters")));
  return out;
}

Json program_json(const Json& process) {
  Json devices = Json::array();
  for (const Json& device : list_of(process, "devices")) {
    devices.push_back({{"name", text_of(device, "name")},
                       {"qp", number_of(device, "qp_count")},
                       {"cq", number_of(device, "cq_count")},
                       {"mr", number_of(device, "mr_count")},
                       {"srq", number_of(device, "srq_count")},
                       {"queue_pairs", queue_pairs_json(device)},
                       {"trouble", device_troubles(device)}});
  }
  return {{"pid", process.value("pid", Json())},
          {"comm", process.value("comm", Json())},
          {"wire", process.value("wire", Json())},
          {"devices", std::move(devices)}};
}

Json status_json(const Reports& programs, const Reports& agents, const std::vector<Json>& labs) {
  Json out{{"labs", labs}, {"agents", agents.agents}, {"programs", Json::array()}};
  for (const Json& process : programs.processes)
    out["programs"].push_back(program_json(process));
  return out;
}

bool print_troubles(const Json& troubles, const Style& style) {
  for (const auto& [name, value] : troubles.items()) {
    const std::string_view meaning = meaning_of(name);
    fmt::print("    {} {}{}{}\n", style.yellow(printable(name)), printable(value.dump()),
               meaning.empty() ? "" : "  # ", meaning);
  }
  return !troubles.empty();
}

std::string point_in_time(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm local{};
  if (localtime_r(&time, &local) == nullptr) return "?";
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", local);
}

// "1 LISTEN, 2 CONNECT"
std::string cm_states_of(const Json& wire) {
  constexpr std::array<const char*, 1> kState{"state"};
  std::string out;
  for (const auto& [state, count] : tally(list_of(wire, "cm_ids"), kState))
    out += fmt::format("{}{} {}", out.empty() ? " (" : ", ", count, state);
  return out.empty() ? out : out + ")";
}

void print_wire(const Json& wire) {
  const Json& counters = object_of(wire, "counters");
  fmt::print("    wire {} qp1 UDP port {} cm_id {}{} tx_mads {} rx_mads {}\n",
             printable(text_of(wire, "wire")), number_of(wire, "udp_port"),
             number_of(wire, "cm_id_count"), cm_states_of(wire), number_of(counters, "qp1_tx_mads"),
             number_of(counters, "qp1_rx_mads"));
}

void print_client(const Json& client) {
  std::string slots;
  for (const Json& slot : list_of(client, "slots"))
    slots += fmt::format("{}{}", slots.empty() ? " slot " : ",", slot.dump());
  fmt::print("    client pid {} comm {} rdma_cm files {}{}\n", number_of(client, "pid"),
             printable(text_of(client, "comm")), number_of(client, "files"), slots);
}

// Whether there was trouble.
bool print_agent(const Json& agent, bool details, const Style& style) {
  fmt::print("{} since {} clients {}",
             style.bold(fmt::format("agent {}:", number_of(agent, "pid"))),
             point_in_time(number_of(agent, "since")), list_of(agent, "programs").size());
  fmt::print(" ends when idle for {} s netns {}\n", number_of(agent, "idle_s"),
             number_of(agent, "netns"));
  bool trouble = false;
  for (const Json& wire : list_of(agent, "wires")) {
    print_wire(wire);
    trouble = print_troubles(troubles_of(object_of(wire, "counters")), style) || trouble;
  }
  trouble = print_troubles(troubles_of(object_of(agent, "counters")), style) || trouble;
  if (!details) return trouble;
  std::string addresses;
  for (const Json& address : list_of(agent, "addresses"))
    addresses += address.is_string() ? " " + printable(address.get<std::string>()) : "";
  fmt::print("    addresses{}\n", addresses);
  for (const Json& client : list_of(agent, "programs"))
    print_client(client);
  return trouble;
}

bool print_device(const Json& process, const Json& device, const Style& style) {
  const std::string head = fmt::format("{}: {}:", text_of(process, "pid"), text_of(device, "name"));
  fmt::print("{} comm {} wire {} qp {}", style.bold(printable(head)),
             printable(text_of(process, "comm")), printable(text_of(process, "wire")),
             number_of(device, "qp_count"));
  constexpr std::array<const char*, 2> kKind{"type", "state"};
  const char* separator = " (";
  const auto kinds = tally(list_of(device, "qps"), kKind);
  for (const auto& [kind, count] : kinds) {
    fmt::print("{}{} {}", separator, count, kind);
    separator = ", ";
  }
  const Json& counters = object_of(device, "qp_counters");
  fmt::print("{} tx_packets {} rx_packets {}\n", kinds.empty() ? "" : ")",
             number_of(counters, "tx_packets"), number_of(counters, "rx_packets"));
  return print_troubles(device_troubles(device), style);
}

void print_status(const Reports& programs, const Reports& agents, const std::vector<Json>& labs,
                  bool details) {
  const Style style = Style::for_stream(stdout);
  for (const Json& lab : labs)
    print_lab(lab, details, style);
  bool trouble = false;
  std::size_t devices = 0;
  for (const Json& agent : agents.agents)
    trouble = print_agent(agent, details, style) || trouble;
  for_each_device(programs, [&](const Json& process, const Json& device) {
    trouble = print_device(process, device, style) || trouble;
    ++devices;
  });
  if (devices == 0 && agents.agents.empty() && labs.empty()) {
    fmt::print(
        "Nothing of Weft runs: no program has a device open, and no host agent is needed.\n"
        "To run a program: weft run -- PROGRAM; what it will see: weft devices\n");
  } else if (devices == 0) {
    fmt::print("No program has a Weft device open.\n");
  }
  if (trouble) {
    fmt::print(
        "Which queue pairs: weft resource show qp -d; what this machine lacks: weft doctor\n");
  }
}

// Of the lab alone.
int lab_status(const StatusOptions& options) {
  const auto running = choose_running_lab(options.lab);
  if (!running) return refuse("status", running.error().message);
  Reports none;
  const auto labs = collect_labs(*running, options.details || options.json, none.complaints);
  if (options.json) {
    print_json(status_json(none, none, labs));
  } else {
    const Style style = Style::for_stream(stdout);
    for (const Json& lab : labs)
      print_lab(lab, options.details, style);
  }
  return complain("status", none);
}

}  // namespace

int status(const StatusOptions& options) {
  if (!options.lab.empty()) return lab_status(options);
  const auto directories = io::runtime_directories();
  const Reports agents = collect_agents(directories);
  Reports programs = collect_reports(directories);
  const std::vector<Json> labs = collect_labs(daemon::running_labs(directories),
                                              options.details || options.json, programs.complaints);
  if (options.json) {
    print_json(status_json(programs, agents, labs));
  } else {
    print_status(programs, agents, labs, options.details);
  }
  return std::max(complain("status", agents), complain("status", programs));
}

}  // namespace weft::cli

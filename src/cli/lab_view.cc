// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/lab_client.h"
#include "cli/report_view.h"
#include "io/user_names.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// "two-switches", and of a part of a lab "two-switches@left".
std::string title_of(const Json& lab) {
  const std::string name = printable(text_of(lab, "name"));
  return lab.contains("part") ? name + "@" + printable(text_of(lab, "part")) : name;
}

// "3 Active, 1 Down"
std::string link_states_of(const Json& links) {
  std::string out;
  for (const auto& [state, count] : object_of(links, "states").items())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count.dump(), printable(state));
  return out;
}

void print_node(const Json& node) {
  fmt::print("  {} {} guid {}\n", printable(text_of(node, "kind")),
             printable(text_of(node, "name")), printable(text_of(node, "guid")));
  for (const Json& port : list_of(node, "ports")) {
    fmt::print("    port {} state {} physical_state {} lid {}", number_of(port, "port"),
               printable(text_of(port, "state")), printable(text_of(port, "physical_state")),
               number_of(port, "lid"));
    if (port.contains("width")) {
      fmt::print(" {} {}", printable(text_of(port, "width")), printable(text_of(port, "speed")));
    }
    if (port.contains("ip")) fmt::print(" ip {}", printable(text_of(port, "ip")));
    fmt::print("\n");
    // What its receive filter made of what came there.
    for (const auto& [name, count] : object_of(port, "filter").items())
      fmt::print("      {} {}\n", printable(name), count.dump());
  }
}

void print_link_line(const Json& link) {
  std::string ends;
  for (const Json& end : list_of(link, "ends"))
    ends += (ends.empty() ? "" : " ") + printable(text_of(end, "at"));
  const std::string emulation = printable(text_of(link, "emulation"));
  fmt::print(
      "  link {} {} {}{}{}\n", printable(text_of(link, "name")), ends,
      link.value("plugged", Json()) == Json(true) ? printable(text_of(link, "state")) : "unplugged",
      emulation.empty() ? "" : " degraded ", emulation);
}

void print_part(const Json& part) {
  fmt::print("  part {} {} links {} connected {}\n", printable(text_of(part, "name")),
             printable(text_of(part, "carrier")), number_of(part, "links"),
             number_of(part, "connected"));
}

// "  lan: 7 up, 1 failed", and what failed.
void print_lan(const Json& lan) {
  fmt::print("  lan: {}\n", link_states_of(lan));
  for (const Json& port : list_of(lan, "failed")) {
    fmt::print("    {}:{}: {}\n", printable(text_of(port, "node")), number_of(port, "port"),
               printable(text_of(port, "why")));
  }
}

// "  service firewall at fw1: packets 12 forwarded 10"; `weft service` has the rest.
void print_service(const Json& service) {
  const Json& counters = object_of(service, "counters");
  fmt::print("  service {} at {}:{}: packets {} forwarded {}\n",
             printable(text_of(service, "name")), printable(text_of(service, "node")),
             number_of(service, "port"), number_of(counters, "packets"),
             number_of(counters, "forwarded"));
}

void print_program(const Json& program) {
  const auto user = static_cast<uid_t>(number_of(program, "uid"));
  fmt::print("  program pid {} node {} qp {} sent {} arrived {}{}\n", number_of(program, "pid"),
             printable(text_of(program, "node")), number_of(program, "qps"),
             number_of(program, "sent"), number_of(program, "arrived"),
             user == geteuid() ? "" : " user " + io::user_name(user));
}

// By which of a bridge's ports, or to which subnets of a router's; hosts with RoCE have one way.
std::string way_to(const Json& extender, const Json& remote) {
  if (text_of(extender, "mode") == "roce") return "RoCE";
  std::vector<std::string> prefixes;
  for (const Json& prefix : list_of(remote, "prefixes")) {
    if (prefix.is_string()) prefixes.push_back(printable(prefix.get<std::string>()));
  }
  if (remote.contains("learned")) {
    const auto learned = number_of(remote, "learned");
    if (learned > 0) prefixes.push_back(fmt::format("{} learned", learned));
    if (prefixes.empty()) return "no subnet";
  }
  return prefixes.empty() ? fmt::format("port {}", number_of(remote, "port"))
                          : fmt::format("{}", fmt::join(prefixes, ", "));
}

// "sealed with aes-128-gcm"
std::string protection_of(const Json& remote) {
  if (remote.value("sealed", Json()) != Json(true)) return "insecure";
  return remote.contains("cipher") ? "sealed with " + printable(text_of(remote, "cipher"))
                                   : "sealed";
}

// ", fec 10+2: 31 of 33 lost frames made again", of what was lost there and is known to be.
std::string repair_of(const Json& remote) {
  if (!remote.contains("fec")) return "";
  const Json& counters = object_of(remote, "counters");
  const auto made = number_of(counters, "rx_recovered");
  const auto lost = made + number_of(counters, "rx_unrecovered");
  return fmt::format(", fec {}: {} of {} lost frames made again", printable(text_of(remote, "fec")),
                     made, lost);
}

// One of the ways to a remote: "path 1 (192.0.2.1:7471): works, 10.2 ms, 1.5 Gb/s".
void print_path(const Json& path, std::size_t number) {
  const bool works = path.value("works", Json()) == Json(true);
  std::string how;
  if (works) {
    const auto microseconds = static_cast<double>(number_of(path, "round_trip_us"));
    how = fmt::format(", {:.1f} ms", microseconds / 1e3);
    const auto rate = number_of(path, "rate_bytes_per_s");
    if (rate > 0) how += fmt::format(", {:.1f} Mb/s", static_cast<double>(rate) * 8e-6);
  }
  fmt::print("      path {} ({}): {}{}\n", number, printable(text_of(path, "address")),
             works ? "works" : "does not work", how);
}

// Where it is, on an Ethernet what is known of it there, and what the network's connection to it is
// doing: "...; neighbour reachable; connection open".
std::string address_of(const Json& remote) {
  std::string out = printable(text_of(remote, "address"));
  const auto add_states = [&](const char* key, std::string_view what) {
    std::vector<std::string> states;
    for (const Json& state : list_of(remote, key)) {
      if (state.is_string()) states.push_back(printable(state.get<std::string>()));
    }
    if (!states.empty()) out += fmt::format("; {} {}", what, fmt::join(states, ", "));
  };
  add_states("neighbours", "neighbour");
  add_states("connections", "connection");
  return out;
}

void print_extender(const Json& extender, bool details) {
  fmt::print("  extender {} at {}\n", printable(text_of(extender, "extender")),
             printable(text_of(extender, "listen")));
  for (const Json& remote : list_of(extender, "remotes")) {
    const std::string why = remote.contains("why") ? text_of(remote, "why") : "";
    fmt::print("    {} to {} ({}): {}, {}{}{}{}\n", way_to(extender, remote),
               printable(text_of(remote, "remote")), address_of(remote),
               printable(text_of(remote, "session")), protection_of(remote), repair_of(remote),
               why.empty() ? "" : ": ", printable(why));
    std::size_t number = 0;
    for (const Json& path : list_of(remote, "paths"))
      print_path(path, ++number);
    if (!details) continue;
    for (const Json& lane : list_of(remote, "lanes")) {
      fmt::print("      lane {}: {} B sent, {} B more may be, {} B wait here\n",
                 number_of(lane, "vl"), number_of(lane, "sent_bytes"),
                 number_of(lane, "credit_bytes"), number_of(lane, "buffer_bytes"));
    }
    for (const auto& [name, value] : object_of(remote, "counters").items())
      fmt::print("      {} {}\n", printable(name), value.dump());
  }
  if (extender.contains("refused")) {
    fmt::print("    refused {}\n", printable(text_of(extender, "refused")));
  }
  if (const Json& roce = object_of(extender, "roce"); !roce.empty()) {
    fmt::print("    hosts on {}: {} known\n", printable(text_of(roce, "interface")),
               number_of(roce, "hosts"));
  }
  const Json& counters = object_of(object_of(extender, "router"), "counters");
  if (!counters.empty()) {
    std::vector<std::string> each;
    for (const auto& [name, count] : counters.items())
      each.push_back(printable(name) + ' ' + count.dump());
    fmt::print("    router: {}\n", fmt::join(each, ", "));
  }
}

}  // namespace

std::vector<Json> collect_labs(const std::vector<daemon::LabPaths>& labs, bool all,
                               std::vector<std::string>& complaints) {
  std::vector<Json> out;
  for (const daemon::LabPaths& lab : labs) {
    auto client = LabClient::connect(lab);
    auto report = client ? client->ask({{"do", "status"}, {"all", all}})
                         : Expected<Json>(tl::unexpected(client.error()));
    if (report) {
      out.push_back(std::move(*report));
    } else {
      complaints.push_back(report.error().message);
    }
  }
  return out;
}

void print_manager(const Json& sm) {
  fmt::print("  sm on {}: {}, {}, {} sweep{}\n", printable(text_of(sm, "node")),
             printable(text_of(sm, "state")), printable(text_of(sm, "engine")),
             number_of(sm, "sweeps"), number_of(sm, "sweeps") == 1 ? "" : "s");
  const std::string trouble = text_of(object_of(sm, "database"), "trouble");
  if (!trouble.empty()) fmt::print("    database: {}\n", printable(trouble));
  const Json& sweep = object_of(sm, "last_sweep");
  if (sweep.contains("engine_refused")) {
    fmt::print("    {}\n", printable(text_of(sweep, "engine_refused")));
  }
  for (const Json& problem : list_of(sweep, "problems")) {
    if (problem.is_string()) fmt::print("    {}\n", printable(problem.get<std::string>()));
  }
}

void print_lab(const Json& lab, bool details, const Style& style) {
  const Json& links = object_of(lab, "links");
  const std::string states = link_states_of(links);
  const auto routers = number_of(lab, "routers");
  const auto& extenders = list_of(lab, "extenders");
  fmt::print("{} pid {}", style.bold(fmt::format("lab {}:", title_of(lab))), number_of(lab, "pid"));
  if (number_of(lab, "switches") + number_of(lab, "cas") + routers == 0 && !extenders.empty()) {
    fmt::print(" extenders {}\n", extenders.size());
  } else {
    fmt::print(" switches {} cas {}{} links {}{}{}{}\n", number_of(lab, "switches"),
               number_of(lab, "cas"), routers == 0 ? "" : fmt::format(" routers {}", routers),
               number_of(links, "count"), states.empty() ? "" : " (", states,
               states.empty() ? "" : ")");
  }
  for (const Json& part : list_of(lab, "parts"))
    print_part(part);
  for (const Json& extender : extenders)
    print_extender(extender, details);
  if (lab.contains("sm")) print_manager(object_of(lab, "sm"));
  if (lab.contains("lan")) print_lan(object_of(lab, "lan"));
  for (const Json& service : list_of(lab, "services"))
    print_service(service);
  for (const Json& program : list_of(lab, "programs"))
    print_program(program);
  if (!details) return;
  for (const Json& node : list_of(lab, "nodes"))
    print_node(node);
  for (const Json& link : list_of(links, "each"))
    print_link_line(link);
}

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
// `weft sm`: what a subnet manager of a lab is, has done, and knows of paths.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/event_view.h"
#include "cli/lab_view.h"
#include "cli/report_view.h"
#include "cli/sm_place.h"
#include "cli/style.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

Expected<Json> request_of(const SmOptions& options) {
  const bool pair = options.action == "path" || options.action == "explain";
  if (pair != (options.from.empty() ? false : !options.to.empty())) {
    return fail(std::errc::invalid_argument,
                pair ? options.action + " wants two end ports, as in a d:2"
                     : fmt::format("{}: one word too many", options.from));
  }
  if (pair) {
    return Json{{"do", "sm"}, {"what", "path"}, {"from", options.from}, {"to", options.to}};
  }
  if (options.action == "metrics" && options.json) {
    return fail(std::errc::invalid_argument,
                "metrics has a form of its own; weft sm --json has the same numbers");
  }
  const auto is_one_of = [&](std::initializer_list<std::string_view> actions) {
    return std::find(actions.begin(), actions.end(), options.action) != actions.end();
  };
  if (is_one_of({"status", "history", "topology", "metrics"})) {
    return Json{{"do", "sm"}, {"what", options.action}};
  }
  return fail(std::errc::invalid_argument,
              fmt::format("{}: no such action (there are status, history, topology, metrics, path, "
                          "explain and run)",
                          options.action));
}

std::string rate_of(std::uint64_t mbps) {
  return mbps % 1000 == 0 ? fmt::format("{} Gb/s", mbps / 1000)
                          : fmt::format("{:.1f} Gb/s", static_cast<double>(mbps) / 1000);
}

void print_ends(const Json& path, const Style& style) {
  const Json& from = object_of(path, "from");
  const Json& to = object_of(path, "to");
  fmt::print("{} lid {} to {} lid {}", style.bold(printable(text_of(from, "at"))),
             number_of(from, "lid"), style.bold(printable(text_of(to, "at"))),
             number_of(to, "lid"));
  if (path.contains("beyond")) {
    fmt::print(", the router for {}", printable(text_of(path, "beyond")));
  }
  if (path.value("reachable", Json()) != Json(true)) {
    fmt::print(": {}\n", style.red("no way"));
    return;
  }
  fmt::print(": {} links", list_of(path, "hops").size());
  if (path.contains("mtu")) {
    fmt::print(", MTU {}, {}", number_of(path, "mtu"), rate_of(number_of(path, "rate_mbps")));
  }
  fmt::print(", SL {}", number_of(path, "sl"));
  if (path.contains("pkey")) {
    fmt::print(", P_Key {:#06x}\n", number_of(path, "pkey"));
  } else {
    fmt::print(", {}\n", style.red("no partition in common"));
  }
}

std::string reason_of(const Json& hop, const std::string& engine) {
  const std::uint64_t choices = number_of(hop, "choices");
  if (hop.value("detour", Json()) == Json(true)) {
    return fmt::format("not the nearest way: {} keeps it so, to stay free of deadlock", engine);
  }
  if (choices == 0) return "";
  if (choices == 1) return "the only port that leads nearer";
  return fmt::format("one of {} ports that lead as near; {} spreads LIDs over them", choices,
                     engine);
}

void print_hops(const Json& path) {
  const std::string engine = printable(text_of(path, "engine"));
  for (const Json& hop : list_of(path, "hops")) {
    const std::string link =
        fmt::format("{} -> {}", printable(text_of(hop, "out")), printable(text_of(hop, "in")));
    const std::string reason = reason_of(hop, engine);
    if (reason.empty()) {
      fmt::print("  {}\n", link);
    } else {
      fmt::print("  {:<28}  {}\n", link, reason);
    }
  }
}

// A point in time; where there is none, as much room.
std::string time_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return fmt::format("{:<19}", "-");
  return local_time(found->get<double>());
}

void print_history(const Json& events) {
  for (const Json& event : list_of(events, "events")) {
    const Json time = event.is_object() ? event.value("time", Json()) : Json();
    print_event(time.is_number() ? time.get<double>() : 0, text_of(event, "kind"),
                text_of(event, "text"), false);
  }
}

std::string end_text(const Json& link, const char* name) {
  const Json& end = object_of(link, name);
  return fmt::format("{} port {}", printable(text_of(end, "node")), number_of(end, "port"));
}

void print_topology(const Json& topology) {
  for (const Json& node : list_of(topology, "nodes")) {
    fmt::print("{}  {}  {:<6} {} ({})\n", time_of(node, "appeared"), time_of(node, "gone"),
               printable(text_of(node, "type")), printable(text_of(node, "guid")),
               printable(text_of(node, "description")));
  }
  for (const Json& link : list_of(topology, "links")) {
    fmt::print("{}  {}  {:<6} {} - {}\n", time_of(link, "up"), time_of(link, "down"), "link",
               end_text(link, "from"), end_text(link, "to"));
  }
}

// Line by line: no name in it reaches the terminal with anything that a terminal would act upon.
void print_metrics(const Json& report) {
  std::istringstream lines(text_of(report, "text"));
  for (std::string line; std::getline(lines, line);)
    fmt::print("{}\n", printable(line));
}

}  // namespace

int sm(const SmOptions& options) {
  const auto request = request_of(options);
  if (!request) return refuse("sm", request.error().message);
  const auto report = ask_manager_of(options.lab, options.node, options.port, *request);
  if (!report) return refuse("sm", report.error().message);
  const Style style = Style::for_stream(stdout);
  if (options.json) {
    print_json(*report);
  } else if (options.action == "status") {
    print_manager(*report);
    print_counters(object_of(*report, "smps"));
    print_counters(object_of(*report, "counters"));
  } else if (options.action == "history") {
    print_history(*report);
  } else if (options.action == "topology") {
    print_topology(*report);
  } else if (options.action == "metrics") {
    print_metrics(*report);
  } else {
    print_ends(*report, style);
    if (options.action == "explain") print_hops(*report);
  }
  return kOk;
}

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
// `weft service`: the data services of a lab, and what they have done.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/lab_client.h"
#include "cli/report_view.h"
#include "cli/service_view.h"
#include "cli/style.h"
#include "cli/table.h"
#include "daemon/service/firewall_rules.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// A lab in parts says it part by part.
Expected<Json> ask_services(const std::vector<daemon::LabPaths>& lab, const Json& request) {
  Json all = Json::array();
  for (const daemon::LabPaths& part : lab) {
    auto answer = ask_parts({part}, request);
    if (!answer) return tl::unexpected(answer.error());
    for (const Json& each : list_of(answer->report, "services"))
      all.push_back(each);
  }
  return Json{{"services", std::move(all)}};
}

std::string place_at(const Json& row) {
  const std::uint64_t port = number_of(row, "port");
  const std::string node = printable(text_of(row, "node"));
  return port <= 1 ? node : fmt::format("{}:{}", node, port);
}

std::string lids_of(const Json& row) {
  std::vector<std::string> lids;
  for (const Json& lid : list_of(row, "lids"))
    lids.push_back(lid.dump());
  return lids.empty() ? "-" : fmt::format("{}", fmt::join(lids, ","));
}

bool is_tap(const Json& row) {
  return row.value("tap", Json()) == Json(true);
}

bool is_dry_run(const Json& row) {
  return row.value("dry_run", Json()) == Json(true);
}

// Everything that was dropped, by its reason.
std::vector<std::pair<std::string, std::uint64_t>> drops_of(const Json& row) {
  std::vector<std::pair<std::string, std::uint64_t>> out;
  const auto add = [&out](std::string name, const Json& value) {
    if (value.is_number_unsigned()) out.emplace_back(std::move(name), value.get<std::uint64_t>());
  };
  // Of a firewall in front of it too.
  for (const Json* const of : {&object_of(row, "before"), &row}) {
    for (const auto& [name, value] : object_of(*of, "drops").items())
      add(name, value);
  }
  constexpr std::string_view kDrop = "drop_";
  for (const auto& [name, value] : object_of(row, "counters").items()) {
    // What services drop has reasons of theirs, above.
    if (name.starts_with(kDrop) && name != "drop_by_service") add(name.substr(kDrop.size()), value);
  }
  for (const char* name : {"no_memory", "not_sent"}) {
    const Json& counters = object_of(row, "port_counters");
    if (counters.contains(name)) add(name, counters[name]);
  }
  return out;
}

void print_services(const Json& services, const Style& style) {
  Table table({"SERVICE", "TYPE", "AT", "LIDS", "PACKETS", "FORWARDED", "DROPPED", "HELD", "WHY"});
  for (const Json& row : services) {
    const Json& counters = object_of(row, "counters");
    std::uint64_t dropped = 0;
    std::vector<std::string> why;
    for (const auto& [name, count] : drops_of(row)) {
      dropped += count;
      why.push_back(fmt::format("{} {}", printable(name), count));
    }
    if (is_dry_run(row)) {
      const std::uint64_t count = number_of(object_of(row, "service"), "would_drop");
      why.push_back(fmt::format("dry run: would drop {}", count));
    }
    table.add({printable(text_of(row, "name")), printable(text_of(row, "type")), place_at(row),
               is_tap(row) ? "copies" : lids_of(row),
               fmt::to_string(number_of(counters, "packets")),
               is_tap(row) ? "-" : fmt::to_string(number_of(counters, "forwarded")),
               fmt::to_string(dropped), fmt::to_string(number_of(row, "held")),
               why.empty() ? "-" : fmt::format("{}", fmt::join(why, ", "))});
  }
  fmt::print("{}", table.to_string(style));
  for (const Json& row : services) {
    if (!row.contains("why")) continue;
    fmt::print("{}\n", style.red(fmt::format("{} at {}: {}", printable(text_of(row, "name")),
                                             place_at(row), printable(text_of(row, "why")))));
  }
}

void print_details(const Json& row, const Style& style) {
  fmt::print("{}",
             style.bold(fmt::format("{} at {}:", printable(text_of(row, "name")), place_at(row))));
  fmt::print(" type {}{} lids {} held {} paths {}\n", printable(text_of(row, "type")),
             is_dry_run(row) ? " (dry run)" : "", is_tap(row) ? "copies" : lids_of(row),
             number_of(row, "held"), number_of(row, "paths"));
  if (row.contains("why")) fmt::print("  {}\n", style.red(printable(text_of(row, "why"))));
  for (const char* name : {"counters", "drops", "service", "port_counters", "filter"}) {
    const Json& counters = object_of(row, name);
    if (counters.empty()) continue;
    fmt::print("  {}\n", name);
    print_counters(counters);
  }
  print_service_details(object_of(row, "details"), style);
}

}  // namespace

void define_service(CLI::App& service, ServiceOptions& options) {
  service.add_option("NAME", options.name, "All that is known of this one; without it, a table");
  service
      .add_option("--lab", options.lab,
                  "The lab; not needed when only one runs; OWNER/LAB: another user's")
      ->option_text("LAB");
  service.add_flag("--json", options.json, "Print JSON");
}

int service(const ServiceOptions& options) {
  const auto lab = choose_running_lab(options.lab);
  if (!lab) return refuse("service", lab.error().message);
  const bool details = options.json || !options.name.empty();
  const auto report =
      ask_services(*lab, {{"do", "service"}, {"name", options.name}, {"details", details}});
  if (!report) return refuse("service", report.error().message);
  const Json& services = list_of(*report, "services");
  const Style style = Style::for_stream(stdout);
  if (options.json) {
    print_json(*report);
  } else if (services.empty()) {
    fmt::print("No data services run here: a lab file has them as [service.NAME]\n");
  } else if (options.name.empty()) {
    print_services(services, style);
  } else {
    for (const Json& row : services)
      print_details(row, style);
  }
  return kOk;
}

// Each part of a lab reads them for itself.
int service_reload(const ServiceOptions& options) {
  const auto lab = choose_running_lab(options.lab);
  if (!lab) return refuse("service", lab.error().message);
  Json rows = Json::array();
  std::vector<std::string> changed;
  for (const daemon::LabPaths& part : *lab) {
    const auto report =
        ask_services({part}, {{"do", "service"}, {"action", "reload"}, {"name", options.name}});
    if (!report) {
      const std::string what = changed.empty() ? "nothing is changed"
                                               : fmt::format("the rules are exchanged at {} only",
                                                             fmt::join(changed, ", "));
      return refuse("service", fmt::format("{}: {}", what, report.error().message));
    }
    for (const Json& row : list_of(*report, "services")) {
      rows.push_back(row);
      changed.push_back(place_at(row));
    }
  }
  if (rows.empty()) {
    return refuse("service", fmt::format("{} is at no port that is here", options.name));
  }
  if (options.json) {
    print_json(Json{{"services", rows}});
    return kOk;
  }
  for (const Json& row : rows) {
    const daemon::FirewallReload done{.rules = number_of(row, "rules"),
                                      .connections = number_of(row, "connections"),
                                      .forgotten = number_of(row, "forgotten")};
    fmt::print("{} at {}: {}\n", printable(text_of(row, "name")), place_at(row), to_string(done));
  }
  return kOk;
}

}  // namespace weft::cli

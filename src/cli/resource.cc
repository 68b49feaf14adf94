// SPDX-License-Identifier: Apache-2.0
// `weft resource`, in the manner of iproute2's `rdma resource`.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/report_view.h"
#include "cli/style.h"
#include "io/runtime_dir.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

struct Kind {
  const char* list;
  const char* count;
  std::vector<const char*> names;
};

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> table{
      {"qp", {"qps", "qp_count", {"lqpn", "type", "state", "pdn", "send_cqn", "recv_cqn"}}},
      {"cq", {"cqs", "cq_count", {"cqn", "cqe", "used", "polls"}}},
      {"mr", {"mrs", "mr_count", {"lkey", "rkey", "iova", "mrlen", "pdn"}}},
  };
  return table;
}

Json objects_json(const Reports& reports, const Kind& kind) {
  Json out = Json::array();
  for_each_device(reports, [&](const Json& process, const Json& device) {
    for (const Json& object : list_of(device, kind.list)) {
      if (!object.is_object()) continue;
      Json row = object;
      row["pid"] = process.value("pid", Json());
      row["comm"] = process.value("comm", Json());
      row["device"] = device.value("name", Json());
      out.push_back(std::move(row));
    }
  });
  return out;
}

void print_objects(const Reports& reports, const Kind& kind, bool details) {
  for_each_device(reports, [&](const Json& process, const Json& device) {
    const std::string owner =
        printable(fmt::format("pid {} comm {}", text_of(process, "pid"), text_of(process, "comm")));
    for (const Json& object : list_of(device, kind.list)) {
      if (!object.is_object()) continue;
      fmt::print("link {}/1 {} {}\n", printable(text_of(device, "name")),
                 members(object, kind.names), owner);
      if (!details) continue;
      if (const auto access = object.find("access"); access != object.end()) {
        fmt::print("    access {}\n", printable(access->dump()));
      }
      print_counters(object_of(object, "counters"));
    }
  });
}

// The host agent has these, not the programs.
Json identifiers(const Reports& reports) {
  Json out = Json::array();
  for (const Json& agent : reports.agents) {
    for (const Json& wire : list_of(agent, "wires")) {
      for (const Json& identifier : list_of(wire, "cm_ids")) {
        if (!identifier.is_object()) continue;
        out.push_back(identifier);
        out.back()["wire"] = wire.value("wire", Json());
      }
    }
  }
  return out;
}

void print_identifiers(const Json& identifiers, bool details) {
  static const std::vector<const char*> names{"wire", "cm_idn", "lqpn", "type",     "state",
                                              "ps",   "pid",    "comm", "src_addr", "dst_addr"};
  static const std::vector<const char*> more{"cm_state", "rqpn"};
  for (const Json& identifier : identifiers) {
    fmt::print("{}\n", members(identifier, names));
    if (details) fmt::print("    {}\n", members(identifier, more));
  }
}

Json summary_json(const Reports& reports) {
  Json out = Json::array();
  for_each_device(reports, [&](const Json& process, const Json& device) {
    Json row{{"device", device.value("name", Json())},
             {"pid", process.value("pid", Json())},
             {"comm", process.value("comm", Json())},
             {"wire", process.value("wire", Json())},
             {"port_counters", device.value("port_counters", Json::object())}};
    for (const auto& [name, kind] : kinds())
      row[name] = device.value(kind.count, Json(0));
    out.push_back(std::move(row));
  });
  return out;
}

void print_summary(const Reports& reports, bool details, const Style& style) {
  std::size_t shown = 0;
  for_each_device(reports, [&](const Json& process, const Json& device) {
    const std::string head =
        fmt::format("{}: {}:", text_of(process, "pid"), text_of(device, "name"));
    fmt::print("{} qp {} cq {} mr {} comm {} wire {}\n", style.bold(printable(head)),
               printable(text_of(device, "qp_count")), printable(text_of(device, "cq_count")),
               printable(text_of(device, "mr_count")), printable(text_of(process, "comm")),
               printable(text_of(process, "wire")));
    if (details) print_counters(object_of(device, "port_counters"));
    ++shown;
  });
  if (shown == 0) fmt::print("No program has a Weft device open.\n");
}

}  // namespace

int resource(const ResourceOptions& options) {
  const bool of_agents = options.show == "cm_id";
  const auto directories = io::runtime_directories();
  const Reports reports = of_agents ? collect_agents(directories) : collect_reports(directories);
  if (of_agents) {
    const Json all = identifiers(reports);
    options.json ? print_json(all) : print_identifiers(all, options.details);
  } else if (options.json) {
    print_json(options.show.empty() ? summary_json(reports)
                                    : objects_json(reports, kinds().at(options.show)));
  } else if (options.show.empty()) {
    print_summary(reports, options.details, Style::for_stream(stdout));
  } else {
    print_objects(reports, kinds().at(options.show), options.details);
  }
  return complain("resource", reports);
}

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
// `weft resource`, in the manner of iproute2's `rdma resource`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/report_client.h"
#include "cli/style.h"
#include "io/runtime_dir.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// Reports come from other processes: a missing or odd member reads as nothing.
std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "?";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

const Json& list_of(const Json& object, const char* name) {
  static const Json empty = Json::array();
  if (!object.is_object()) return empty;
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : empty;
}

// Names come from other processes too: nothing that a terminal would act upon.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

template <class F>
void for_each_device(const Reports& reports, F each) {
  for (const Json& process : reports.processes) {
    for (const Json& device : list_of(process, "devices")) {
      if (device.is_object()) each(process, device);
    }
  }
}

// "lqpn 49153 type UD …": the members of an object in the order of `names`, then its owner.
std::string object_line(const Json& process, const Json& device, const Json& object,
                        const std::vector<const char*>& names) {
  std::string line = fmt::format("link {}/1", text_of(device, "name"));
  for (const char* name : names)
    line += fmt::format(" {} {}", name, text_of(object, name));
  return printable(
      line + fmt::format(" pid {} comm {}", text_of(process, "pid"), text_of(process, "comm")));
}

void print_counters(const Json& object, const char* name) {
  const auto counters = object.find(name);
  if (counters == object.end() || !counters->is_object()) return;
  for (const auto& [counter, value] : counters->items()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() == 0) continue;
    fmt::print("    {} {}\n", printable(counter), printable(value.dump()));
  }
}

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
    for (const Json& object : list_of(device, kind.list)) {
      if (!object.is_object()) continue;
      fmt::print("{}\n", object_line(process, device, object, kind.names));
      if (!details) continue;
      if (const auto access = object.find("access"); access != object.end()) {
        fmt::print("    access {}\n", printable(access->dump()));
      }
      print_counters(object, "counters");
    }
  });
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
    if (details) print_counters(device, "port_counters");
    ++shown;
  });
  if (shown == 0) fmt::print("No program has a Weft device open.\n");
}

}  // namespace

int resource(const ResourceOptions& options) {
  const Reports reports = collect_reports(io::runtime_directories());
  if (options.json) {
    const Json out = options.show.empty() ? summary_json(reports)
                                          : objects_json(reports, kinds().at(options.show));
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
  } else if (options.show.empty()) {
    print_summary(reports, options.details, Style::for_stream(stdout));
  } else {
    print_objects(reports, kinds().at(options.show), options.details);
  }
  for (const std::string& complaint : reports.complaints) {
    fmt::print(stderr, "weft resource: {}\n", printable(complaint));
  }
  return reports.complaints.empty() ? kOk : kProblem;
}

}  // namespace weft::cli

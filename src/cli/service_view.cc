// SPDX-License-Identifier: Apache-2.0
#include "cli/service_view.h"

#include <fmt/format.h>

#include <string>

#include "base/quantity.h"
#include "cli/event_view.h"
#include "cli/report_view.h"
#include "cli/table.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

std::string microseconds(const Json& latency, const char* name) {
  return fmt::format("{:.1f}us", static_cast<double>(number_of(latency, name)) / 1e3);
}

std::string byte_rate_text(std::uint64_t bytes_per_s) {
  return quantity_text(bytes_per_s, kRateUnits);
}

void print_monitor(const Json& details, const Style& style) {
  const Json& rate = object_of(details, "rate");
  fmt::print("  {} packets/s, {}\n", number_of(rate, "packets_per_s"),
             byte_rate_text(number_of(rate, "bytes_per_s")));
  Table flows({"FROM", "TO", "QP", "BYTES", "LATENCIES", "LEAST", "MEAN", "MOST"});
  for (const Json& flow : list_of(details, "flows")) {
    const Json& latency = object_of(flow, "latency");
    const bool known = !latency.empty();
    flows.add({printable(text_of(flow, "from")), printable(text_of(flow, "to")),
               fmt::format("{:#x}", number_of(flow, "dest_qp")),
               fmt::to_string(number_of(flow, "bytes")),
               known ? fmt::to_string(number_of(latency, "samples")) : "-",
               known ? microseconds(latency, "least_ns") : "-",
               known ? microseconds(latency, "mean_ns") : "-",
               known ? microseconds(latency, "most_ns") : "-"});
  }
  fmt::print("{}", flows.to_string(style));
  Table senders({"SENDER", "BYTES"});
  for (const Json& sender : list_of(details, "senders"))
    senders.add({printable(text_of(sender, "from")), fmt::to_string(number_of(sender, "bytes"))});
  fmt::print("{}", senders.to_string(style));
}

void print_limiter(const Json& details, const Style& style) {
  Table table({"TENANT", "RATE", "BURST", "PACKETS", "BYTES", "DROPPED"});
  for (const Json& tenant : list_of(details, "tenants")) {
    table.add(
        {printable(text_of(tenant, "tenant")), byte_rate_text(number_of(tenant, "bytes_per_s")),
         size_text(number_of(tenant, "burst")), fmt::to_string(number_of(tenant, "packets")),
         fmt::to_string(number_of(tenant, "bytes")), fmt::to_string(number_of(tenant, "dropped"))});
  }
  fmt::print("{}", table.to_string(style));
}

void print_firewall(const Json& details, const Style& style) {
  Table table({"CHAIN", "LINE", "ACTION", "PACKETS", "BYTES", "COMMENT"});
  for (const Json& rule : list_of(details, "rules")) {
    table.add({printable(text_of(rule, "chain")), fmt::to_string(number_of(rule, "line")),
               printable(text_of(rule, "action")), fmt::to_string(number_of(rule, "packets")),
               fmt::to_string(number_of(rule, "bytes")),
               rule.contains("comment") ? printable(text_of(rule, "comment")) : "-"});
  }
  const Json& policy = object_of(details, "policy");
  table.add({"policy", "-", printable(text_of(policy, "action")),
             fmt::to_string(number_of(policy, "packets")),
             fmt::to_string(number_of(policy, "bytes")), "-"});
  fmt::print("{}", table.to_string(style));
  for (const Json& line : list_of(details, "log")) {
    fmt::print("  {} {}\n", local_time(static_cast<double>(number_of(line, "time"))),
               printable(text_of(line, "line")));
  }
}

}  // namespace

void print_service_details(const Json& details, const Style& style) {
  if (details.contains("flows") && details["flows"].is_array()) print_monitor(details, style);
  if (details.contains("tenants")) print_limiter(details, style);
  if (details.contains("rules")) print_firewall(details, style);
  if (details.contains("file")) {
    fmt::print("  {} of {} files that are used in turn\n", printable(text_of(details, "file")),
               number_of(details, "files"));
  }
}

}  // namespace weft::cli

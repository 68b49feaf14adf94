// SPDX-License-Identifier: Apache-2.0
// `weft link`: looks at a link of a lab, and changes what its cable does.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/lab_client.h"
#include "cli/report_view.h"
#include "cli/style.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

void print_link(const Json& link) {
  const Style style = Style::for_stream(stdout);
  const bool plugged = link.value("plugged", Json()) == Json(true);
  const std::string emulation = printable(text_of(link, "emulation"));
  fmt::print("{} {}{}{}\n", style.bold(printable(text_of(link, "name")) + ":"),
             plugged ? "state " + printable(text_of(link, "state")) : "unplugged",
             emulation.empty() ? "" : " degraded ", emulation);
  print_counters(object_of(link, "counters"));
  for (const Json& end : list_of(link, "ends")) {
    fmt::print("  {} state {} physical_state {}\n", printable(text_of(end, "at")),
               printable(text_of(end, "state")), printable(text_of(end, "physical_state")));
    print_counters(object_of(end, "counters"));
  }
}

Expected<Json> request_of(const LinkOptions& options) {
  if (options.action == "show") return Json{{"do", "link"}, {"link", options.link}};
  if (options.action == "up" || options.action == "down") {
    return Json{{"do", "set"}, {"link", options.link}, {"plugged", options.action == "up"}};
  }
  if (options.action == "degrade" && !options.value.empty()) {
    const std::string list = options.value == "none" ? "" : options.value;
    return Json{{"do", "set"}, {"link", options.link}, {"emulation", list}};
  }
  return fail(std::errc::invalid_argument,
              options.action == "degrade"
                  ? "degrade wants a list, as in loss=1%,delay=2ms,seed=7, or none"
                  : fmt::format("{}: no such action (there are show, down, up and degrade)",
                                options.action));
}

}  // namespace

int link(const LinkOptions& options) {
  const auto request = request_of(options);
  if (!request) return refuse("link", request.error().message);
  if (options.action != "degrade" && !options.value.empty()) {
    return refuse("link", options.value + ": one word too many");
  }
  const auto report = ask_lab(options.lab, *request);
  if (!report) return refuse("link", report.error().message);
  if (options.json) {
    print_json(*report);
  } else if (options.action == "show") {
    print_link(*report);
  }
  return kOk;
}

}  // namespace weft::cli

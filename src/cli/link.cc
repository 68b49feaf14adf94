// SPDX-License-Identifier: Apache-2.0
// `weft link`: looks at a link of a lab, and changes what its cable does; `weft link conform` is
// in conform.cc.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/conform.h"
#include "cli/lab_client.h"
#include "cli/negotiation_view.h"
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
  const Json& beyond = object_of(link, "beyond");
  if (!beyond.empty()) {
    fmt::print("  to part {} by {}\n", printable(text_of(beyond, "part")),
               printable(text_of(beyond, "carrier")));
    print_counters(object_of(beyond, "counters"));
  }
  for (const Json& end : list_of(link, "ends")) {
    if (!end.contains("state")) {
      fmt::print("  {} in part {}\n", printable(text_of(end, "at")),
                 printable(text_of(end, "part")));
      continue;
    }
    fmt::print("  {} state {} physical_state {}\n", printable(text_of(end, "at")),
               printable(text_of(end, "state")), printable(text_of(end, "physical_state")));
    print_counters(object_of(end, "counters"));
  }
  if (link.contains("negotiation")) print_negotiation(object_of(link, "negotiation"));
}

Expected<void> write_svg(const Json& link, const std::string& path) {
  if (!link.contains("negotiation")) {
    return fail(std::errc::invalid_argument,
                "its ports negotiate nothing: speed = \"auto\" in the lab file lets them");
  }
  std::ofstream file(path, std::ios::trunc);
  file << sweep_svg(object_of(link, "negotiation"), text_of(link, "name"));
  file.close();
  if (!file) return fail(std::errc::io_error, path + ": cannot be written");
  return {};
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

// `weft link show NAME` says the same as `weft link NAME show`.
LinkOptions in_order(LinkOptions options) {
  constexpr std::array<std::string_view, 4> kActions{"show", "up", "down", "degrade"};
  const bool action = std::find(kActions.begin(), kActions.end(), options.action) != kActions.end();
  if (options.link == "show" && !action) std::swap(options.link, options.action);
  return options;
}

// What the part that has the other half of the link says of its end.
void complete(Json& link, const Json& other) {
  const Json& theirs = list_of(other, "ends");
  Json& ends = link["ends"];
  for (std::size_t i = 0; i < ends.size() && i < theirs.size(); ++i) {
    if (!ends[i].contains("state")) ends[i] = theirs[i];
  }
}

// Of a link between two parts each has a half, and what is done to the link is done to both.
int do_at_other_half(const std::vector<daemon::LabPaths>& lab, const Json& request,
                     const LinkOptions& options, Json& report) {
  if (!report.contains("beyond")) return kOk;
  const std::string part = text_of(report["beyond"], "part");
  const daemon::LabPaths* const other = find_part(lab, part);
  if (other != nullptr) {
    const auto answer = ask_parts({*other}, request);
    if (!answer) return refuse("link", answer.error().message);
    complete(report, answer->report);
  } else if (options.action == "degrade") {
    fmt::print(stderr,
               "weft link: what part {} sends on this link stays as it is: the part does not run "
               "here, and is to be told there\n",
               printable(part));
  }
  return kOk;
}

// A link that is called conform has the other actions, and `weft link show conform`.
bool wants_conform(const LinkOptions& words) {
  constexpr std::array<std::string_view, 3> kChanges{"up", "down", "degrade"};
  return words.link == "conform" &&
         std::find(kChanges.begin(), kChanges.end(), words.action) == kChanges.end();
}

}  // namespace

void define_link(CLI::App& link, LinkOptions& options) {
  link.add_option("LINK", options.link, "Its name, or one of its ends as in leaf1:3; or conform")
      ->required();
  link.add_option("ACTION", options.action,
                  "show (default), up, down or degrade; of conform, a link whose ports to judge");
  link.add_option("LIST", options.value, "Of degrade: loss=1%,delay=2ms,seed=7; or none");
  link.add_option("--lab", options.lab,
                  "The lab; not needed when only one runs; OWNER/LAB: another user's")
      ->option_text("LAB");
  link.add_option("--svg", options.svg,
                  "Of show: draw what the ports of a link with speed = \"auto\" measured")
      ->option_text("FILE");
  link.add_option("--role", options.role,
                  "Of conform: what Weft's own port is: requester, responder or both (default)")
      ->option_text("ROLE");
  link.add_option("--capture", options.capture,
                  "Of conform: judge the ports of this capture of a link")
      ->option_text("FILE");
  link.add_option("--replay", options.replay,
                  "Of conform: play a flow diagram of the specification, 1, 2 or 3")
      ->option_text("NUMBER");
  link.add_flag("--json", options.json, "Print JSON");
}

int link(const LinkOptions& words) {
  if (wants_conform(words)) {
    if (!words.value.empty()) return refuse("link", words.value + ": one word too many");
    if (!words.svg.empty()) return refuse("link", "--svg goes with show");
    return conform(words);
  }
  if (!words.role.empty() || !words.capture.empty() || words.replay) {
    return refuse("link", "--role, --capture and --replay go with conform");
  }
  const LinkOptions options = in_order(words);
  const auto request = request_of(options);
  if (!request) return refuse("link", request.error().message);
  if (options.action != "degrade" && !options.value.empty()) {
    return refuse("link", options.value + ": one word too many");
  }
  if (!options.svg.empty() && options.action != "show") {
    return refuse("link", "--svg goes with show");
  }
  const auto lab = choose_running_lab(options.lab);
  if (!lab) return refuse("link", lab.error().message);
  auto answer = ask_parts(*lab, *request);
  if (!answer) return refuse("link", answer.error().message);
  Json& report = answer->report;
  if (const int other = do_at_other_half(*lab, *request, options, report); other != kOk) {
    return other;
  }
  if (!options.svg.empty()) {
    if (const auto done = write_svg(report, options.svg); !done) {
      return refuse("link", done.error().message);
    }
  }
  if (options.json) {
    print_json(report);
  } else if (options.action == "show" && options.svg.empty()) {
    print_link(report);
  }
  return kOk;
}

}  // namespace weft::cli

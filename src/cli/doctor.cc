// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/finding.h"
#include "cli/style.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

const char* name(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kNote:
      return "note";
    case Level::kProblem:
      return "problem";
  }
  return "unknown";
}

std::string coloured(Level level, const Style& style) {
  const std::string text = fmt::format("{:<7}", name(level));
  switch (level) {
    case Level::kOk:
      return style.green(text);
    case Level::kNote:
      return style.yellow(text);
    case Level::kProblem:
      break;
  }
  return style.red(text);
}

std::size_t count(const Findings& findings, Level level) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.level == level; }));
}

void print_json(const Findings& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"level", name(finding.level)},
                    {"text", finding.text},
                    {"remedy", finding.remedy}});
  }
  const Json out = {{"findings", std::move(list)},
                    {"problems", count(findings, Level::kProblem)},
                    {"notes", count(findings, Level::kNote)}};
  fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const Findings& findings) {
  const Style style = Style::for_stream(stdout);
  std::size_t width = 0;
  for (const Finding& finding : findings)
    width = std::max(width, finding.check.size());
  for (const Finding& finding : findings) {
    fmt::print("{}  {:<{}}  {}\n", coloured(finding.level, style), finding.check, width,
               finding.text);
    if (!finding.remedy.empty()) {
      fmt::print("{:{}}-> {}\n", "", width + 11, style.bold(finding.remedy));
    }
  }
  const std::size_t problems = count(findings, Level::kProblem);
  if (problems == 0) {
    fmt::print("\nReady: weft run -- PROGRAM\n");
  } else {
    fmt::print("\n{} problem{} found.\n", problems, problems == 1 ? "" : "s");
  }
}

}  // namespace

int doctor(const DoctorOptions& options) {
  Findings findings;
  const auto add = [&](Findings more) {
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  };
  const auto config = host::read_config_from_environment();
  if (!config) {
    findings.push_back({"environment", Level::kProblem, config.error().message,
                        "unset it, or set one of these values"});
  }
  const host::Config effective = config.value_or(host::Config{});
  add(check_host(effective));
  add(check_network(effective));
  if (!options.program.empty()) add(check_program(options.program));
  if (options.json) {
    print_json(findings);
  } else {
    print_text(findings);
  }
  return count(findings, Level::kProblem) == 0 ? kOk : kProblem;
}

}  // namespace weft::cli

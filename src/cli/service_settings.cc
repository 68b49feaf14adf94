// SPDX-License-Identifier: Apache-2.0
#include "cli/service_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/suggest.h"
#include "fabric/lab_service_settings.h"

namespace weft::cli {

void define_service_settings(CLI::App& command, ServiceSettings& settings, const std::string& of) {
  command.add_option("--rules", settings.rules, of + "the rules of a firewall or router")
      ->option_text("FILE");
  command.add_flag("--dry-run", settings.dry_run,
                   of + "a firewall forwards what it drops, and counts it");
  command
      .add_option("--set", settings.set,
                  of + "a key of [service.NAME] in a lab file, as in rate=1Gb/s; once for each")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
}

Expected<fabric::LabService> service_of(const std::string& type, const ServiceSettings& settings) {
  const auto types = daemon::types_outside();
  const bool known = std::ranges::find(types, type) != types.end();
  const bool in_lab = std::ranges::find(fabric::kServiceTypes, type) != fabric::kServiceTypes.end();
  if (!known && in_lab) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: does not work here; there are {}", type, fmt::join(types, ", ")));
  }
  if (!known) {
    return fail(
        std::errc::invalid_argument,
        fmt::format("{}: no such service{} (there are {})", type,
                    did_you_mean(type, {types.begin(), types.end()}), fmt::join(types, ", ")));
  }
  if (!settings.rules.empty() && type != "firewall" && type != "router") {
    return fail(std::errc::invalid_argument,
                fmt::format("--rules are of a firewall or router, and this is a {}", type));
  }
  if (settings.dry_run && type != "firewall") {
    return fail(std::errc::invalid_argument,
                fmt::format("--dry-run is of a firewall, and this is a {}", type));
  }
  auto service = fabric::service_of_settings(type, settings.set);
  if (!service) return service;
  if (!settings.rules.empty()) service->rules = settings.rules;
  if (settings.dry_run) service->dry_run = true;
  return service;
}

}  // namespace weft::cli

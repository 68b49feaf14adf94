// SPDX-License-Identifier: Apache-2.0
// What is said of a data service that works outside of a lab's daemon: of `weft service run` and
// `weft serve` alike.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/service/service_maker.h"
#include "fabric/lab_service.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct ServiceSettings {
  std::string
      rules;  // of a firewall or router: a file; empty: a firewall's usual ones, no router's
  bool dry_run = false;          // of a firewall
  std::vector<std::string> set;  // "KEY=VALUE", keys of [service.NAME]
  [[nodiscard]] bool any() const { return !rules.empty() || dry_run || !set.empty(); }
};

// --rules, --dry-run and --set. `of`: what stands before what each means, as in "Of run: ".
void define_service_settings(CLI::App& command, ServiceSettings& settings, const std::string& of);

// Errors: no such type, or one that does not work there; what it cannot be told.
[[nodiscard]] Expected<fabric::LabService> service_of(const std::string& type,
                                                      const ServiceSettings& settings);

}  // namespace weft::cli

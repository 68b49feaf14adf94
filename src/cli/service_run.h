// SPDX-License-Identifier: Apache-2.0
// `weft service run`: a data service as a process, on a node of a lab.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/service_settings.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct ServiceRunOptions {
  std::string type;                 // of daemon::types_outside()
  std::string lab;                  // empty: the only one
  std::optional<std::string> node;  // nothing: where `weft run --node` runs this
  ServiceSettings settings;
  std::vector<unsigned> ports;
  std::optional<unsigned> threads;
  std::vector<unsigned> cores;
  std::optional<std::string> pair;  // a node
  bool json = false;

  // Whether any is given that other actions of `weft service` do not have.
  [[nodiscard]] bool any() const {
    return node || threads || pair || settings.any() || !cores.empty() || !ports.empty();
  }
};

// The words that it takes beside those of `weft service`.
void define_service_run(CLI::App& service, ServiceRunOptions& run);

// Until it is interrupted. The exit status.
int service_run(const ServiceRunOptions& options);

}  // namespace weft::cli

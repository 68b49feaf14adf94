// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weft::cli {

// What the running programs whose sockets are in `directories` say about themselves, by pid. The
// socket of a program that died without removing it is removed; one that does not answer in a
// second, or answers nonsense, is told in `complaints`, and so is a directory that cannot be read.
struct Reports {
  std::vector<nlohmann::json> processes;
  std::vector<nlohmann::json> agents;
  std::vector<std::string> complaints;
};
Reports collect_reports(const std::vector<std::string>& directories);
// The same of host agents, of this network namespace and of others. None is started.
Reports collect_agents(const std::vector<std::string>& directories);

}  // namespace weft::cli

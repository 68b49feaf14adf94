// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace weft::cli {

// What the running programs whose sockets are in `directory` say about themselves, by pid. The
// socket of a program that died without removing it is removed; one that does not answer in a
// second, or answers nonsense, is told in `complaints`.
struct Reports {
  std::vector<nlohmann::json> processes;
  std::vector<std::string> complaints;
};
Expected<Reports> collect_reports(const std::string& directory);

}  // namespace weft::cli

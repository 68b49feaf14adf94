// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/config.h"

namespace weft::cli {

enum class Level : std::uint8_t {
  kOk,
  kNote,     // works, but slower or with less than there could be
  kProblem,  // something that Weft is for does not work
};

// What a check of `weft doctor` found.
struct Finding {
  std::string check;  // a short name: "ports"
  Level level = Level::kOk;
  std::string text;    // what is the case
  std::string remedy;  // what to change; empty when nothing
};
using Findings = std::vector<Finding>;

// Each looks at one side of the machine and changes nothing.
Findings check_network(const host::Config& config);
Findings check_host(const host::Config& config);
Findings check_program(const std::string& program);

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
// What services of each type know beside their counters: "details" of docs/cli.md, for people.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/style.h"

namespace weft::cli {

void print_service_details(const nlohmann::json& details, const Style& style);

}  // namespace weft::cli

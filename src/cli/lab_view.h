// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/report_client.h"
#include "cli/style.h"
#include "daemon/lab/lab_paths.h"

namespace weft::cli {

// What these labs say about themselves, with `all` each of their nodes and links; a lab that does
// not answer is told in `complaints`.
std::vector<nlohmann::json> collect_labs(const std::vector<daemon::LabPaths>& labs, bool all,
                                         std::vector<std::string>& complaints);

// What its subnet manager says: "  sm on s1: MASTER, minhop, 3 sweeps", and what the last sweep
// could not do.
void print_manager(const nlohmann::json& sm);

// A line for a lab; with `details` one for each port of its nodes and each of its links, too.
void print_lab(const nlohmann::json& lab, bool details, const Style& style);

}  // namespace weft::cli

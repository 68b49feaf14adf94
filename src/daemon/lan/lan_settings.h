// SPDX-License-Identifier: Apache-2.0
// What somebody asks for at a running lab, and what this process needs for it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "fabric/lab.h"
#include "fabric/lab_lan.h"

namespace weft::daemon {

// Changes what `options`, an object with members as LabLan's, names. invalid_argument: one of them
// is none, or what it is to be cannot be.
Expected<void> change_lan(fabric::LabLan& lan, const nlohmann::json& options);

// The file of a network namespace as lab files name it: those with names are where ip netns has
// them. Empty: this process's own.
[[nodiscard]] std::string netns_file(const std::string& netns);

// Why interfaces of these nodes will not be made: sentences.
[[nodiscard]] std::vector<std::string> missing_for_lan(
    const std::vector<const fabric::LabNode*>& nodes);

}  // namespace weft::daemon

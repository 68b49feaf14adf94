// SPDX-License-Identifier: Apache-2.0
// The rules that a subnet manager has just now, as a lab file has them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"

namespace weft::cli {

// `report`: what a manager answers to "list" (docs/cli.md). Errors: a rule names a port that the
// subnet does not have just now, which is known by its GUID alone.
Expected<std::string> rules_text(const nlohmann::json& report);

}  // namespace weft::cli

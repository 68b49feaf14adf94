// SPDX-License-Identifier: Apache-2.0
// How the ports of a link came to their speed, as `weft link` shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::cli {

// Of a link's report its part "negotiation": the timeline, and a table of what the sweep saw.
void print_negotiation(const nlohmann::json& negotiation);

// A picture of the sweep: for each end a field of its receive configurations by iterations, the
// darker the more the eye is open.
[[nodiscard]] std::string sweep_svg(const nlohmann::json& negotiation, const std::string& link);

}  // namespace weft::cli

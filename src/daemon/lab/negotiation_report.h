// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/time.h"
#include "phy/ddr_link/ddr_link.h"

namespace weft::daemon {

// What the ports of a link negotiated, and how, and what has arrived wrong by `now`, as JSON;
// docs/cli.md has its form. `names` are those of its ends.
[[nodiscard]] nlohmann::json negotiation_report(phy::DdrLink& link,
                                                const std::array<std::string, 2>& names, Time now);

}  // namespace weft::daemon

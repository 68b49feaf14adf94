// SPDX-License-Identifier: Apache-2.0
// `weft link conform`: whether ports keep to the DDR auto-negotiation specification.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/commands.h"
#include "phy/conformance/exchange.h"
#include "phy/conformance/story.h"

namespace weft::cli {

// `options.action` is the link of a running lab that is to be judged; "show": none.
int conform(const LinkOptions& options);

// Of a link's report its part "negotiation", as docs/cli.md has it: its timeline. What is odd in it
// is left out.
[[nodiscard]] phy::conformance::Exchange timeline_exchange(const nlohmann::json& negotiation);
// The parameters of clause 2.2 that one of its ends has; what is odd or missing is as is usual.
[[nodiscard]] phy::conformance::Rules timeline_rules(const nlohmann::json& end);

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "wan/line/ppp/control_table.h"

namespace weft::wan {

// As RFC 1661 names them: "Req-Sent", "RCR+".
[[nodiscard]] std::string_view to_text(ControlState state);
[[nodiscard]] std::string_view to_text(ControlEvent event);

// The table in Markdown, as RFC 1661 prints it: rows are events, columns states, and a cell is
// actions and the number of the next state, or "-". docs/wan-gfp-ppp.md has a copy.
[[nodiscard]] std::string control_table_text();

}  // namespace weft::wan

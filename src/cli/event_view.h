// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::cli {

// "2026-11-21 22:30:12"; `time`: seconds since 1970.
[[nodiscard]] std::string local_time(double time);

// What a subnet manager said, as a line on stdout: "2026-11-21 22:30:12  state      entering MASTER
// state", or with `json` as one JSON document. `time`: seconds since 1970. Nothing of it does
// anything to a terminal.
void print_event(double time, const std::string& kind, const std::string& text, bool json);

}  // namespace weft::cli

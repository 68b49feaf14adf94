// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/error.h"

namespace weft::io {

// WEFT_LOG=off|error|info, read once. `error` (the default) is what somebody must act on, such as
// a range of UDP ports that is used up; `info` adds why a call refused its arguments.
enum class LogLevel { kOff, kError, kInfo };

[[nodiscard]] LogLevel log_level();
// One line on stderr, "weft: …", in one write.
void log(LogLevel level, std::string_view message);
// The same, whatever WEFT_LOG says, for what others can cause at will: nobody waits for whoever
// reads stderr. False: it has not been written.
[[nodiscard]] bool try_log(std::string_view message);

// Logs `error` at the level that suits it; returns the errno that a call reports for it. Also sets
// errno, which programs print more often than the return value.
int report(const Error& error);
// The same for a refusal that needs no message.
int report(int error_number);

}  // namespace weft::io

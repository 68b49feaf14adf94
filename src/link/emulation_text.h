// SPDX-License-Identifier: Apache-2.0
// What a link is made to look like, as lab files and the command line say it:
// "rate=2.5Gb/s,delay=2ms,loss=1%,seed=7".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "link/emulation.h"

namespace weft::link {

// rate, delay, loss and so on.
[[nodiscard]] const std::vector<std::string_view>& emulation_names();

// Changes one of them. The error does not name it: "must be a time in ns, us, ms or s, as in 2ms".
[[nodiscard]] Expected<void> set_emulation(Emulation& emulation, std::string_view name,
                                           std::string_view value);

// `base` with the settings of a list; "none" stands for as it is without emulation. Errors name
// the setting and what it may be.
[[nodiscard]] Expected<Emulation> parse_emulation(std::string_view list, const Emulation& base);

// Those that are set, so that set_emulation() gives the same again.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> emulation_settings(
    const Emulation& emulation);
// As a list; empty when there is no emulation.
[[nodiscard]] std::string to_string(const Emulation& emulation);

}  // namespace weft::link

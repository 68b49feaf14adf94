// SPDX-License-Identifier: Apache-2.0
// What a lab says about itself, as JSON; docs/cli.md has its form.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "base/time.h"
#include "fabric/fabric.h"

namespace weft::daemon {

enum class LabDetail : std::uint8_t {
  kSummary,  // how many nodes and links there are, and in which states
  kAll,      // each of them
};
[[nodiscard]] nlohmann::json lab_report(fabric::Fabric& fabric, LabDetail detail, Time now);

// One link with its ends, states, emulation and counters.
[[nodiscard]] nlohmann::json link_report(fabric::Fabric& fabric, std::size_t link, Time now);
// The same, and how its ports negotiated, where they did.
[[nodiscard]] nlohmann::json link_details(fabric::Fabric& fabric, std::size_t link, Time now);

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// Subnet managers that are processes on the nodes of a lab, `weft sm run`: where they are, and what
// they answer.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "umad/connection.h"

namespace weft::cli {

// The node of a lab, "" for the only one that runs; nothing: the one that `weft run --node` runs
// this on.
Expected<umad::Place> manager_place(const std::string& lab, const std::optional<std::string>& node);

// One question to the manager at the port of a node; nothing: its usual one. Errors: there is no
// such node or port, or no manager at it; these say where there are any.
Expected<nlohmann::json> ask_manager(const umad::Place& place, std::optional<std::uint32_t> port,
                                     const nlohmann::json& request);

// One question to the manager of a lab: to its own, or where a node or a port is named, to the
// process there.
Expected<nlohmann::json> ask_manager_of(const std::string& lab,
                                        const std::optional<std::string>& node,
                                        std::optional<std::uint32_t> port,
                                        const nlohmann::json& request);

}  // namespace weft::cli

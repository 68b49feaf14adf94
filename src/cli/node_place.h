// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/launch.h"
#include "umad/connection.h"

namespace weft::cli {

// A node of a running lab, as `weft run --node` means it.
struct NodePlace {
  umad::Place place;
  umad::Adapter adapter;  // as it is now
};

// The lab that --lab names, or the only one that runs. The message says what is wrong in terms of
// the options.
Expected<NodePlace> find_node_place(const RunOptions& options);
// The same, without options that do not go with it. `lab` as daemon::choose_lab has it.
Expected<NodePlace> find_node(const std::string& lab, const std::string& node);

// What the drop-in libraries are told of it.
Environment node_environment(const NodePlace& place);

}  // namespace weft::cli

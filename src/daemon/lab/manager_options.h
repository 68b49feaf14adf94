// SPDX-License-Identifier: Apache-2.0
// What a lab file or a command line says of Weft's subnet manager, as the manager takes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "fabric/lab.h"
#include "sm/subnet_manager.h"

namespace weft::daemon {

struct ReadManagerOptions {
  sm::ManagerOptions options;
  std::vector<std::string> notes;  // what is legal in the files, but hardly meant; one line each
};

// Reads the files that it names. `port`: of the manager's node; 0 on a switch. Errors: a file that
// cannot be read, or is wrong, with its name and line.
Expected<ReadManagerOptions> read_manager_options(const fabric::LabManagement& management,
                                                  std::uint8_t port);

}  // namespace weft::daemon

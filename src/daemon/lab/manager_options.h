// SPDX-License-Identifier: Apache-2.0
// What a lab file or a command line says of Weft's subnet manager, as the manager takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "daemon/lab/mkey_file.h"
#include "fabric/lab.h"
#include "sm/subnet_manager.h"

namespace weft::daemon {

struct ReadManagerOptions {
  sm::ManagerOptions options;
  std::vector<std::string> notes;  // what is legal in the files, but hardly meant; one line each
  std::optional<MKeyFile> mkeys;   // where ports have M_Keys: they are to be kept in it
};

// The port that a manager is at: of a switch port 0.
struct ManagerPort {
  std::uint8_t number = 0;
  Guid guid{};
};

// Reads the files that it names, and draws an M_Key for the manager where it has none yet. Errors:
// a file that cannot be read, or written, or is wrong, with its name and line.
Expected<ReadManagerOptions> read_manager_options(const fabric::LabManagement& management,
                                                  const ManagerPort& port);

}  // namespace weft::daemon

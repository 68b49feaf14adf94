// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/config.h"
#include "host/device_list.h"

namespace weft::cli {

// Makes a tree for WEFT_SYSROOT in `directory` (the runtime directory), has `write` fill it, and
// returns its path.
//
// It belongs to the program that will take this process's place, and to whatever that starts: they
// inherit a lock on it, a descriptor near the upper end of those allowed. Trees that nobody holds
// any more are removed here, by the next one who needs one.
Expected<std::string> create_sysroot(
    const std::string& directory, const std::function<Expected<void>(const std::string&)>& write);

// Fills one with these devices.
Expected<void> write_devices(const std::string& tree, const host::Config& config,
                             const std::vector<host::DeviceInfo>& devices);

}  // namespace weft::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "umad/connection.h"

namespace weft::umad {

// Writes below `root` what the kernel would show of a node's adapter under /sys/class/infiniband
// and /sys/class/infiniband_mad, for programs that read those paths themselves. The shim leads them
// here when WEFT_SYSROOT is `root`. What was there of an earlier tree is replaced.
//
// A snapshot: states and LIDs are those of this moment.
Expected<void> write_adapter_tree(const std::filesystem::path& root, const Adapter& adapter,
                                  std::string_view description);

}  // namespace weft::umad

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

#include "base/error.h"
#include "host/device_list.h"
#include "port/port.h"

namespace weft::verbs {

// A device as the tree shows it.
struct TreeDevice {
  host::DeviceInfo device;
  port::PortAttributes port;
};

// Writes below `root` what the kernel would show of `devices` under /sys/class/infiniband,
// /sys/class/infiniband_verbs and /dev/infiniband, for programs that read those paths themselves.
// The shim leads them here when WEFT_SYSROOT is `root`. Directories are made as needed; what was
// there of an earlier tree is replaced. The order is the device list's: the first is uverbs0.
//
// A snapshot: link state and GIDs are those of this moment, and counters/ stays empty, because each
// process counts for itself (`weft resource`).
//
// The error of the first file that could not be written names it.
Expected<void> write_sysfs_tree(const std::filesystem::path& root,
                                std::span<const TreeDevice> devices);

// Of that, what is of verbs: /sys/class/infiniband_verbs and /dev/infiniband. For the adapter of a
// lab's node, whose place in /sys/class/infiniband src/umad fills.
Expected<void> write_verbs_nodes(const std::filesystem::path& root,
                                 std::span<const host::DeviceInfo> devices);

}  // namespace weft::verbs

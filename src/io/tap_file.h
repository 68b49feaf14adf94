// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

struct TapFile {
  UniqueFd fd;
  std::string name;  // of the interface, as the kernel has it
};

// The program's end of a TAP interface in this thread's network namespace; without IFF_PERSIST the
// interface goes with it. `name`: of 1 to 15 characters; one "%d" in it is a number of the kernel's
// choice. `flags`: of linux/if_tun.h, beside IFF_TAP and IFF_NO_PI. Reads and writes do not block.
// Errors: invalid_argument: the name; no_such_file_or_directory: there is no /dev/net/tun;
// operation_not_permitted: CAP_NET_ADMIN is missing, and the interface is not this user's;
// device_or_resource_busy: another program has it.
Expected<TapFile> open_tap_file(const std::string& name, short flags = 0);

}  // namespace weft::io

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace weft::io {

// The directory of this user's sockets and reports, created when it is missing:
// $XDG_RUNTIME_DIR/weft, or /tmp/weft-<uid> where XDG_RUNTIME_DIR is unset or, as under sudo,
// another user's. permission_denied: it exists but others own it or may enter it.
Expected<std::string> runtime_directory();

// Creates `path` (not its parents) with mode 0700, or accepts it when it is a directory, not a
// symbolic link, owned by the effective user and closed to all others.
Expected<void> ensure_private_directory(const std::string& path);

}  // namespace weft::io

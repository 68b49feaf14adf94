// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace weft::io {

// The places for this user's sockets and reports, best first: $XDG_RUNTIME_DIR/weft (unless that
// variable is unset or, as under sudo, names another user's directory), /run/user/<uid>/weft where
// that parent is the user's, /tmp/weft-<uid>, and /tmp/weft-<uid>-1 to -9 for when somebody else
// holds the name: another user, or root of another user namespace.
std::vector<std::string> runtime_directory_candidates();

// The first candidate that is private to this user, created when it is missing; one that others own
// or may enter is passed over. The error of the best candidate when there is none.
Expected<std::string> runtime_directory();

// All candidates that exist and are private to this user: programs that ran in other environments
// may have used others than this process would. Creates nothing.
std::vector<std::string> runtime_directories();

// Where this user's labs have what other users may come to: /tmp/weft-labs-<uid>, and
// /tmp/weft-labs-<uid>-1 to -9 for when somebody else holds the name. The first that is his, which
// is created when it is missing. Others may look into it, and nobody but him can write there.
Expected<std::string> shared_directory();

// Those of `owner` that exist. Only what he alone can write to is taken for his.
std::vector<std::string> shared_directories(uid_t owner);

// The users who have such a directory.
std::vector<uid_t> sharing_users();

// Creates `path` (not its parents) with mode 0700, or accepts it when it is a directory, not a
// symbolic link, owned by the effective user and closed to all others.
Expected<void> ensure_private_directory(const std::string& path);

}  // namespace weft::io

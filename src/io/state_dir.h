// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace weft::io {

// The place for what this user's labs remember: $XDG_STATE_HOME/weft, or ~/.local/state/weft where
// that variable is unset or no absolute path. It is made, private to the user, with what is missing
// above it. Errors: it cannot be, or others own it or may enter it.
Expected<std::string> state_directory();

}  // namespace weft::io

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/time.h"

namespace weft::io {

// Waits until `fd` is ready for one of `events`, as poll(2) has them, or has failed. timed_out: it
// was not within `patience`.
Expected<void> await(int fd, short events, Duration patience);

}  // namespace weft::io

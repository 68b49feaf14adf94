// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::port {

// Runs `body(argument)`; false when it read memory of the application that turned out not to be
// there, in which case what it did may be half done.
using Guard = bool (*)(void (*body)(void*), void* argument);

inline bool unguarded(void (*body)(void*), void* argument) {
  body(argument);
  return true;
}

}  // namespace weft::port

// SPDX-License-Identifier: Apache-2.0
// Registered memory is ordinary memory of the process: nothing of it is pinned, so a forked child
// shares it copy-on-write like everything else and there is nothing to prepare.
#include "verbs/abi.h"

#pragma GCC visibility push(default)
extern "C" {
int ibv_dontfork_range(void* base, size_t size);
int ibv_dofork_range(void* base, size_t size);
}
#pragma GCC visibility pop

int ibv_fork_init(void) {
  return 0;
}
ibv_fork_status ibv_is_fork_initialized(void) {
  return IBV_FORK_UNNEEDED;
}
int ibv_dontfork_range(void*, size_t) {
  return 0;
}
int ibv_dofork_range(void*, size_t) {
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A plug-in linked with -libverbs, as the transports of MPI and UCX are.
#include "list_devices.h"

int plugin_list_devices(void);
int plugin_list_devices(void) {
  return list_devices();
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>
#include <stdio.h>

// Prints the name of every device that can be opened; zero when there is one.
static inline int list_devices(void) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  int opened = 0;
  for (int i = 0; i < count; ++i) {
    struct ibv_context* context = ibv_open_device(list[i]);
    if (context == NULL) continue;
    puts(ibv_get_device_name(list[i]));
    ibv_close_device(context);
    ++opened;
  }
  ibv_free_device_list(list);
  return opened == 0;
}

// SPDX-License-Identifier: Apache-2.0
// A program linked with -libverbs.
#include "list_devices.h"

int main(void) {
  return list_devices();
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/error.h"
#include "host/config.h"
#include "host/device_list.h"
#include "port/port.h"

namespace weft::cli {

struct Device {
  host::DeviceInfo info;
  port::PortAttributes port;
};

// What the port of each device says about itself now.
Expected<std::vector<Device>> read_devices(const host::Config& config,
                                           const std::vector<host::DeviceInfo>& devices);

}  // namespace weft::cli

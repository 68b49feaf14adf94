// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/entropy.h"
#include "base/error.h"
#include "host/config.h"
#include "host/device_list.h"
#include "port/port.h"

namespace weft::host {

// The port of a device on the wire that the configuration names.
Expected<std::unique_ptr<port::Port>> open_port(const DeviceInfo& device, const Config& config,
                                                Entropy& entropy);

}  // namespace weft::host

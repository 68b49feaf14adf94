// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "host/config.h"

namespace weft::host {

// A device that a program can open: one per usable network interface, `weft_<interface>`, the one
// of the default route first, `weft_lo` always there and last.
struct DeviceInfo {
  std::string name;       // "weft_eth0"; at most 63 bytes
  std::string interface;  // "eth0"
  std::uint32_t ifindex = 0;
  Guid node_guid;  // EUI-64 from the MAC address; for interfaces without one, from the name
  Guid system_guid = node_guid;
  // No vendor of hardware: a locally administered OUI.
  std::uint32_t vendor_id = 0x02'0000;
  std::uint32_t part_id = 1;
  std::uint32_t hardware = 0;
  std::string firmware{};  // empty: this version of Weft
  std::string description = name;
};

// On a node of a lab: its adapter alone, `weft0`, on no interface; none on a switch.
// ENODEV when config.interface names no usable interface; the message lists those there are.
Expected<std::vector<DeviceInfo>> list_devices(const Config& config);

}  // namespace weft::host

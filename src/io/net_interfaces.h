// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace weft::io {

struct InterfaceAddress {
  Gid address;  // IPv4 as ::ffff:a.b.c.d
  std::uint8_t prefix_bits = 0;
  bool tentative = false;  // IPv6 duplicate address detection has not ended, or found a duplicate
  bool temporary = false;  // IPv6 privacy address (RFC 8981)
};

struct NetInterface {
  std::string name;
  std::uint32_t index = 0;
  std::uint32_t mtu = 0;  // bytes of an IP packet
  bool up = false;        // administratively
  bool running = false;   // operationally: it has a carrier
  bool loopback = false;
  bool multicast = false;
  bool default_route = false;  // the IPv4 default route leaves by it; IPv6's where there is no IPv4
  std::optional<std::array<std::uint8_t, 6>> mac;
  std::optional<std::uint64_t>
      speed_mbps;  // what the driver reports; nothing when it does not know
  std::vector<InterfaceAddress> addresses;  // in the kernel's order
};

// The interfaces of this network namespace, by index.
Expected<std::vector<NetInterface>> list_interfaces();

}  // namespace weft::io

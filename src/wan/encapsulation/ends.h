// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/mac_address.h"

namespace weft::wan {

using weft::MacAddress;

// The two ends of a tunnel, seen from here.
struct Ends {
  Gid local;  // IP addresses, both of one family
  Gid remote;
  std::uint16_t local_port = 0;  // of UDP
  std::uint16_t remote_port = 0;
  MacAddress local_mac{};
  MacAddress remote_mac{};  // of the remote, or of the router on the way to it
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;  // of IPv6, 20 bits; 0: none
  // UDP datagrams without a checksum, in both directions. In IPv6 that is for tunnels whose ends
  // have agreed on it (RFC 6935, 6936).
  bool zero_checksum = false;
  // Of MPLS, the outermost first: what packets leave with, and what they come with (MplsLayer).
  std::vector<std::uint32_t> labels{};
  std::vector<std::uint32_t> own_labels{};
};

}  // namespace weft::wan

// SPDX-License-Identifier: Apache-2.0
// Which frames of an interface are an extender's: the kernel is asked for no others.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace weft::daemon {

// What some tunnels need besides.
struct EthernetCarries {
  bool mpls = false;  // packets with labels
  bool dccp = false;  // in IP packets to the extender
};

// Untagged frames, whichever station they are for: ARP or neighbour discovery, whichever
// `own` needs; frames of a tunnel in Ethernet; and IP packets to `own` with frames of a tunnel, or
// with UDP to this port.
[[nodiscard]] std::vector<sock_filter> ethernet_filter(const Gid& own, std::uint16_t port,
                                                       EthernetCarries carries);

}  // namespace weft::daemon

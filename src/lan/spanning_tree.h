// SPDX-License-Identifier: Apache-2.0
// What is looked at of the spanning tree protocol of bridges: a LAN port carries its messages and
// takes no part in it.
#pragma once

#include "base/mac_address.h"
#include "lan/ethernet_frame.h"

namespace weft::lan {

// Of the groups by which bridges and their neighbours speak to each other, STP, LACP, LLDP and the
// like (IEEE 802.1Q, table 8-1).
[[nodiscard]] bool is_link_local(const MacAddress& group);

// A bridge says that stations are elsewhere now (IEEE 802.1D, 9.3): a configuration or RST BPDU
// with its flag of a topology change, or a topology change notification.
[[nodiscard]] bool is_topology_change(const EthernetFrame& frame);

}  // namespace weft::lan

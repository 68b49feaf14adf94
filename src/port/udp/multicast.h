// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace weft::port {

// Multicast datagrams go to this UDP port of the group: the low 16 bits of QPN 0xFFFFFF.
inline constexpr std::uint16_t kMulticastPort = 0xFFFF;

// The IP group address that an MGID stands for, as a Gid:
//   ::ffff:224.0.0.0/100 (RoCEv2) and ff0e::ffff:224.0.0.0/100 (RoCEv1): the IPv4 group
//   any other ffxx:...: the IPv6 group of the same 16 bytes
// A Gid that is not multicast comes back as it is.
Gid multicast_group(const Gid& mgid);

}  // namespace weft::port

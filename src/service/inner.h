// SPDX-License-Identifier: Apache-2.0
// What Fields::parse reads of payloads. Internal to fields.cc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "service/fields.h"

namespace weft::service::detail {

struct Around {
  std::size_t at = 0;       // of the bytes, from the packet's first one
  bool whole = true;        // they are all there is; false: more follows in another packet
  bool infiniband = false;  // link-layer addresses are those of IPoIB
};

// IPv4, IPv6, ARP and RARP, by out.ether_type; nothing of others.
void read_network(Bytes bytes, const Around& around, Fields& out);
[[nodiscard]] bool is_network_type(std::uint16_t ether_type);

// A management datagram.
void read_mad(Bytes payload, Fields& out);

}  // namespace weft::service::detail

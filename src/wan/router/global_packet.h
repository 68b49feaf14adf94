// SPDX-License-Identifier: Apache-2.0
// What a router looks at in a packet, and what it changes: all of it is outside the ICRC, which is
// between the ends (IBA 7.8.1).
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "link/packet.h"
#include "wan/router/router_counters.h"
#include "wire/bth.h"
#include "wire/grh.h"

namespace weft::wan {

struct GlobalPacket {
  wire::Grh grh{};
  wire::Bth bth{};

  // Reads the headers. Nothing: `flaw` says why it goes to no other subnet, wherever it was to go.
  // The DGID may be that of a group that is routed.
  [[nodiscard]] static std::optional<GlobalPacket> read(const link::Packet& packet,
                                                        RouterCounter& flaw);
};

// In place, with the VCRC that goes with it; a packet that was corrupt stays so.
void rewrite_hop_limit(link::Packet& packet, std::uint8_t hops);

}  // namespace weft::wan

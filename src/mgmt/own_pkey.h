// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "mgmt/managed_node.h"

namespace weft::mgmt {

struct OwnPKey {
  std::uint16_t index = 0;
  PKey pkey{};
};

// The entry of a port's P_Key table that lets it talk to whoever has sent with `theirs`: the same
// partition, and one of both a full member (IBA 10.9.3). An answer goes out with it, for two
// limited members do not hear each other. The first entry where there is none.
[[nodiscard]] OwnPKey own_pkey(const ManagedNode& node, PortNumber port, PKey theirs);

// What the port's table has at `index`, which is below PartitionCap of its NodeInfo.
[[nodiscard]] PKey pkey_at(const ManagedNode& node, PortNumber port, std::uint16_t index);

}  // namespace weft::mgmt

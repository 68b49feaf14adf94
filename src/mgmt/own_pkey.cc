// SPDX-License-Identifier: Apache-2.0
#include "mgmt/own_pkey.h"

#include <algorithm>

namespace weft::mgmt {

OwnPKey own_pkey(const ManagedNode& node, PortNumber port, PKey theirs) {
  constexpr std::size_t kEntries = wire::PKeyBlock::kEntries;
  // Those of the management port of a switch included.
  const std::size_t count = node.node_info(port).partition_cap;
  OwnPKey first;
  for (std::size_t index = 0; index < count; index += kEntries) {
    const wire::PKeyBlock block = node.pkeys(port, static_cast<std::uint16_t>(index / kEntries));
    if (index == 0) first.pkey = block.pkeys[0];
    for (std::size_t i = 0; i < std::min(kEntries, count - index); ++i) {
      const PKey own = block.pkeys[i];
      if (((own.value() ^ theirs.value()) & kPartitionBits) == 0 &&
          ((own.value() | theirs.value()) & kFullMemberBit) != 0) {
        return {.index = static_cast<std::uint16_t>(index + i), .pkey = own};
      }
    }
  }
  return first;
}

PKey pkey_at(const ManagedNode& node, PortNumber port, std::uint16_t index) {
  constexpr std::uint16_t kEntries = wire::PKeyBlock::kEntries;
  return node.pkeys(port, static_cast<std::uint16_t>(index / kEntries)).pkeys[index % kEntries];
}

}  // namespace weft::mgmt

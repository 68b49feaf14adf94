// SPDX-License-Identifier: Apache-2.0
// Who it is at the other end of a path. Internal to mgmt/.
#pragma once

#include "hca/types.h"

namespace weft::mgmt {

// What tells the messages of one peer from those of others, and what a peer cannot choose: on a
// fabric the LID that it sends from, whose holder the switches vouch for; on the wires of IP its
// address. Behind a router's LID are many, whose GIDs the routers vouch for.
struct CmAddress {
  Gid gid{};
  Lid lid{};
  friend constexpr auto operator<=>(const CmAddress&, const CmAddress&) = default;
};

[[nodiscard]] inline CmAddress peer_of(const hca::Path& path) {
  return {.gid = path.by_lid() && !path.global ? Gid{} : path.dgid, .lid = path.dlid};
}

}  // namespace weft::mgmt

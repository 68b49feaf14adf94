// SPDX-License-Identifier: Apache-2.0
// Paths as queue pairs have them and as messages have them. Internal to mgmt/.
#pragma once

#include <tl/expected.hpp>

#include "mgmt/cm_entry.h"
#include "wire/cm_path.h"

namespace weft::mgmt {

// From our side, to be sent. On the wires of IP LIDs are permissive: GIDs say it all, as they do on
// RoCE. So they are beyond the subnet, where the LIDs of either end mean nothing to the other.
[[nodiscard]] wire::CmPath to_wire(const CmRoute& route);

// What is wrong with a path: its other end's GID, or on a fabric LID, is not ours, or its peer's is
// none that one can send to.
enum class RouteFlaw : std::uint8_t { kGid, kLid };

// A path that the peer sent, turned round. `from` is the way by which it came: where a path leads
// beyond the subnet and has no LIDs, they are those of that way.
[[nodiscard]] tl::expected<CmRoute, RouteFlaw> from_wire(const wire::CmPath& path,
                                                         const LocalEnds& ends,
                                                         const hca::Path& from);

// IBA 9.1.1: 256 bytes is 1, 4096 is 5; 0 for anything else.
[[nodiscard]] std::uint8_t mtu_code(std::uint32_t bytes);
[[nodiscard]] std::uint32_t mtu_bytes(std::uint8_t code);  // 0 for no code of an MTU

}  // namespace weft::mgmt

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace weft::lan {

// A number that all frames of one flow have, and few others: those of a connection of TCP, between
// two ports of UDP, between two hosts of IP, or of one station. Whoever sends frames by several
// ways, and those of one number by one way, keeps each flow in order. Fragments of IP (RFC 791)
// have no ports: they are of the flow of their two hosts.
[[nodiscard]] std::uint32_t flow_of(Bytes frame);

}  // namespace weft::lan

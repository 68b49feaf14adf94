// SPDX-License-Identifier: Apache-2.0
// What the kernel's routes say of a way to somebody. Each call asks anew, a few microseconds.
#pragma once

#include <cstddef>
#include <optional>

#include "base/ids.h"
#include "io/socket_address.h"

namespace weft::io {

// The source address that the kernel gives to datagrams for `destination` if nobody names one;
// nothing when there is no route.
std::optional<Gid> routed_source(const SocketAddress& destination);

// Bytes of the longest IP packet that gets to `destination` whole, as far as the kernel knows: the
// MTU of the interface, or what a router has said of a narrower link. Nothing when there is no
// route.
std::optional<std::size_t> routed_mtu(const SocketAddress& destination);

}  // namespace weft::io

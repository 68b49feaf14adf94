// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/ids.h"
#include "io/socket_address.h"

namespace weft::io {

// The source address that the kernel gives to datagrams for `destination` if nobody names one;
// nothing when there is no route. Asks the kernel each time, a few microseconds.
std::optional<Gid> routed_source(const SocketAddress& destination);

}  // namespace weft::io

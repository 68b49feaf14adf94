// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "io/socket_address.h"
#include "io/udp_socket.h"

namespace weft::io {

// One more socket with the address and port of a bound one, connected to a peer: the kernel gives
// it what that peer sends, and the bound one everything else as before. What it sends names no
// destination (SendDatagram::destination), which spares the kernel the look for a route each time.
// `options` but for the address. Nobody else gets to share the port. Errors: there is no route to
// the peer; not_supported: the bound one has no address of its own, which a connection would settle
// on.
[[nodiscard]] Expected<UdpSocket> open_connected(const UdpSocket& bound, const SocketAddress& peer,
                                                 UdpOptions options);

}  // namespace weft::io

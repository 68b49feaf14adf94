// SPDX-License-Identifier: Apache-2.0
// Headers of IPv6 destination options (RFC 8200, 4.6) beside what a UDP socket, or a raw one, sends
// and receives.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "io/udp_socket.h"

namespace weft::io {

// Bytes of the longest header that is sent or told.
inline constexpr std::size_t kMostDestinationOptions = 264;

// Has an IPv6 socket tell those that come. Errors: operation_not_permitted: without CAP_NET_RAW it
// may send none; address_family_not_supported: it is of IPv4.
Expected<void> use_destination_options(int fd);

// As UdpSocket::send(), of one datagram to an IPv6 address, with a header of at most
// kMostDestinationOptions bytes, of which the kernel writes the first. An empty one: none.
IoResult send_with_options(const UdpSocket& socket, const SendDatagram& datagram, Bytes header);

// As UdpSocket::receive(). Of `header` the first bytes are left, to which the one has gone that
// came beside the datagram, or what of it found room; none where it had none.
IoResult receive_with_options(const UdpSocket& socket, MutableBytes buffer, ReceivedDatagram& out,
                              MutableBytes& header);

}  // namespace weft::io

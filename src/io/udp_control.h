// SPDX-License-Identifier: Apache-2.0
// Ancillary data of UdpSocket: what goes beside a datagram in sendmsg and recvmsg. Internal to io.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>

#include "io/udp_socket.h"

namespace weft::io {

struct ControlBuffer {
  // The most that either direction carries: packet info, TTL, TOS, segment size, overflow count.
  static constexpr std::size_t kSize =
      CMSG_SPACE(sizeof(in6_pktinfo)) + 4 * CMSG_SPACE(sizeof(int));
  alignas(cmsghdr) std::array<char, kSize> bytes;
};

// Points `message` at what `datagram` asks for beside its data; at nothing when that is nothing.
void write_send_control(const SendDatagram& datagram, ControlBuffer& control, msghdr& message);

void read_receive_control(msghdr& message, ReceivedDatagram& out);

}  // namespace weft::io

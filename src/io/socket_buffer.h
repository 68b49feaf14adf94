// SPDX-License-Identifier: Apache-2.0
// What sockets of any kind have in common. Internal to io.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::io {

// Wanted, in bytes as getsockopt tells them (socket(7)); 0: as they are. What the system's limit is
// above that only with CAP_NET_ADMIN.
void size_receive_buffer(int fd, std::size_t bytes);
void size_send_buffer(int fd, std::size_t bytes);
inline void size_buffers(int fd, std::size_t bytes) {
  size_receive_buffer(fd, bytes);
  size_send_buffer(fd, bytes);
}

// What the kernel granted, in the same bytes.
[[nodiscard]] std::size_t granted_receive_buffer(int fd);
[[nodiscard]] std::size_t granted_send_buffer(int fd);

// A filter that keeps nothing of any datagram. Reports of the network do not pass it. False: errno.
[[nodiscard]] bool drop_all(int fd);

// Datagrams lost to a full receive buffer so far, modulo 2^32.
[[nodiscard]] std::uint32_t dropped_by(int fd);

}  // namespace weft::io

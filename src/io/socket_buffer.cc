// SPDX-License-Identifier: Apache-2.0
#include "io/socket_buffer.h"

#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <climits>

namespace weft::io {
namespace {

// getsockopt reports twice what setsockopt was given (socket(7)); callers speak in what is
// reported.
int buffer_request(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes / 2 + bytes % 2, INT_MAX / 2));
}

// The forced form passes the system-wide limit but needs CAP_NET_ADMIN.
void size_buffer(int fd, int forced_option, int option, std::size_t bytes) {
  if (bytes == 0) return;
  const int value = buffer_request(bytes);
  if (setsockopt(fd, SOL_SOCKET, forced_option, &value, sizeof value) == 0) return;
  static_cast<void>(setsockopt(fd, SOL_SOCKET, option, &value, sizeof value));
}

std::size_t granted(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  if (getsockopt(fd, SOL_SOCKET, option, &value, &length) != 0) return 0;
  return static_cast<std::size_t>(value);
}

}  // namespace

void size_receive_buffer(int fd, std::size_t bytes) {
  size_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

void size_send_buffer(int fd, std::size_t bytes) {
  size_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
}

std::size_t granted_receive_buffer(int fd) {
  return granted(fd, SO_RCVBUF);
}

std::size_t granted_send_buffer(int fd) {
  return granted(fd, SO_SNDBUF);
}

bool drop_all(int fd) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

std::uint32_t dropped_by(int fd) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t length = sizeof info;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info.data(), &length) != 0) return 0;
  return info[SK_MEMINFO_DROPS];
}

}  // namespace weft::io

// SPDX-License-Identifier: Apache-2.0
// Several datagrams by one system call.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>
#include <system_error>

#include "base/bytes.h"

namespace weft::io {

// Each is its parts, in order.
using Datagrams = std::span<const std::span<const Bytes>>;

struct BatchSent {
  std::size_t count = 0;  // of the first ones: taken
  // Why the next one was not; none: no more are taken now, if that was not all of them.
  std::errc error{};
};

// Sends them through a socket, which never blocks; to `name`, or where the socket leads.
BatchSent send_batch(int fd, Datagrams datagrams, const sockaddr* name = nullptr,
                     socklen_t name_length = 0);

// How many datagrams one system call takes or brings here.
inline constexpr std::size_t kBatch = 32;

}  // namespace weft::io

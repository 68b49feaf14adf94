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

// Beside each of them.
struct BatchOptions {
  const sockaddr* name = nullptr;  // null: where the socket leads
  socklen_t name_length = 0;
  std::span<const char> control;  // ancillary data, as sendmsg takes it
};

// Sends them through a socket, which never blocks.
BatchSent send_batch(int fd, Datagrams datagrams, const BatchOptions& options = {});

// How many datagrams one system call takes or brings here.
inline constexpr std::size_t kBatch = 32;

}  // namespace weft::io

// SPDX-License-Identifier: Apache-2.0
// Several datagrams by one system call.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>
#include <system_error>
#include <vector>

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

// How many datagrams one system call takes or brings here.
inline constexpr std::size_t kBatch = 32;

// Sends them through sockets, which never block.
class BatchSender {
 public:
  BatchSent send(int fd, Datagrams datagrams, const BatchOptions& options = {});

 private:
  int send_some(int fd, Datagrams datagrams, const BatchOptions& options);

  std::vector<std::byte> room_;  // of one call, for what is not in one piece
};

}  // namespace weft::io

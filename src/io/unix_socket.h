// SPDX-License-Identifier: Apache-2.0
// Local sockets for small requests and answers between processes of one machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "io/unique_fd.h"

namespace weft::io {

enum class UnixKind : std::uint8_t { kSeqPacket, kStream };  // with and without message boundaries

// A non-blocking listener at `path`, to which only this user may connect until the file's mode is
// another. A socket file that nobody listens on any more is replaced; address_in_use: somebody
// does. Two processes that may start at once need a lock of their own.
Expected<UniqueFd> listen_unix(const std::string& path, UnixKind kind, int backlog = 64);

// The next connection, blocking or not as `nonblocking` says; nothing when none is waiting.
Expected<std::optional<UniqueFd>> accept_unix(int listener, bool nonblocking);

// A blocking connection. timed_out: the listener's queue stayed full for that long (above zero).
Expected<UniqueFd> connect_unix(const std::string& path, UnixKind kind, Duration timeout);

// Who was at the other end when the connection was made (SO_PEERCRED).
struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
Expected<PeerCredentials> peer_credentials(int fd);

}  // namespace weft::io

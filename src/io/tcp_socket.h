// SPDX-License-Identifier: Apache-2.0
// TCP connections that nothing waits for. All of them send what is written at once (TCP_NODELAY).
#pragma once

#include <optional>

#include "base/error.h"
#include "base/time.h"
#include "io/socket_address.h"
#include "io/unique_fd.h"

namespace weft::io {

// A listener at `address`; port 0: one that is free. An IPv6 address takes no IPv4 but for
// [::], which takes both.
Expected<UniqueFd> listen_tcp(const SocketAddress& address, int backlog = 64);

struct TcpConnection {
  UniqueFd socket;
  SocketAddress peer;
};
// The next connection; nothing when none is waiting. Errors such as too_many_files_open: it waits
// on.
Expected<std::optional<TcpConnection>> accept_tcp(int listener);

// A connection that is being made: writable when it stands, or has failed, which the first use
// tells. `from`: the address of this machine that it is made from, of the same version of IP; none,
// or that of any: as the kernel's routes have it.
Expected<UniqueFd> connect_tcp(const SocketAddress& address, const Gid& from = {});

// A connection on which nothing is heard of the other end's machine for about so long, some seconds
// at least, fails with timed_out, whether or not something was to be sent.
Expected<void> notice_silence(int socket, Duration silence);

// Where a socket is bound.
Expected<SocketAddress> local_address(int socket);

}  // namespace weft::io

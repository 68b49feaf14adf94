// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/socket_address.h"
#include "io/spare_descriptor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

// Where a stream begins or ends: "192.0.2.1:4000", "[2001:db8::1]:4000" (TCP), or "unix:/run/wan"
// (a Unix socket).
struct StreamAddress {
  std::string path;  // of a Unix socket; empty: TCP
  io::SocketAddress ip;

  static Expected<StreamAddress> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

// A non-blocking listener, and where it listens: TCP port 0 is one that the kernel chooses.
Expected<io::UniqueFd> listen_stream(StreamAddress& address);
// The next connection, non-blocking; nothing when none is waiting. Errors: of this machine, as too
// many open files.
Expected<std::optional<io::UniqueFd>> accept_stream(int listener);
// After such an error: who waits is let go, so that the listener is not readable for ever.
void turn_away(int listener, io::SpareDescriptor& spare);
// Begins to connect, and is writable when that is done. An error of the network may show later.
Expected<io::UniqueFd> connect_stream(const StreamAddress& address);

}  // namespace weft::daemon

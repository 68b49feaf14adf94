// SPDX-License-Identifier: Apache-2.0
#include "io/source_address.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "io/unique_fd.h"

namespace weft::io {

std::optional<Gid> routed_source(const SocketAddress& destination) {
  const int family = destination.is_ipv4() ? AF_INET : AF_INET6;
  sockaddr_storage name{};
  socklen_t length = destination.to_sockaddr(family, name);
  const UniqueFd probe(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || length == 0) return std::nullopt;
  // Connecting a datagram socket sends nothing: it looks the route up.
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0) {
    return std::nullopt;
  }
  length = sizeof name;
  if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    return std::nullopt;
  }
  return SocketAddress::from_sockaddr(name).address;
}

}  // namespace weft::io

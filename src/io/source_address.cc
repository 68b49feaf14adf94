// SPDX-License-Identifier: Apache-2.0
#include "io/source_address.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/unique_fd.h"

namespace weft::io {

std::optional<Gid> routed_source(const SocketAddress& destination) {
  const int family = destination.is_ipv4() ? AF_INET : AF_INET6;
  sockaddr_storage name{};
  socklen_t length = destination.to_sockaddr(family, name);
  // The kernel's sockets, whatever is preloaded: librspreload takes the library's functions for the
  // program's, and would make an RDMA socket of this one.
  const UniqueFd probe(static_cast<int>(syscall(SYS_socket, family, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  if (!probe || length == 0) return std::nullopt;
  // Connecting a datagram socket sends nothing: it looks the route up.
  if (syscall(SYS_connect, probe.get(), &name, length) != 0) return std::nullopt;
  length = sizeof name;
  if (syscall(SYS_getsockname, probe.get(), &name, &length) != 0) return std::nullopt;
  return SocketAddress::from_sockaddr(name).address;
}

}  // namespace weft::io

// SPDX-License-Identifier: Apache-2.0
#include "io/route.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/unique_fd.h"

namespace weft::io {
namespace {

// A datagram socket that is connected, which sends nothing: it looks the route up. None where there
// is none. The kernel's sockets, whatever is preloaded: librspreload takes the library's functions
// for the program's, and would make an RDMA socket of this one.
UniqueFd probe(const SocketAddress& destination) {
  const int family = destination.family();
  sockaddr_storage name{};
  const socklen_t length = destination.to_sockaddr(family, name);
  UniqueFd socket(static_cast<int>(syscall(SYS_socket, family, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  if (!socket || length == 0) return {};
  if (syscall(SYS_connect, socket.get(), &name, length) != 0) return {};
  return socket;
}

}  // namespace

std::optional<Gid> routed_source(const SocketAddress& destination) {
  const UniqueFd socket = probe(destination);
  if (!socket) return std::nullopt;
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  if (syscall(SYS_getsockname, socket.get(), &name, &length) != 0) return std::nullopt;
  return SocketAddress::from_sockaddr(name).address;
}

std::optional<std::size_t> routed_mtu(const SocketAddress& destination) {
  const UniqueFd socket = probe(destination);
  if (!socket) return std::nullopt;
  const bool ipv4 = destination.family() == AF_INET;
  int mtu = 0;
  socklen_t length = sizeof mtu;
  const int level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
  const int name = ipv4 ? IP_MTU : IPV6_MTU;
  if (syscall(SYS_getsockopt, socket.get(), level, name, &mtu, &length) != 0) return std::nullopt;
  return static_cast<std::size_t>(mtu);
}

}  // namespace weft::io

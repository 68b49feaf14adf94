// SPDX-License-Identifier: Apache-2.0
#include "io/connected_udp.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

namespace weft::io {
namespace {

// The port of a socket is shared with others of the same user while it says so.
class SharedPort {
 public:
  explicit SharedPort(int fd) : fd_(fd) { set(1); }
  SharedPort(const SharedPort&) = delete;
  SharedPort& operator=(const SharedPort&) = delete;
  ~SharedPort() { set(0); }

 private:
  // Where it is refused, the bind that needs it fails.
  void set(int value) const {
    static_cast<void>(setsockopt(fd_, SOL_SOCKET, SO_REUSEPORT, &value, sizeof value));
  }
  const int fd_;
};

bool is_any(const Gid& address) {
  return address.is_zero() || (address.is_ipv4_mapped() && address.ipv4() == 0);
}

}  // namespace

Expected<UdpSocket> open_connected(const UdpSocket& bound, const SocketAddress& peer,
                                   UdpOptions options) {
  if (is_any(bound.local().address)) {
    return fail(std::errc::not_supported, bound.local().to_string() + " is no address of its own");
  }
  const SharedPort shared(bound.fd());
  options.local = bound.local();
  options.reuse_port = true;
  auto socket = UdpSocket::open(options);
  if (!socket) return socket;
  sockaddr_storage name;
  const socklen_t length = peer.to_sockaddr(socket->carries_ipv6() ? AF_INET6 : AF_INET, name);
  if (length == 0) {
    return fail(std::errc::address_family_not_supported, "connect to " + peer.to_string());
  }
  if (::connect(socket->fd(), reinterpret_cast<const sockaddr*>(&name), length) != 0) {
    return fail_errno(errno,
                      fmt::format("connect {} to {}", bound.local().to_string(), peer.to_string()));
  }
  return socket;
}

}  // namespace weft::io

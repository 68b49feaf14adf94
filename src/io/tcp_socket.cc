// SPDX-License-Identifier: Apache-2.0
#include "io/tcp_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace weft::io {
namespace {

Expected<void> set(int socket, int level, int option, int value, const char* name) {
  if (setsockopt(socket, level, option, &value, sizeof value) == 0) return {};
  return fail_errno(errno, std::string("setsockopt ") + name);
}

Expected<UniqueFd> make_socket(const SocketAddress& address) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno(errno, "socket for " + address.to_string());
  const auto done = set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  if (!done) return tl::unexpected(done.error());
  return fd;
}

}  // namespace

Expected<UniqueFd> listen_tcp(const SocketAddress& address, int backlog) {
  auto fd = make_socket(address);
  if (!fd) return fd;
  // A listener that was there before leaves connections behind that are still closing.
  auto done = set(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (done && !address.is_ipv4()) {
    const bool is_any = address.address == Gid{};
    done = set(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, is_any ? 0 : 1, "IPV6_V6ONLY");
  }
  if (!done) return tl::unexpected(done.error());
  sockaddr_storage raw{};
  const socklen_t length = address.to_sockaddr(address.family(), raw);
  if (::bind(fd->get(), reinterpret_cast<const sockaddr*>(&raw), length) != 0) {
    return fail_errno(errno, "bind " + address.to_string());
  }
  if (::listen(fd->get(), backlog) != 0) {
    return fail_errno(errno, "listen on " + address.to_string());
  }
  return fd;
}

Expected<std::optional<TcpConnection>> accept_tcp(int listener) {
  for (;;) {
    sockaddr_storage raw{};
    socklen_t length = sizeof raw;
    UniqueFd fd(::accept4(listener, reinterpret_cast<sockaddr*>(&raw), &length,
                          SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      // A connection that has failed already tells so when it is used.
      (void)set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
      return TcpConnection{std::move(fd), SocketAddress::from_sockaddr(raw)};
    }
    if (errno == EAGAIN) return std::optional<TcpConnection>();
    if (errno != EINTR && errno != ECONNABORTED) return fail_errno(errno, "accept");
  }
}

namespace {

Expected<void> bind_host(int socket, const SocketAddress& host) {
  // The kernel takes a port when it knows where to, so that there is one for each.
  auto done = set(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1, "IP_BIND_ADDRESS_NO_PORT");
  if (!done) return done;
  sockaddr_storage raw{};
  const socklen_t length = host.to_sockaddr(host.family(), raw);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&raw), length) == 0) return {};
  return fail_errno(errno, "bind " + format_address(host.address));
}

}  // namespace

Expected<UniqueFd> connect_tcp(const SocketAddress& address, const Gid& from) {
  auto fd = make_socket(address);
  if (!fd) return fd;
  if (!from.is_zero()) {
    if (auto done = bind_host(fd->get(), {.address = from, .port = 0}); !done) {
      return tl::unexpected(done.error());
    }
  }
  sockaddr_storage raw{};
  const socklen_t length = address.to_sockaddr(address.family(), raw);
  if (::connect(fd->get(), reinterpret_cast<const sockaddr*>(&raw), length) != 0 &&
      errno != EINPROGRESS) {
    return fail_errno(errno, "connect to " + address.to_string());
  }
  return fd;
}

Expected<void> notice_silence(int socket, Duration silence) {
  constexpr int kProbes = 3;
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(silence);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silence / kProbes);
  const int between = std::max(static_cast<int>(seconds.count()), 1);
  auto done = set(socket, IPPROTO_TCP, TCP_KEEPIDLE, between, "TCP_KEEPIDLE");
  if (done) done = set(socket, IPPROTO_TCP, TCP_KEEPINTVL, between, "TCP_KEEPINTVL");
  if (done) done = set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes, "TCP_KEEPCNT");
  if (done) {
    done = set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(whole.count()),
               "TCP_USER_TIMEOUT");
  }
  if (done) done = set(socket, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
  return done;
}

Expected<SocketAddress> local_address(int socket) {
  sockaddr_storage raw{};
  socklen_t length = sizeof raw;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&raw), &length) != 0) {
    return fail_errno(errno, "getsockname");
  }
  return SocketAddress::from_sockaddr(raw);
}

}  // namespace weft::io

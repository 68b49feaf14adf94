// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/stream_address.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "io/unix_socket.h"

namespace weft::daemon {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr int kBacklog = 64;

// What is emulated is the path; waiting for more to send is not part of it.
void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Expected<io::UniqueFd> tcp_socket(const io::SocketAddress& address, sockaddr_storage& raw,
                                  socklen_t& length) {
  const int family = address.is_ipv4() ? AF_INET : AF_INET6;
  io::UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd) return fail_errno(errno, "socket for " + address.to_string());
  length = address.to_sockaddr(family, raw);
  return fd;
}

Expected<io::UniqueFd> listen_tcp(io::SocketAddress& address) {
  sockaddr_storage raw{};
  socklen_t length = 0;
  auto fd = tcp_socket(address, raw, length);
  if (!fd) return fd;
  const int on = 1;
  setsockopt(fd->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd->get(), reinterpret_cast<const sockaddr*>(&raw), length) != 0) {
    return fail_errno(errno, "bind " + address.to_string());
  }
  if (::listen(fd->get(), kBacklog) != 0) return fail_errno(errno, "listen " + address.to_string());
  length = sizeof raw;
  if (getsockname(fd->get(), reinterpret_cast<sockaddr*>(&raw), &length) == 0) {
    address = io::SocketAddress::from_sockaddr(raw);
  }
  return fd;
}

}  // namespace

Expected<StreamAddress> StreamAddress::parse(std::string_view text) {
  StreamAddress address;
  if (text.starts_with(kUnixPrefix)) {
    address.path = text.substr(kUnixPrefix.size());
    if (!address.path.empty()) return address;
    return fail(std::errc::invalid_argument, fmt::format("{}: the path is missing", text));
  }
  auto ip = io::SocketAddress::parse(text);
  if (!ip) return tl::unexpected(ip.error());
  address.ip = *ip;
  return address;
}

std::string StreamAddress::to_string() const {
  return path.empty() ? ip.to_string() : std::string(kUnixPrefix) + path;
}

Expected<io::UniqueFd> listen_stream(StreamAddress& address) {
  if (address.path.empty()) return listen_tcp(address.ip);
  return io::listen_unix(address.path, io::UnixKind::kStream, kBacklog);
}

Expected<std::optional<io::UniqueFd>> accept_stream(int listener) {
  for (;;) {
    io::UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      send_at_once(fd.get());  // of no meaning to a Unix socket, which refuses it
      return std::optional(std::move(fd));
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return std::nullopt;
    return fail_errno(errno, "accept");
  }
}

void turn_away(int listener, io::SpareDescriptor& spare) {
  spare.lend([listener] { static_cast<void>(accept_stream(listener)); });
}

Expected<io::UniqueFd> connect_stream(const StreamAddress& address) {
  if (!address.path.empty()) {
    auto fd = io::connect_unix(address.path, io::UnixKind::kStream, 1s);
    if (fd && ::fcntl(fd->get(), F_SETFL, O_NONBLOCK) != 0) {
      return fail_errno(errno, "connect " + address.to_string());
    }
    return fd;
  }
  sockaddr_storage raw{};
  socklen_t length = 0;
  auto fd = tcp_socket(address.ip, raw, length);
  if (!fd) return fd;
  send_at_once(fd->get());
  if (::connect(fd->get(), reinterpret_cast<const sockaddr*>(&raw), length) != 0 &&
      errno != EINPROGRESS) {
    return fail_errno(errno, "connect " + address.to_string());
  }
  return fd;
}

}  // namespace weft::daemon

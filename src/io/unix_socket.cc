// SPDX-License-Identifier: Apache-2.0
#include "io/unix_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>

namespace weft::io {
namespace {

int type_of(UnixKind kind) {
  return kind == UnixKind::kStream ? SOCK_STREAM : SOCK_SEQPACKET;
}

Expected<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(std::errc::filename_too_long, fmt::format("socket path '{}': want 1 to {} bytes",
                                                          path, sizeof address.sun_path - 1));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

int bind_to(int fd, const sockaddr_un& address) {
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

// A socket file outlives a listener that was killed; only a refused connection tells the two apart.
bool is_abandoned_socket(const std::string& path, UnixKind kind) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const auto connection = connect_unix(path, kind, 1ms);
  return !connection && connection.error().code == std::errc::connection_refused;
}

}  // namespace

Expected<UniqueFd> listen_unix(const std::string& path, UnixKind kind, int backlog) {
  const auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  UniqueFd fd(::socket(AF_UNIX, type_of(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno(errno, "socket for " + path);
  // The file takes its mode from the socket: there is no moment in which it has another.
  if (fchmod(fd.get(), 0600) != 0) return fail_errno(errno, "mode of " + path);
  int error = bind_to(fd.get(), *address);
  if (error == EADDRINUSE && is_abandoned_socket(path, kind)) {
    (void)unlink(path.c_str());
    error = bind_to(fd.get(), *address);
  }
  if (error != 0) return fail_errno(error, "bind " + path);
  if (::listen(fd.get(), backlog) != 0) return fail_errno(errno, "listen on " + path);
  return fd;
}

Expected<std::optional<UniqueFd>> accept_unix(int listener, bool nonblocking) {
  for (;;) {
    const int flags = SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0);
    UniqueFd fd(::accept4(listener, nullptr, nullptr, flags));
    if (fd) return std::optional(std::move(fd));
    if (errno == EAGAIN) return std::optional<UniqueFd>();
    if (errno != EINTR && errno != ECONNABORTED) return fail_errno(errno, "accept");
  }
}

Expected<UniqueFd> connect_unix(const std::string& path, UnixKind kind, Duration timeout) {
  const auto address = address_of(path);
  if (!address) return tl::unexpected(address.error());
  UniqueFd fd(::socket(AF_UNIX, type_of(kind) | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno(errno, "socket for " + path);
  // The send timeout bounds connect() too; zero would mean no bound.
  const auto microseconds = std::chrono::ceil<std::chrono::microseconds>(timeout).count();
  const auto bounded = std::max<std::int64_t>(microseconds, 1);
  timeval limit{bounded / 1'000'000, bounded % 1'000'000};
  if (setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
    return fail_errno(errno, "setsockopt SO_SNDTIMEO for " + path);
  }
  int result = 0;
  do {
    result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return fail_errno(errno == EAGAIN ? ETIMEDOUT : errno, "connect to " + path);
  limit = {};
  (void)setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return fd;
}

Expected<PeerCredentials> peer_credentials(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return fail_errno(errno, "getsockopt SO_PEERCRED");
  }
  return PeerCredentials{peer.pid, peer.uid, peer.gid};
}

}  // namespace weft::io

// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/stream_address.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "io/tcp_socket.h"
#include "io/unix_socket.h"

namespace weft::daemon {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr int kStreamAddressBacklog = 64;

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
  if (!address.path.empty()) {
    return io::listen_unix(address.path, io::UnixKind::kStream, kStreamAddressBacklog);
  }
  auto fd = io::listen_tcp(address.ip, kStreamAddressBacklog);
  if (!fd) return fd;
  const auto local = io::local_address(fd->get());
  if (!local) return tl::unexpected(local.error());
  address.ip = *local;
  return fd;
}

Expected<std::optional<io::UniqueFd>> accept_stream(int listener) {
  auto accepted = io::accept_tcp(listener);
  if (!accepted) return tl::unexpected(accepted.error());
  if (!*accepted) return std::nullopt;
  return std::optional(std::move((*accepted)->socket));
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
  return io::connect_tcp(address.ip);
}

}  // namespace weft::daemon

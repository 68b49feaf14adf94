// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/tcp_door.h"

#include <sys/epoll.h>

#include <cstdint>
#include <utility>

namespace weft::daemon {
namespace {

constexpr int kTcpDoorTurn = 8;  // connections that are taken before others get their turn
constexpr Duration kTcpDoorPause = 1s;

}  // namespace

Expected<std::unique_ptr<TcpDoor>> TcpDoor::open(const std::vector<io::SocketAddress>& own,
                                                 io::Reactor& reactor,
                                                 std::function<void()> ready) {
  std::unique_ptr<TcpDoor> door(new TcpDoor(reactor));
  for (const io::SocketAddress& address : own) {
    if (auto done = door->listen(address, ready); !done) return tl::unexpected(done.error());
  }
  return door;
}

Expected<void> TcpDoor::listen(const io::SocketAddress& own, std::function<void()> ready) {
  auto socket = io::listen_tcp(own);
  if (!socket) return tl::unexpected(socket.error());
  const auto local = io::local_address(socket->get());
  if (!local) return tl::unexpected(local.error());
  auto watch = reactor_.watch(socket->get(), EPOLLIN,
                              [ready = std::move(ready)](std::uint32_t) { ready(); });
  if (!watch) return tl::unexpected(watch.error());
  listeners_.push_back({.socket = std::move(*socket), .local = *local, .watch = std::move(*watch)});
  return {};
}

void TcpDoor::watch(bool open) const {
  const std::uint32_t events = open ? std::uint32_t{EPOLLIN} : 0;
  for (const Listener& listener : listeners_)
    static_cast<void>(reactor_.change_events(listener.watch, events));
}

bool TcpDoor::accept(const Taker& take, Time now) {
  if (again_ && now < *again_) return false;
  if (std::exchange(again_, std::nullopt)) watch(true);
  bool more = false;
  for (const Listener& listener : listeners_) {
    more |= accept_some(listener, take, now);
    if (again_) return false;
  }
  return more;
}

bool TcpDoor::accept_some(const Listener& listener, const Taker& take, Time now) {
  for (int i = 0; i < kTcpDoorTurn; ++i) {
    auto accepted = io::accept_tcp(listener.socket.get());
    if (!accepted) {
      // Without a descriptor for it, it would be announced again and again.
      again_ = now + kTcpDoorPause;
      watch(false);
      return false;
    }
    if (!*accepted) return false;
    take(std::move(**accepted));
  }
  return true;
}

GidPrefix origin_of(const Gid& address) {
  constexpr unsigned kNetwork = 64;
  return {address, address.is_ipv4_mapped() ? GidPrefix::kMostBits : kNetwork};
}

}  // namespace weft::daemon

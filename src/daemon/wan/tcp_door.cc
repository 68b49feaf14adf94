// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/tcp_door.h"

#include <sys/epoll.h>

#include <utility>

namespace weft::daemon {
namespace {

constexpr int kTurn = 8;  // connections that are taken before others get their turn
constexpr Duration kPause = 1s;

}  // namespace

Expected<std::unique_ptr<TcpDoor>> TcpDoor::open(const io::SocketAddress& own, io::Reactor& reactor,
                                                 std::function<void()> ready) {
  auto listener = io::listen_tcp(own);
  if (!listener) return tl::unexpected(listener.error());
  std::unique_ptr<TcpDoor> door(new TcpDoor(std::move(*listener), reactor));
  const auto local = io::local_address(door->listener_.get());
  if (!local) return tl::unexpected(local.error());
  door->local_ = *local;
  auto watch = reactor.watch(door->listener_.get(), EPOLLIN,
                             [ready = std::move(ready)](std::uint32_t) { ready(); });
  if (!watch) return tl::unexpected(watch.error());
  door->watch_ = std::move(*watch);
  return door;
}

bool TcpDoor::accept(const Taker& take, Time now) {
  if (again_ && now < *again_) return false;
  if (std::exchange(again_, std::nullopt)) {
    static_cast<void>(reactor_.change_events(watch_, EPOLLIN));
  }
  for (int i = 0; i < kTurn; ++i) {
    auto accepted = io::accept_tcp(listener_.get());
    if (!accepted) {
      // Without a descriptor for it, it would be announced again and again.
      again_ = now + kPause;
      static_cast<void>(reactor_.change_events(watch_, 0));
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

// SPDX-License-Identifier: Apache-2.0
#include "daemon/listener.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace weft::daemon {
namespace {

io::UniqueFd any_descriptor() {
  return io::UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Listener::Listener(std::string path, io::UniqueFd listener, Take take, Count count)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      spare_(any_descriptor()),
      take_(std::move(take)),
      count_(std::move(count)) {
}

Listener::~Listener() {
  watch_.reset();
  unlink(path_.c_str());
}

Expected<std::unique_ptr<Listener>> Listener::open(std::string path, io::Reactor& reactor,
                                                   Take take, Count count) {
  auto socket = io::listen_unix(path, io::UnixKind::kSeqPacket);
  if (!socket) return tl::unexpected(socket.error());
  std::unique_ptr<Listener> out(
      new Listener(std::move(path), std::move(*socket), std::move(take), std::move(count)));
  auto watch = reactor.watch(out->listener_.get(), EPOLLIN,
                             [raw = out.get()](std::uint32_t) { raw->accept_all(); });
  if (!watch) return tl::unexpected(watch.error());
  out->watch_ = std::move(*watch);
  return out;
}

void Listener::accept_all() {
  while (true) {
    auto socket = io::accept_unix(listener_.get(), true);
    if (!socket) return turn_away_one();
    if (!*socket) return;
    const auto peer = io::peer_credentials((*socket)->get());
    if (!peer || (peer->uid != geteuid() && peer->uid != 0)) {
      count_(Refused::kForeign);
    } else {
      take_(std::move(**socket), *peer);
    }
  }
}

// All descriptors are in use. Who waits would keep the listener readable and its owner from
// sleeping, and would itself wait in vain: a descriptor is kept back to take it and let it go.
void Listener::turn_away_one() {
  spare_.reset();
  auto socket = io::accept_unix(listener_.get(), true);
  if (socket && *socket) {
    count_(Refused::kNoDescriptor);
    (*socket)->reset();
  }
  spare_ = any_descriptor();
}

}  // namespace weft::daemon

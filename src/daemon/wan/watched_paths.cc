// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/watched_paths.h"

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {

Expected<void> WatchedPaths::watch(int fd, io::Reactor& reactor) {
  auto watch = reactor.watch(fd, EPOLLIN, [this](std::uint32_t events) { on_ready(events); });
  if (!watch) return tl::unexpected(watch.error());
  watches_.push_back({.registration = std::move(*watch), .for_room = false});
  reactor_ = &reactor;
  return {};
}

void WatchedPaths::on_ready(std::uint32_t events) {
  const Time now = io::now();
  if ((events & EPOLLOUT) != 0) {
    for (RemotePath* const path : watched_) {
      if (path->is_blocked()) path->flush(now);
    }
    watch_for_room();
  }
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) receive_all(now);
}

void WatchedPaths::watch_for_room() {
  for (std::size_t place = 0; place < watches_.size(); ++place) {
    Watch& watch = watches_[place];
    const bool wanted = std::ranges::any_of(watched_, [&](const RemotePath* path) {
      return path->is_blocked() && path->place() == place;
    });
    if (wanted == watch.for_room) continue;
    watch.for_room = wanted;
    const std::uint32_t events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
    static_cast<void>(reactor_->change_events(watch.registration, events));
  }
}

std::uint64_t WatchedPaths::refused() const {
  std::uint64_t sum = 0;
  for (const RemotePath* const path : watched_)
    sum += path->refused();
  return sum;
}

}  // namespace weft::daemon

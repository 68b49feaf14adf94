// SPDX-License-Identifier: Apache-2.0
#include "daemon/listener.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weft::daemon {

Expected<void> Admission::give(const std::string& path, bool to_write) const {
  if (who == Who::kOwner) return {};
  if (who == Who::kGroup && chown(path.c_str(), static_cast<uid_t>(-1), group) != 0) {
    if (errno != EPERM) return fail_errno(errno, "chown " + path);
    return fail(std::errc::operation_not_permitted,
                fmt::format("group {} can be let in by its members and by root only", group));
  }
  const mode_t theirs = to_write ? 6 : 4;
  const mode_t mode = 0600 | theirs << 3 | (who == Who::kEveryone ? theirs : 0);
  if (chmod(path.c_str(), mode) != 0) return fail_errno(errno, "chmod " + path);
  return {};
}

Listener::Listener(Entrance entrance, io::UniqueFd listener, Take take, Count count)
    : entrance_(std::move(entrance)),
      listener_(std::move(listener)),
      take_(std::move(take)),
      count_(std::move(count)) {
}

Listener::~Listener() {
  watch_.reset();
  unlink(entrance_.path.c_str());
}

Expected<std::unique_ptr<Listener>> Listener::open(std::string path, io::Reactor& reactor,
                                                   Take take, Count count) {
  return open(Entrance{std::move(path), {}}, reactor, std::move(take), std::move(count));
}

Expected<std::vector<std::unique_ptr<Listener>>> Listener::open_all(
    const std::string& path, const std::optional<Entrance>& shared, io::Reactor& reactor,
    const Take& take, const Count& count) {
  std::vector<std::unique_ptr<Listener>> out;
  auto own = open(path, reactor, take, count);
  if (!own) return tl::unexpected(own.error());
  out.push_back(std::move(*own));
  if (!shared) return out;
  auto theirs = open(*shared, reactor, take, count);
  if (!theirs) return tl::unexpected(theirs.error());
  out.push_back(std::move(*theirs));
  return out;
}

Expected<std::unique_ptr<Listener>> Listener::open(Entrance entrance, io::Reactor& reactor,
                                                   Take take, Count count) {
  auto socket = io::listen_unix(entrance.path, io::UnixKind::kSeqPacket);
  if (!socket) return tl::unexpected(socket.error());
  std::unique_ptr<Listener> out(
      new Listener(std::move(entrance), std::move(*socket), std::move(take), std::move(count)));
  if (auto given = out->entrance_.admission.give(out->entrance_.path, true); !given) {
    return tl::unexpected(given.error());
  }
  auto watch = reactor.watch(out->listener_.get(), EPOLLIN,
                             [raw = out.get()](std::uint32_t) { raw->accept_all(); });
  if (!watch) return tl::unexpected(watch.error());
  out->watch_ = std::move(*watch);
  return out;
}

// Others are let in by the file's mode, and so by the kernel; what mode and directory the owner's
// socket has does not count.
bool Listener::admits(const io::PeerCredentials& peer) const {
  if (entrance_.admission.who != Admission::Who::kOwner) return true;
  return peer.uid == geteuid() || peer.uid == 0;
}

void Listener::accept_all() {
  while (true) {
    auto socket = io::accept_unix(listener_.get(), true);
    if (!socket) return turn_away_one();
    if (!*socket) return;
    const auto peer = io::peer_credentials((*socket)->get());
    if (!peer || !admits(*peer)) {
      count_(Refused::kForeign);
    } else {
      take_(std::move(**socket), *peer);
    }
  }
}

// All descriptors are in use.
void Listener::turn_away_one() {
  spare_.lend([this] {
    const auto socket = io::accept_unix(listener_.get(), true);
    if (socket && *socket) count_(Refused::kNoDescriptor);
  });
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/pair_link.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "io/unix_socket.h"
#include "service/service.h"
#include "wire/endian.h"

namespace weft::daemon {
namespace {

// A message is the service's number, in the order of this machine's bytes turned little-endian, and
// then the record.
constexpr std::size_t kHead = 8;
constexpr std::size_t kMostMessage = kHead + service::Host::kMostRecord;
using Message = std::array<std::byte, kMostMessage + 1>;  // so that one too long is seen

std::string socket_of(const umad::Place& place, const std::string& node) {
  return fmt::format("{}/service-{}", place.lab, node);
}

}  // namespace

Expected<std::unique_ptr<PairLink>> PairLink::open(const umad::Place& place,
                                                   const std::string& other, io::Reactor& reactor,
                                                   Hear hear) {
  if (other == place.node || other.find('/') != std::string::npos) {
    return fail(std::errc::invalid_argument,
                fmt::format("the pair of node {} is another node, not {}", place.node, other));
  }
  std::unique_ptr<PairLink> link(new PairLink(reactor, socket_of(place, place.node),
                                              socket_of(place, other), std::move(hear)));
  if (auto listening = link->listen(); !listening) return tl::unexpected(listening.error());
  return link;
}

PairLink::~PairLink() {
  if (listener_) unlink(own_.c_str());
}

Expected<void> PairLink::listen() {
  auto listener = io::listen_unix(own_, io::UnixKind::kSeqPacket);
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  auto watch = reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
  if (!watch) return tl::unexpected(watch.error());
  listener_watch_ = std::move(*watch);
  return {};
}

void PairLink::accept() {
  auto accepted = io::accept_unix(listener_.get(), true);
  if (!accepted || !*accepted) return;
  hearing_watch_.reset();
  hearing_ = std::move(**accepted);
  auto watch = reactor_.watch(hearing_.get(), EPOLLIN, [this](std::uint32_t) { read(); });
  if (watch) hearing_watch_ = std::move(*watch);
}

void PairLink::read() {
  Message message;
  for (;;) {
    const ssize_t size = recv(hearing_.get(), message.data(), message.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    const auto length = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    // It is gone, or is none of ours.
    if (length < kHead || length > kMostMessage) break;
    hear_(static_cast<std::size_t>(wire::load_le64(message.data())),
          Bytes(message).subspan(kHead, length - kHead));
  }
  hearing_watch_.reset();
  hearing_.reset();
}

void PairLink::run(Time now) {
  if (is_connected() || now - looked_ < kPause) return;
  looked_ = now;
  auto connection = io::connect_unix(other_, io::UnixKind::kSeqPacket, 1ms);
  if (!connection) return;
  const std::lock_guard guard(mutex_);
  telling_ = std::move(*connection);
  connected_.store(true);
}

bool PairLink::tell(std::size_t service, Bytes record) {
  if (!is_connected()) return true;
  if (record.size() > service::Host::kMostRecord) return false;
  Message message;
  wire::store_le64(message.data(), service);
  std::ranges::copy(record, message.begin() + kHead);
  const std::lock_guard guard(mutex_);
  if (!telling_) return true;
  const ssize_t sent =
      send(telling_.get(), message.data(), kHead + record.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return true;
  if (errno == EAGAIN || errno == ENOBUFS) return false;
  telling_.reset();
  connected_.store(false);
  return true;
}

}  // namespace weft::daemon

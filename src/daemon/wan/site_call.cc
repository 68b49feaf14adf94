// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/site_call.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "io/tcp_socket.h"

namespace weft::daemon {
namespace {

using wan::SiteGreeting;

constexpr Duration kSiteCallPatience = 10s;
// A peer whose machine is gone says nothing: probed after, and given up after.
constexpr Duration kSiteCallSilence = 15s;
// What one word takes, and more than anybody should have sent.
constexpr std::size_t kRead = 512;
// Content types of TLS (RFC 8446, 5.1): an alert, a handshake.
constexpr std::byte kTlsAlert{21}, kTlsHandshake{22};

tl::unexpected<Error> broken(int error) {
  return tl::unexpected(Error{static_cast<std::errc>(error),
                              std::make_error_code(static_cast<std::errc>(error)).message()});
}

bool later(int error) {
  return error == EAGAIN || error == EINTR || error == EINPROGRESS;
}

}  // namespace

SiteCall::SiteCall(io::UniqueFd socket, Config config, io::Reactor& reactor, Time deadline)
    : socket_(std::move(socket)),
      config_(std::move(config)),
      reactor_(reactor),
      deadline_(deadline) {
  if (config_.ask) io::append_message(unsent_, config_.ask->write());
}

Expected<std::unique_ptr<SiteCall>> SiteCall::begin(io::UniqueFd socket, Config config,
                                                    io::Reactor& reactor, Time now) {
  if (auto noticed = io::notice_silence(socket.get(), kSiteCallSilence); !noticed) {
    return tl::unexpected(noticed.error());
  }
  std::unique_ptr<SiteCall> call(
      new SiteCall(std::move(socket), std::move(config), reactor, now + kSiteCallPatience));
  if (auto watched = call->watch(); !watched) return tl::unexpected(watched.error());
  return call;
}

Expected<void> SiteCall::watch() {
  const std::uint32_t wanted =
      EPOLLIN | (unsent_.empty() ? std::uint32_t{0} : std::uint32_t{EPOLLOUT});
  if (watch_ && wanted == watched_) return {};
  watched_ = wanted;
  if (watch_) return reactor_.change_events(watch_, wanted);
  auto watch = reactor_.watch(socket_.get(), wanted, [this](std::uint32_t) { config_.ready(); });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

void SiteCall::close() {
  watch_.reset();
  socket_.reset();
  state_ = State::kEnded;
}

void SiteCall::run(Time now) {
  if (state_ == State::kEnded) return;
  auto done = talk(now);
  if (done && state_ != State::kEnded) done = watch();
  if (done) return;
  error_ = std::move(done.error());
  close();
}

std::optional<Time> SiteCall::deadline() const {
  if (state_ == State::kStands || state_ == State::kEnded) return std::nullopt;
  return deadline_;
}

Expected<void> SiteCall::talk(Time now) {
  if (auto written = write(); !written) return written;
  if (auto read_all = read(); !read_all) return read_all;
  if (state_ == State::kGreeting && now >= deadline_) {
    return fail(std::errc::timed_out, "the other end has not answered in time");
  }
  return {};
}

Expected<void> SiteCall::write() {
  while (!unsent_.empty()) {
    const ssize_t sent =
        ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return later(errno) ? Expected<void>() : broken(errno);
    unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
  }
  return {};
}

Expected<void> SiteCall::read() {
  std::array<std::byte, kRead> room;
  const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return hang_up();
  if (got < 0) return later(errno) ? Expected<void>() : broken(errno);
  if (!std::exchange(began_, true) && (room[0] == kTlsAlert || room[0] == kTlsHandshake)) {
    return fail(std::errc::permission_denied,
                "the other end speaks TLS: its extender has a key, and this one is insecure");
  }
  if (!reader_.feed(Bytes(room).first(static_cast<std::size_t>(got)))) {
    return fail(std::errc::protocol_error, "the other end is no extender that has setup = \"tcp\"");
  }
  while (const auto message = reader_.take()) {
    if (auto done = hear(*message); !done) return done;
  }
  return {};
}

// The other end has closed it. What speaks TLS understands no greeting, and says nothing to it.
Expected<void> SiteCall::hang_up() {
  if (config_.ask && state_ == State::kGreeting && !began_) {
    return fail(std::errc::connection_aborted,
                "the other end has hung up without a word: it may have a key, and this one is "
                "insecure");
  }
  close();
  return {};
}

Expected<void> SiteCall::hear(Bytes message) {
  auto greeting = SiteGreeting::read(message);
  if (!greeting) return tl::unexpected(greeting.error());
  const bool asks = greeting->type == SiteGreeting::Type::kAsks;
  if (state_ != State::kGreeting || asks == config_.ask.has_value()) {
    return fail(std::errc::protocol_error, "the other end says what is not to be said now");
  }
  heard_ = std::move(*greeting);
  if (heard_.type == SiteGreeting::Type::kRefuses) {
    return fail(std::errc::permission_denied, "the other end refuses: " + heard_.words);
  }
  state_ = asks ? State::kAsked : State::kStands;
  return {};
}

void SiteCall::answer(const SiteGreeting& greeting) {
  io::append_message(unsent_, greeting.write());
  state_ = State::kStands;
  const bool refuses = greeting.type == SiteGreeting::Type::kRefuses;
  // What a new connection has no room for is not said.
  if (auto done = write(); !done || refuses) return close();
  if (auto done = watch(); !done) close();
}

}  // namespace weft::daemon

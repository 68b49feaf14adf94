// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/ring_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/plain_bytes.h"
#include "daemon/hello.h"
#include "daemon/lab/ring_protocol.h"
#include "io/clock.h"
#include "io/log.h"

namespace weft::daemon {
namespace {

// Between two calls of a part that is not there.
constexpr Duration kRingPartsPause = 100ms;
// The same where one was there and refused.
constexpr Duration kLongPause = 2s;
// For a place in the queue of a part that is there: it takes no time unless it is stopped.
constexpr Duration kRingPartsPatience = 1ms;
constexpr std::size_t kMostNewcomers = 64;
constexpr Greeting kRingPartsGreeting{kRingMagic, kRingVersion, offsetof(RingHello, lab),
                                      "the other part"};

std::string text_of(const char (&text)[kPartNameSize]) {
  return {text, strnlen(text, sizeof text)};
}

// Names of labs and parts are shorter.
void write_name(char (&out)[kPartNameSize], const std::string& name) {
  std::memcpy(out, name.data(), std::min(name.size(), sizeof out - 1));
}

Expected<io::UniqueFd> connect_part(const std::string& path) {
  auto socket = io::connect_unix(path, io::UnixKind::kSeqPacket, kRingPartsPatience);
  if (!socket) return socket;
  const auto peer = io::peer_credentials(socket->get());
  if (!peer) return tl::unexpected(peer.error());
  if (peer->uid != geteuid()) {
    return fail(std::errc::permission_denied, path + " is another user's");
  }
  if (fcntl(socket->get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(errno, "O_NONBLOCK");
  return socket;
}

}  // namespace

RingParts::RingParts(Config config, SocketOf socket_of, io::Reactor& reactor)
    : config_(std::move(config)),
      socket_of_(std::move(socket_of)),
      reactor_(reactor),
      timer_(reactor.timers(), [this](Time now) { call_all(now); }) {
}

Expected<std::unique_ptr<RingParts>> RingParts::open(Config config, SocketOf socket_of,
                                                     io::Reactor& reactor) {
  std::unique_ptr<RingParts> parts(new RingParts(std::move(config), std::move(socket_of), reactor));
  if (auto listening = parts->listen(); !listening) return tl::unexpected(listening.error());
  return parts;
}

Expected<void> RingParts::listen() {
  auto listener = Listener::open(
      config_.socket, reactor_,
      [this](io::UniqueFd socket, const io::PeerCredentials& peer) {
        take(std::move(socket), peer);
      },
      [this](Listener::Refused why) {
        counters_.add(why == Listener::Refused::kForeign ? RingPartsCounter::kForeign
                                                         : RingPartsCounter::kTurnedAway);
      });
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  return {};
}

RingPart& RingParts::add(const std::string& name, bool listens) {
  RingPart& part = *parts_.emplace_back(std::make_unique<RingPart>(name, listens));
  if (!listens) part.when_lost([this, &part] { call_from(part, io::now() + kRingPartsPause); });
  return part;
}

void RingParts::start(Time now) {
  call_all(now);
}

// The memory of a link is one user's: not even root comes in for another.
void RingParts::take(io::UniqueFd socket, const io::PeerCredentials& peer) {
  if (peer.uid != geteuid()) return counters_.add(RingPartsCounter::kForeign);
  static_cast<void>(add_newcomer(std::move(socket), nullptr));
}

RingSession* RingParts::add_newcomer(io::UniqueFd socket, RingPart* part) {
  RingSession::Owner& owner = *this;
  auto session = std::make_unique<RingSession>(std::move(socket), owner);
  if (newcomers_.size() >= kMostNewcomers || !session->start(reactor_)) {
    counters_.add(RingPartsCounter::kTurnedAway);
    return nullptr;
  }
  RingSession* const raw = session.get();
  newcomers_[raw] = {.session = std::move(session), .part = part, .pause = kRingPartsPause};
  return raw;
}

std::unique_ptr<RingSession> RingParts::leave_newcomers(RingSession& session) {
  return std::move(newcomers_.extract(&session).mapped().session);
}

bool RingParts::is_called(const RingPart& part) const {
  return std::any_of(newcomers_.begin(), newcomers_.end(),
                     [&](const auto& each) { return each.second.part == &part; });
}

void RingParts::call_from(const RingPart& part, Time when) {
  call_from_[&part] = when;
  if (!timer_.armed() || *timer_.deadline() > when) timer_.set(when);
}

// Who is connected or has not answered yet is called again when that has ended: as long as all are,
// nothing is to be done here.
void RingParts::call_all(Time now) {
  for (const auto& part : parts_) {
    if (part->makes() || part->connected() || is_called(*part)) continue;
    const Time from = call_from_[part.get()];
    if (now < from) {
      call_from(*part, from);
    } else if (!call(*part)) {
      call_from(*part, now + kRingPartsPause);
    }
  }
}

bool RingParts::call(RingPart& part) {
  auto socket = connect_part(socket_of_(part.name()));
  if (!socket) return false;
  RingSession* const session = add_newcomer(std::move(*socket), &part);
  if (session == nullptr) return false;
  RingHello hello;
  write_name(hello.lab, config_.lab);
  write_name(hello.from, config_.part);
  write_name(hello.to, part.name());
  session->send(plain::bytes_of(hello));
  return true;
}

bool RingParts::heard(RingSession& session, Bytes message, std::span<io::UniqueFd>) {
  RingPart* const part = newcomers_.at(&session).part;
  return part != nullptr ? heard_welcome(session, *part, message) : heard_hello(session, message);
}

void RingParts::ended(RingSession& session) {
  const Newcomer newcomer = std::move(newcomers_.extract(&session).mapped());
  if (newcomer.part != nullptr) call_from(*newcomer.part, io::now() + newcomer.pause);
}

Expected<RingPart*> RingParts::part_of(const RingHello& hello) const {
  if (text_of(hello.lab) != config_.lab || text_of(hello.to) != config_.part) {
    return fail(std::errc::invalid_argument,
                fmt::format("this is part {} of lab {}", config_.part, config_.lab));
  }
  const std::string from = text_of(hello.from);
  const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const auto& part) {
    return part->name() == from && part->makes();
  });
  if (found != parts_.end()) return found->get();
  return fail(std::errc::invalid_argument,
              fmt::format("part {} has no links to part {}, or expects to be called by it: the lab "
                          "files differ",
                          config_.part, from));
}

bool RingParts::heard_hello(RingSession& session, Bytes message) {
  const auto hello = read_hello<RingHello>(message, kRingPartsGreeting);
  if (!hello && is_nonsense(hello.error())) {
    counters_.add(RingPartsCounter::kNonsense);
    return false;
  }
  const auto part = hello ? part_of(*hello) : tl::unexpected(hello.error());
  if (!part) {
    // The connection stays for the other end to close, so that it is sure to read why.
    session.send(plain::bytes_of(refusal<RingWelcome>(part.error())));
    return true;
  }
  session.send(plain::bytes_of(RingWelcome{}));
  counters_.add(RingPartsCounter::kConnections);
  (*part)->adopt(leave_newcomers(session));
  return true;
}

bool RingParts::heard_welcome(RingSession& session, RingPart& part, Bytes message) {
  const auto welcome = plain::read<RingWelcome>(message);
  if (!welcome || message.size() != sizeof *welcome) {
    counters_.add(RingPartsCounter::kNonsense);
    return false;
  }
  if (welcome->error == 0) {
    counters_.add(RingPartsCounter::kConnections);
    part.adopt(leave_newcomers(session));
    return true;
  }
  if (counters_.get(RingPartsCounter::kRefused) == 0) {
    const std::string why(welcome->message, strnlen(welcome->message, sizeof welcome->message));
    io::log(io::LogLevel::kError, fmt::format("part {} refuses: {}", part.name(), why));
  }
  counters_.add(RingPartsCounter::kRefused);
  newcomers_.at(&session).pause = kLongPause;
  return false;
}

bool RingParts::poll(Time now) {
  bool worked = false;
  for (const auto& part : parts_)
    worked = part->poll(now) || worked;
  return worked;
}

void RingParts::flush() {
  for (const auto& part : parts_)
    part->flush();
}

bool RingParts::sleep() {
  for (const auto& part : parts_) {
    if (part->sleep()) continue;
    awake();
    return false;
  }
  return true;
}

void RingParts::awake() {
  for (const auto& part : parts_)
    part->awake();
}

}  // namespace weft::daemon

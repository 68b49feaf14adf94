// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/site_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/tcp_socket.h"

namespace weft::daemon {
namespace {

using wan::SiteGreeting;

SiteGreeting greeting(SiteGreeting::Type type, const SiteCalls::Remote& to) {
  return {.type = type, .port = to.own.port, .words = to.layers};
}

}  // namespace

Expected<std::unique_ptr<SiteCalls>> SiteCalls::open(const std::vector<io::SocketAddress>& own,
                                                     io::Reactor& reactor) {
  std::unique_ptr<SiteCalls> calls(new SiteCalls(reactor));
  auto door = TcpDoor::open(own, reactor, [raw = calls.get()] { raw->ready_ = true; });
  if (!door) return tl::unexpected(door.error());
  calls->door_ = std::move(*door);
  return calls;
}

void SiteCalls::add(Remote remote) {
  auto& peer = *peers_.emplace_back(std::make_unique<Peer>());
  peer.remote = std::move(remote);
  if (!peer.remote.address) peer.why = "it has not come yet";
}

// --- who comes ----------------------------------------------------------------------------------

void SiteCalls::take(io::TcpConnection connection, Time now) {
  auto call = SiteCall::begin(
      std::move(connection.socket),
      {.peer = connection.peer, .ask = {}, .ready = [this] { ready_ = true; }}, reactor_, now);
  if (!call) return;
  counters_.add(SiteCallsCounter::kCame);
  if (newcomers_.add(std::move(*call))) counters_.add(SiteCallsCounter::kCrowded);
}

void SiteCalls::run_newcomers(Time now) {
  newcomers_.run([&](std::unique_ptr<SiteCall>& call) {
    call->run(now);
    if (call->state() == SiteCall::State::kAsked) {
      answer(std::move(call), now);
    } else if (call->state() == SiteCall::State::kEnded) {
      if (call->error()) refused_ = call->address().to_string() + ": " + call->error()->message;
      call.reset();
    }
  });
}

// Whose call it is, as far as addresses tell; else, why it is nobody's. Who is not known by his
// address is the remote that has none here, while that is not there already, somewhere else.
tl::expected<SiteCalls::Peer*, std::string> SiteCalls::find(const SiteCall& call) {
  const io::SocketAddress who{.address = call.address().address, .port = call.heard().port};
  Peer* open = nullptr;
  for (const auto& peer : peers_) {
    if (peer->remote.address == who) return peer.get();
    if (!peer->remote.address) open = peer.get();
  }
  if (open == nullptr) {
    return tl::unexpected(fmt::format("no remote here has the address {}", who.to_string()));
  }
  const bool elsewhere = std::ranges::any_of(open->standing, [&](const auto& standing) {
    return standing->address().address != who.address;
  });
  if (!elsewhere) return open;
  return tl::unexpected(fmt::format("remote {} is there already, at another address than {}",
                                    open->remote.name, who.to_string()));
}

void SiteCalls::answer(std::unique_ptr<SiteCall> call, Time now) {
  const auto whose = find(*call);
  const std::string& theirs = call->heard().words;
  std::string why = whose ? "" : whose.error();
  if (whose && theirs != (*whose)->remote.layers) {
    why = fmt::format("the end that called has layers {} around its frames, the other one {}",
                      theirs, (*whose)->remote.layers);
  }
  if (!why.empty()) {
    call->answer({.type = SiteGreeting::Type::kRefuses, .port = 0, .words = why});
    counters_.add(SiteCallsCounter::kRefused);
    refused_ = call->address().to_string() + ": " + why;
    return;
  }
  call->answer(greeting(SiteGreeting::Type::kAgrees, (*whose)->remote));
  stand(**whose, std::move(call), now);
}

// --- remotes ------------------------------------------------------------------------------------

void SiteCalls::call(Peer& peer, Time now) {
  const io::SocketAddress& address = *peer.remote.address;
  auto socket = io::connect_tcp(address, peer.remote.own.address);
  auto call = socket ? SiteCall::begin(std::move(*socket),
                                       {.peer = address,
                                        .ask = greeting(SiteGreeting::Type::kAsks, peer.remote),
                                        .ready = [this] { ready_ = true; }},
                                       reactor_, now)
                     : tl::unexpected(socket.error());
  if (!call) return try_later(peer, call.error(), now);
  counters_.add(SiteCallsCounter::kBegun);
  peer.calling = std::move(*call);
}

void SiteCalls::try_later(Peer& peer, const Error& why, Time now) {
  if (why.code == std::errc::permission_denied) counters_.add(SiteCallsCounter::kRefused);
  peer.why = why.message;
  peer.retries.failed(now);
}

void SiteCalls::stand(Peer& peer, std::unique_ptr<SiteCall> call, Time now) {
  const bool was_there = !peer.standing.empty();
  keep_newest(peer.standing, std::move(call));
  peer.retries.succeeded();
  peer.why.clear();
  counters_.add(SiteCallsCounter::kAgreed);
  if (!was_there) peer.remote.changed(true, now);
}

void SiteCalls::run_calling(Peer& peer, Time now) {
  peer.calling->run(now);
  if (peer.calling->state() == SiteCall::State::kStands) {
    stand(peer, std::move(peer.calling), now);
  } else if (peer.calling->state() == SiteCall::State::kEnded) {
    const auto call = std::move(peer.calling);
    try_later(peer, end_of(*call), now);
  }
}

void SiteCalls::run_peer(Peer& peer, Time now) {
  if (peer.calling) run_calling(peer, now);
  const bool was_there = !peer.standing.empty();
  for (auto& call : peer.standing) {
    call->run(now);
    if (call->state() != SiteCall::State::kEnded) continue;
    peer.why = end_of(*call).message;
    call.reset();
  }
  std::erase(peer.standing, nullptr);
  if (!peer.standing.empty()) return;
  if (was_there) {
    peer.retries.wait_until(now + Retries::kFirst);
    peer.remote.changed(false, now);
  }
  if (!peer.calling && peer.remote.address && now >= peer.retries.next()) call(peer, now);
}

bool SiteCalls::run(Time now) {
  const auto due = deadline();
  if (!due || *due > now) return false;
  ready_ = door_->accept([&](io::TcpConnection came) { take(std::move(came), now); }, now);
  run_newcomers(now);
  for (const auto& peer : peers_)
    run_peer(*peer, now);
  return true;
}

std::optional<Time> SiteCalls::deadline() const {
  if (ready_) return Time{};
  std::optional<Time> first = door_->deadline();
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(newcomers_.deadline());
  for (const auto& peer : peers_) {
    if (peer->calling) {
      earlier(peer->calling->deadline());
    } else if (peer->standing.empty() && peer->remote.address) {
      earlier(peer->retries.next());
    }
  }
  return first;
}

SiteCalls::Report SiteCalls::report(std::size_t remote) const {
  const Peer& peer = *peers_[remote];
  return {.there = !peer.standing.empty(), .why = peer.why};
}

bool SiteCalls::is_at(std::size_t remote, const Gid& host) const {
  return std::ranges::any_of(peers_[remote]->standing,
                             [&](const auto& call) { return call->address().address == host; });
}

}  // namespace weft::daemon

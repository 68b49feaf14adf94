// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/site_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/log.h"
#include "io/tcp_socket.h"

namespace weft::daemon {
namespace {

// After a channel that gave keys, so that who cuts connections does not have keys changed all the
// time.
constexpr Duration kFreshPatience = 1s;
// A channel that gave keys with which nothing can be opened or sealed is given up after.
constexpr Duration kUseless = 10s;
constexpr std::size_t kStrangerParts = 16;
constexpr Duration kLogPause = 10s;  // between lines about one remote, or about strangers
constexpr Duration kSayAgain = 1h;   // the same

// What waiting does not mend.
bool needs_a_person(const Error& error) {
  return error.code == std::errc::permission_denied || error.code == std::errc::not_supported ||
         error.code == std::errc::protocol_not_supported;
}

// Of all its ways: one may be cut.
bool needs_keys(const SiteKeys::Remote& remote) {
  return remote.path->needs_keys() &&
         std::ranges::all_of(remote.more_paths, &wan::SealedPath::needs_keys);
}

}  // namespace

SiteKeys::SiteKeys(std::string name, std::unique_ptr<io::TlsSite> site, io::Reactor& reactor,
                   const Limits& limits)
    : name_(std::move(name)),
      site_(std::move(site)),
      reactor_(reactor),
      limits_(limits),
      strangers_(kStrangerParts, limits.strangers) {
}

SiteKeys::~SiteKeys() = default;

Expected<std::unique_ptr<SiteKeys>> SiteKeys::open(std::string name,
                                                   std::unique_ptr<io::TlsSite> site,
                                                   const std::vector<io::SocketAddress>& own,
                                                   io::Reactor& reactor, const Limits& limits) {
  std::unique_ptr<SiteKeys> keys(new SiteKeys(std::move(name), std::move(site), reactor, limits));
  auto door = TcpDoor::open(own, reactor, [raw = keys.get()] { raw->ready_ = true; });
  if (!door) return tl::unexpected(door.error());
  keys->door_ = std::move(*door);
  return keys;
}

void SiteKeys::add(Remote remote) {
  auto& peer = *peers_.emplace_back(std::make_unique<Peer>(std::move(remote), limits_));
  if (!peer.remote.address) peer.why = "it has not come yet";
}

KeyChannel::Config SiteKeys::config(io::TlsRole role, std::vector<io::TlsFingerprint> keys,
                                    const io::SocketAddress& peer) {
  return {
      .role = role, .trust = {.keys = std::move(keys), .names = {}}, .peer = peer, .ready = [this] {
        ready_ = true;
      }};
}

SiteKeys::Peer* SiteKeys::find(const io::TlsFingerprint& key) {
  const auto found = std::ranges::find_if(peers_, [&](const auto& peer) {
    return std::ranges::find(peer->remote.keys, key) != peer->remote.keys.end();
  });
  return found == peers_.end() ? nullptr : found->get();
}

// What a person must look at is said once, whoever of the two connects, and again when it changes.
void SiteKeys::complain(Complaint& before, const Error& error, const std::string& who, Time now) {
  if (!needs_a_person(error)) return;
  counters_.add(SiteKeysCounter::kRefused);
  const auto is_known = [&](const Complaint& made) {
    return made.text == error.message && now < made.at + kSayAgain;
  };
  if (is_known(complaint_)) return;
  if (std::ranges::any_of(peers_, [&](const auto& peer) { return is_known(peer->complaint); })) {
    return;
  }
  if (!before.text.empty() && now < before.at + kLogPause) return;
  before = {.text = error.message, .at = now};
  io::log(io::LogLevel::kError, fmt::format("{}, {}: {}", name_, who, error.message));
}

// --- who comes ----------------------------------------------------------------------------------

bool SiteKeys::may_begin(const io::SocketAddress& from, Time now) {
  const auto is_there = [&](const io::SocketAddress& known) {
    return known.address == from.address;
  };
  for (const auto& peer : peers_) {
    const Remote& remote = peer->remote;
    if (peer->came_from == from.address || (remote.address && is_there(*remote.address)) ||
        std::ranges::any_of(remote.more, is_there)) {
      return peer->handshakes.take(now);
    }
  }
  const std::size_t part = std::hash<std::string>{}(origin_of(from.address).to_string());
  return strangers_[part % strangers_.size()].take(now);
}

void SiteKeys::take(io::TcpConnection connection, Time now) {
  if (!may_begin(connection.peer, now)) return counters_.add(SiteKeysCounter::kHurried);
  std::vector<io::TlsFingerprint> keys;
  for (const auto& peer : peers_)
    keys.insert(keys.end(), peer->remote.keys.begin(), peer->remote.keys.end());
  auto channel = KeyChannel::begin(*site_, std::move(connection.socket),
                                   config(io::TlsRole::kServer, std::move(keys), connection.peer),
                                   reactor_, now);
  if (!channel) return;
  counters_.add(SiteKeysCounter::kCame);
  if (newcomers_.add(std::move(*channel))) counters_.add(SiteKeysCounter::kCrowded);
}

void SiteKeys::run_newcomers(Time now) {
  newcomers_.run([&](std::unique_ptr<KeyChannel>& channel) {
    channel->run(now);
    if (channel->ended()) {
      if (const auto& error = channel->error()) {
        const std::string who = channel->address().to_string();
        complain(complaint_, *error, who, now);
        if (needs_a_person(*error)) refused_ = who + ": " + error->message;
      }
      channel.reset();
    } else if (channel->peer()) {
      Peer* const peer = find(*channel->peer());
      if (peer != nullptr) {
        peer->came_from = channel->address().address;
        settle(*peer, std::move(channel), now);
      }
      channel.reset();
    }
  });
}

// --- remotes ------------------------------------------------------------------------------------

void SiteKeys::connect(Peer& peer, Time now) {
  const std::size_t next = peer.next_address++ % (peer.remote.more.size() + 1);
  const io::SocketAddress& address = next == 0 ? *peer.remote.address : peer.remote.more[next - 1];
  auto socket = io::connect_tcp(address);
  auto channel = socket ? KeyChannel::begin(*site_, std::move(*socket),
                                            config(io::TlsRole::kClient, peer.remote.keys, address),
                                            reactor_, now)
                        : tl::unexpected(socket.error());
  if (!channel) return try_later(peer, channel.error(), now);
  counters_.add(SiteKeysCounter::kConnected);
  peer.connecting = std::move(*channel);
}

void SiteKeys::try_later(Peer& peer, const Error& why, Time now) {
  peer.why = why.message;
  peer.retries.failed(now);
  complain(peer.complaint, why, fmt::format("remote {}", peer.remote.name), now);
}

// The other end has shown that it is this remote.
void SiteKeys::settle(Peer& peer, std::unique_ptr<KeyChannel> channel, Time now) {
  keep_newest(peer.channels, std::move(channel));
  peer.complaint = {};
  run_channel(peer, *peer.channels.back(), now);
}

// The server had them before it answered; it hears by what the client sends that that one has them
// too.
void SiteKeys::take(const KeyChannel& channel, wan::SealedPath& path, wan::SealKeys keys,
                    Time now) {
  const std::uint64_t name = keys.name;
  path.take(std::move(keys), now);
  if (channel.role() == io::TlsRole::kClient) path.use(name, now);
}

void SiteKeys::run_channel(Peer& peer, KeyChannel& channel, Time now) {
  channel.run(now);
  wan::SealedPath& path = *peer.remote.path;
  if (auto keys = channel.take_keys()) {
    take(channel, path, std::move(*keys), now);
    std::uint8_t way = 0;
    for (wan::SealedPath* const more : peer.remote.more_paths) {
      if (auto others = channel.keys_of_way(++way)) take(channel, *more, std::move(*others), now);
    }
    counters_.add(SiteKeysCounter::kAgreed);
    peer.cipher = channel.cipher();
    peer.why.clear();
    peer.retries.succeeded();
    peer.remote.changed();
  } else if (channel.cipher() && needs_keys(peer.remote) && now >= channel.agreed_at() + kUseless) {
    peer.why = "there are keys, but nothing comes that can be opened with them";
    channel.close();
  }
}

void SiteKeys::run_connecting(Peer& peer, Time now) {
  peer.connecting->run(now);
  if (peer.connecting->ended()) {
    const auto channel = std::move(peer.connecting);
    try_later(peer, end_of(*channel), now);
  } else if (peer.connecting->peer()) {
    settle(peer, std::move(peer.connecting), now);
  }
}

void SiteKeys::run_peer(Peer& peer, Time now) {
  if (peer.connecting) run_connecting(peer, now);
  for (auto& channel : peer.channels) {
    run_channel(peer, *channel, now);
    if (!channel->ended()) continue;
    // One that gave keys has done what it is for.
    if (!channel->cipher()) {
      try_later(peer, end_of(*channel), now);
    } else {
      peer.retries.wait_until(now + kFreshPatience);
    }
    channel.reset();
  }
  std::erase(peer.channels, nullptr);
  const bool alone = peer.channels.empty() && !peer.connecting;
  if (alone && peer.remote.address && now >= peer.retries.next()) connect(peer, now);
}

bool SiteKeys::run(Time now) {
  const auto due = deadline();
  if (!due || *due > now) return false;
  ready_ = door_->accept([&](io::TcpConnection came) { take(std::move(came), now); }, now);
  run_newcomers(now);
  for (const auto& peer : peers_)
    run_peer(*peer, now);
  return true;
}

std::optional<Time> SiteKeys::deadline() const {
  if (ready_) return Time{};
  std::optional<Time> first = door_->deadline();
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(newcomers_.deadline());
  for (const auto& peer : peers_) {
    if (peer->connecting) earlier(peer->connecting->deadline());
    for (const auto& channel : peer->channels) {
      earlier(channel->deadline());
      if (channel->cipher() && needs_keys(peer->remote)) {
        earlier(channel->agreed_at() + kUseless);
      }
    }
    if (peer->channels.empty() && !peer->connecting && peer->remote.address) {
      earlier(peer->retries.next());
    }
  }
  return first;
}

SiteKeys::Report SiteKeys::report(std::size_t remote) const {
  const Peer& peer = *peers_[remote];
  return {.connected = !peer.channels.empty(), .cipher = peer.cipher, .why = peer.why};
}

}  // namespace weft::daemon

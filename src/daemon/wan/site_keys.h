// SPDX-License-Identifier: Apache-2.0
// Where an extender gets the keys of its sealed paths from: a control channel to each remote. Both
// ends of one try to connect, as far as they know where, and either's connection will do, also both
// at once. A path keeps its keys when the channel is lost, so that only who wants to begin anew, or
// has lost them, depends on one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/allowance.h"
#include "base/counters.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "daemon/wan/key_channel.h"
#include "daemon/wan/site_connections.h"
#include "daemon/wan/tcp_door.h"
#include "io/reactor.h"
#include "io/socket_address.h"
#include "io/tls_site.h"
#include "wan/sealed_path.h"

namespace weft::daemon {

enum class SiteKeysCounter : std::uint8_t {
  kConnected,
  kCame,
  kAgreed,
  kRefused,
  kCrowded,
  kHurried,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SiteKeysCounter::kCount)>
    kSiteKeysCounters{{
        {"keys_connected", "connections to control ports of remote sites that were begun"},
        {"keys_came", "connections to the control port that were taken"},
        {"keys_agreed", "control channels that gave keys"},
        {"keys_refused", "connections whose other end was refused, or has refused this one"},
        {"keys_crowded", "connections ended because too many were at their beginning"},
        {"keys_hurried", "connections ended because too many came in a short time"},
    }};

class SiteKeys {
 public:
  struct Remote {
    std::string name;
    std::optional<io::SocketAddress> address;  // nothing: it comes here
    std::vector<io::SocketAddress> more{};     // tried in turn with that
    std::vector<io::TlsFingerprint> keys;      // that it may have; no other remote has any of them
    wan::SealedPath* path = nullptr;           // outlives this
    std::vector<wan::SealedPath*> more_paths{};  // by other ways, with keys of the same channel
    std::function<void()> changed;               // established() of the path may have
  };
  struct Report {
    bool connected = false;               // a control channel stands
    std::optional<AeadAlgorithm> cipher;  // of the newest keys
    std::string why;                      // there are no keys, for a person; may be empty
  };

  // How many TLS handshakes may begin with those that come: each costs this site more than it costs
  // whoever asks for it. One in so long, and so many at once after a pause.
  struct Limits {
    // With strangers, in each of 16 parts that all addresses are in: who connects again and again
    // is in the way of few others.
    Allowance strangers{200ms, 4};
    // With who comes from an address of a remote, or from where it has come from last: it has its
    // own, so that strangers are not in its way.
    Allowance remote{20ms, 40};
  };

  // Listens at all of these, one at least, at once. `name`: what log lines call it. The reactor
  // outlives it.
  static Expected<std::unique_ptr<SiteKeys>> open(std::string name,
                                                  std::unique_ptr<io::TlsSite> site,
                                                  const std::vector<io::SocketAddress>& own,
                                                  io::Reactor& reactor, const Limits& limits);
  SiteKeys(const SiteKeys&) = delete;
  SiteKeys& operator=(const SiteKeys&) = delete;
  ~SiteKeys();

  void add(Remote remote);

  // Does what is due. False: there was nothing to do.
  bool run(Time now);
  // In the past when something is ready.
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const io::SocketAddress& local(std::size_t place = 0) const {
    return door_->local(place);
  }
  [[nodiscard]] const io::TlsFingerprint& fingerprint() const { return site_->fingerprint(); }
  // Of remotes as they were added.
  [[nodiscard]] Report report(std::size_t remote) const;
  // Who came last and was refused, and why, in one line; empty: nobody.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  // What was logged last, so that nobody fills a log by trying again and again.
  struct Complaint {
    std::string text;
    Time at{};
  };
  struct Peer {
    Peer(Remote of, const Limits& limits) : remote(std::move(of)), handshakes(limits.remote) {}

    Remote remote;
    std::unique_ptr<KeyChannel> connecting;
    std::vector<std::unique_ptr<KeyChannel>> channels;  // that stand, as they came
    std::size_t next_address = 0;
    Retries retries;
    std::optional<AeadAlgorithm> cipher;
    std::string why;
    Complaint complaint;
    Allowance handshakes;
    std::optional<Gid> came_from;  // where it was when it last showed that it is this one
  };

  SiteKeys(std::string name, std::unique_ptr<io::TlsSite> site, io::Reactor& reactor,
           const Limits& limits);
  void take(io::TcpConnection connection, Time now);
  [[nodiscard]] bool may_begin(const io::SocketAddress& from, Time now);
  void run_newcomers(Time now);
  void run_peer(Peer& peer, Time now);
  void run_connecting(Peer& peer, Time now);
  static void take(const KeyChannel& channel, wan::SealedPath& path, wan::SealKeys keys, Time now);
  void run_channel(Peer& peer, KeyChannel& channel, Time now);
  void connect(Peer& peer, Time now);
  void try_later(Peer& peer, const Error& why, Time now);
  void settle(Peer& peer, std::unique_ptr<KeyChannel> channel, Time now);
  void complain(Complaint& before, const Error& error, const std::string& who, Time now);
  [[nodiscard]] Peer* find(const io::TlsFingerprint& key);
  [[nodiscard]] KeyChannel::Config config(io::TlsRole role, std::vector<io::TlsFingerprint> keys,
                                          const io::SocketAddress& peer);

  const std::string name_;
  const std::unique_ptr<io::TlsSite> site_;
  io::Reactor& reactor_;
  std::unique_ptr<TcpDoor> door_;
  const Limits limits_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Newcomers<KeyChannel> newcomers_;
  std::vector<Allowance> strangers_;  // by a part of their addresses
  bool ready_ = false;
  Complaint complaint_;  // about newcomers
  std::string refused_;
  CounterSet<SiteKeysCounter, kSiteKeysCounters> counters_;
};

}  // namespace weft::daemon

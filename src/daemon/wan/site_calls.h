// SPDX-License-Identifier: Apache-2.0
// How an extender that seals nothing finds out that its remotes are there, and that they are gone:
// by a TCP connection to each, which both ends try to make as far as they know where; either's will
// do, also both at once. Nothing is proved by it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/site_call.h"
#include "daemon/wan/site_connections.h"
#include "daemon/wan/tcp_door.h"
#include "io/reactor.h"
#include "io/socket_address.h"

namespace weft::daemon {

enum class SiteCallsCounter : std::uint8_t { kBegun, kCame, kAgreed, kRefused, kCrowded, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SiteCallsCounter::kCount)>
    kSiteCallsCounters{{
        {"calls_begun", "TCP connections to remote sites that were begun"},
        {"calls_came", "TCP connections from other sites that were taken"},
        {"calls_agreed", "TCP connections by which a remote site was found"},
        {"calls_refused", "TCP connections whose other end was refused, or has refused this one"},
        {"calls_crowded", "TCP connections ended because too many were at their beginning"},
    }};

class SiteCalls {
 public:
  struct Remote {
    std::string name;
    std::optional<io::SocketAddress> address;  // nothing: it comes here
    // Where frames to it leave from, by which it knows this one: one of those of open().
    io::SocketAddress own;
    std::string layers;  // wan::layers_within_ip()
    // It is there, or is gone.
    std::function<void(bool there, Time now)> changed;
  };
  struct Report {
    bool there = false;
    std::string why;  // it is not, for a person; may be empty
  };

  // Listens at all of these, one at least, at once. The reactor outlives it.
  static Expected<std::unique_ptr<SiteCalls>> open(const std::vector<io::SocketAddress>& own,
                                                   io::Reactor& reactor);
  SiteCalls(const SiteCalls&) = delete;
  SiteCalls& operator=(const SiteCalls&) = delete;

  void add(Remote remote);

  // Does what is due. False: there was nothing to do.
  bool run(Time now);
  // In the past when something is ready.
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const io::SocketAddress& local(std::size_t place = 0) const {
    return door_->local(place);
  }
  // Of remotes as they were added.
  [[nodiscard]] Report report(std::size_t remote) const;
  // Whether a remote is there, and has called from that host, or is called there.
  [[nodiscard]] bool is_at(std::size_t remote, const Gid& host) const;
  // Who came last and was refused, and why, in one line; empty: nobody.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  struct Peer {
    Remote remote;
    std::unique_ptr<SiteCall> calling;
    std::vector<std::unique_ptr<SiteCall>> standing;  // as they came
    Retries retries;
    std::string why;
  };

  explicit SiteCalls(io::Reactor& reactor) : reactor_(reactor) {}
  void take(io::TcpConnection connection, Time now);
  void run_newcomers(Time now);
  void answer(std::unique_ptr<SiteCall> call, Time now);
  [[nodiscard]] tl::expected<Peer*, std::string> find(const SiteCall& call);
  void run_peer(Peer& peer, Time now);
  void run_calling(Peer& peer, Time now);
  void call(Peer& peer, Time now);
  void try_later(Peer& peer, const Error& why, Time now);
  void stand(Peer& peer, std::unique_ptr<SiteCall> call, Time now);

  io::Reactor& reactor_;
  std::unique_ptr<TcpDoor> door_;
  std::vector<std::unique_ptr<Peer>> peers_;
  Newcomers<SiteCall> newcomers_;
  bool ready_ = false;
  std::string refused_;
  CounterSet<SiteCallsCounter, kSiteCallsCounters> counters_;
};

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// The host agent: what the processes of one user in one network namespace share. Programs come by
// a local socket, through the shim; see host/door.h for what is said there.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/counters.h"
#include "base/entropy.h"
#include "daemon/host_interfaces.h"
#include "daemon/listener.h"
#include "daemon/session.h"
#include "daemon/wire_agent.h"
#include "io/link_monitor.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "wire/ip.h"

namespace weft::daemon {

struct AgentConfig {
  std::string socket;                         // path to listen at
  Duration idle = 30s;                        // ends after so long with nothing to do
  std::size_t max_sessions = 1024;            // at a time; more are turned away
  std::size_t max_wires = 8;                  // in use at a time
  std::uint16_t roce_port = wire::kRocePort;  // UDP port of wire `roce`, for tests without it
};

enum class AgentCounter { kSessions, kEnded, kTurnedAway, kForeign, kNonsense, kUnread, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(AgentCounter::kCount)>
    kAgentCounterInfo{{
        {"agent_sessions", "connections of programs that were taken"},
        {"agent_sessions_ended", "of these, those that have ended since"},
        {"agent_turned_away", "connections ended at once, for want of room or of descriptors"},
        {"agent_foreign", "connections of other users, ended at once"},
        {"agent_nonsense", "connections ended because the program said what makes no sense"},
        {"agent_unread", "connections ended because the program does not read its answers"},
    }};
using AgentCounters = CounterSet<AgentCounter, kAgentCounterInfo>;

class Agent {
 public:
  // Listens at once, so that programs may come before run().
  static Expected<std::unique_ptr<Agent>> open(const AgentConfig& config, Entropy& entropy);
  ~Agent();

  // Serves until it has been idle for long enough, or stop() was called. The socket is gone then.
  Expected<void> run();
  // From any thread, and from signal handlers.
  void stop();

  // From any thread.
  [[nodiscard]] const AgentCounters& counters() const { return counters_; }

  // At most so many identifiers of a wire are listed in a report; their number is always right.
  static constexpr std::size_t kMostListed = 4096;

 private:
  friend class Session;
  // A file that programs have open. It lives as long as a session names it.
  struct File {
    WireAgent* wire = nullptr;
    std::uint64_t id = 0;  // the wire's name of it
    int events = -1;
    std::uint64_t secret = 0;
    std::size_t sessions = 0;
  };

  Agent(const AgentConfig& config, Entropy& entropy);
  Expected<void> start();
  void take(io::UniqueFd socket, const io::PeerCredentials& peer);
  void end(std::uint64_t session);
  Expected<WireAgent*> wire(const WireChoice& choice);
  void tell_owner(std::uint8_t slot, const hca::Agreement& agreement);
  void refresh_interfaces();
  // Somebody has something of ours, or it is still in the network. Who only looks does not count.
  [[nodiscard]] bool in_use() const;

  // What sessions ask for.
  Expected<std::uint64_t> open_file(const WireChoice& choice, const TapChoice& tap);
  Expected<void> join_file(std::uint64_t file, std::uint64_t secret);
  void leave_file(std::uint64_t file);
  // JSON, one line; its form is documented in docs/cli.md.
  [[nodiscard]] std::string report() const;

  AgentConfig config_;
  Entropy& entropy_;
  std::unique_ptr<io::Reactor> reactor_;
  HostInterfaces interfaces_;
  std::optional<io::LinkMonitor> links_;
  std::unique_ptr<Listener> listener_;
  AgentCounters counters_;
  std::map<WireChoice, std::unique_ptr<WireAgent>> wires_;
  std::map<std::uint64_t, File> files_;
  std::uint64_t last_file_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::uint64_t last_session_ = 0;
  io::Reactor::Registration watching_links_;
  Duration since_;  // on the wall's clock
  std::atomic<bool> stopping_{false};
};

}  // namespace weft::daemon

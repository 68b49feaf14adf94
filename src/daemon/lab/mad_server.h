// SPDX-License-Identifier: Apache-2.0
// The management socket of a lab: programs that manage ports (libibumad's) come to it, say on which
// node they run, and send and receive management datagrams through the MAD layer of its ports. See
// umad/protocol.h for what is said there. Whoever comes may send to every node and owns the fabric:
// the lab's user and root are let in, and whom he lets manage it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/mad_node.h"
#include "daemon/lab/mad_session.h"
#include "daemon/lab/other_users.h"
#include "daemon/lab/subnet_manager_files.h"
#include "daemon/listener.h"
#include "io/clock.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

struct MadServerConfig {
  std::string socket;                  // path to listen at
  std::optional<Entrance> shared{};    // of other users; nothing: they are not let in
  OtherUsers* others = nullptr;        // bounds what they take; null: nothing does
  std::string directory;               // for files that programs open, such as issm0
  Admission admission{};               // who may open these
  std::size_t max_connections = 4096;  // at a time; more are turned away
  MadOutbox::Limits outbox{};          // of each connection
  std::function<Time()> now = &io::now;
};

enum class MadCounter {
  kConnections,
  kEnded,
  kTurnedAway,
  kForeign,
  kNonsense,
  kRefused,
  kUnread,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(MadCounter::kCount)>
    kMadCounterInfo{{
        {"mad_connections", "connections of programs that were taken"},
        {"mad_connections_ended", "of these, those that have ended since"},
        {"mad_turned_away", "connections ended at once, for want of room or of descriptors"},
        {"mad_foreign", "connections of other users, ended at once"},
        {"mad_nonsense", "connections ended because the program said what makes no sense"},
        {"mad_refused", "datagrams given back because they could not be sent"},
        {"mad_unread", "datagrams lost because the program does not read"},
    }};
using MadCounters = CounterSet<MadCounter, kMadCounterInfo>;

class MadServer {
 public:
  // Listens at once. All that it is given outlives it; everything happens in the reactor's thread.
  static Expected<std::unique_ptr<MadServer>> open(const MadServerConfig& config, FindMadNode find,
                                                   io::Reactor& reactor);
  ~MadServer();
  MadServer(const MadServer&) = delete;
  MadServer& operator=(const MadServer&) = delete;

  [[nodiscard]] const MadCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t connections() const { return sessions_.size(); }

 private:
  friend class MadSession;
  MadServer(const MadServerConfig& config, FindMadNode find, io::Reactor& reactor);
  Expected<void> start();
  void take(io::UniqueFd socket, const io::PeerCredentials& peer);
  void end(std::uint64_t session);

  MadServerConfig config_;
  FindMadNode find_;
  io::Reactor& reactor_;
  MadCounters counters_;
  SubnetManagerFiles files_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::map<std::uint64_t, std::unique_ptr<MadSession>> sessions_;
  std::uint64_t last_session_ = 0;
};

}  // namespace weft::daemon

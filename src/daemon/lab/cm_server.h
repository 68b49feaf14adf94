// SPDX-License-Identifier: Apache-2.0
// The rdma_cm of a lab's nodes: programs come by a local socket, through the shim, and say on which
// node they run; see host/door.h for what is said there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "daemon/lab/cm_session.h"
#include "daemon/lab/connection_managers.h"
#include "daemon/lab/node_cm.h"
#include "daemon/lab/other_users.h"
#include "daemon/listener.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

struct CmServerConfig {
  std::string socket;                  // path to listen at
  std::optional<Entrance> shared{};    // of other users; nothing: they are not let in
  OtherUsers* others = nullptr;        // bounds what they take; null: nothing does
  std::size_t max_connections = 1024;  // at a time; more are turned away
};

enum class CmServerCounter : std::uint8_t {
  kConnections,
  kEnded,
  kTurnedAway,
  kForeign,
  kNonsense,
  kUnread,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(CmServerCounter::kCount)>
    kCmServerCounterInfo{{
        {"cm_connections", "connections of programs that were taken"},
        {"cm_connections_ended", "of these, those that have ended since"},
        {"cm_turned_away", "connections ended at once, for want of room or of descriptors"},
        {"cm_foreign", "connections of other users, ended at once"},
        {"cm_nonsense", "connections ended because the program said what makes no sense"},
        {"cm_unread", "connections ended because the program does not read its answers"},
    }};
using CmServerCounters = CounterSet<CmServerCounter, kCmServerCounterInfo>;

class CmServer {
 public:
  // What it is given outlives it.
  static Expected<std::unique_ptr<CmServer>> open(const CmServerConfig& config,
                                                  ConnectionManagers& managers,
                                                  io::Reactor& reactor, Entropy& entropy);
  CmServer(const CmServer&) = delete;
  CmServer& operator=(const CmServer&) = delete;
  ~CmServer();

  // From now on each adapter here answers to those who connect to it. Otherwise one does so when
  // its address is looked up, which in other parts of the lab, and in other labs, happens unseen.
  void open_all_nodes();

  [[nodiscard]] const CmServerCounters& counters() const { return counters_; }
  // Of a node; null: nobody there has used rdma_cm yet, nor anybody who wanted to reach it.
  [[nodiscard]] const NodeCm* node(std::size_t index) const;

 private:
  friend class CmSession;
  // A file that programs have open. It lives as long as a session names it.
  struct File {
    NodeCm* node = nullptr;
    uid_t user = 0;        // whose it is
    std::uint64_t id = 0;  // the node's name of it
    int events = -1;
    std::uint64_t secret = 0;
    std::size_t sessions = 0;
  };

  CmServer(const CmServerConfig& config, ConnectionManagers& managers, io::Reactor& reactor,
           Entropy& entropy);
  [[nodiscard]] fabric::Fabric& fabric() const { return managers_.hosts().fabric(); }
  Expected<void> start();
  void take(io::UniqueFd socket, const io::PeerCredentials& peer);
  void end(std::uint64_t session);
  // Of a channel adapter; it is made when it is asked for.
  Expected<NodeCm*> open_node(std::size_t index);

  // What sessions ask for.
  Expected<std::uint64_t> open_file(std::string_view node, uid_t user);
  Expected<void> join_file(std::uint64_t file, std::uint64_t secret);
  void leave_file(std::uint64_t file);

  CmServerConfig config_;
  ConnectionManagers& managers_;
  io::Reactor& reactor_;
  Entropy& entropy_;
  CmServerCounters counters_;
  std::map<std::size_t, std::unique_ptr<NodeCm>> nodes_;
  std::map<std::uint64_t, File> files_;
  std::uint64_t last_file_ = 0;
  std::map<std::uint64_t, std::unique_ptr<CmSession>> sessions_;
  std::uint64_t last_session_ = 0;
  std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace weft::daemon

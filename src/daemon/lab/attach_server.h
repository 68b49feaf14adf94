// SPDX-License-Identifier: Apache-2.0
// The attach socket of a lab: programs come to it, say on which node they run, and
// send and receive packets there through rings in memory. See port/ring for what is said and
// shared. Whoever lies is cut off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/attach_counters.h"
#include "daemon/lab/attach_session.h"
#include "daemon/lab/other_users.h"
#include "daemon/listener.h"
#include "fabric/fabric.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

struct AttachServerConfig {
  std::string socket;                  // path to listen at
  std::optional<Entrance> shared{};    // of other users; nothing: they are not let in
  OtherUsers* others = nullptr;        // bounds what they take; null: nothing does
  std::size_t max_connections = 4096;  // at a time; more are turned away
  std::size_t max_programs = 1024;     // of these, on a node
};

// Everything happens in the reactor's thread. A turn of it is
//
//   poll(now)        what programs have sent goes into the fabric
//   fabric.run(now)
//   flush(now)       what the fabric has for them is shown to them
class AttachServer {
 public:
  // Listens at once. All that it is given outlives it.
  static Expected<std::unique_ptr<AttachServer>> open(const AttachServerConfig& config,
                                                      fabric::Fabric& fabric, io::Reactor& reactor);
  ~AttachServer();
  AttachServer(const AttachServer&) = delete;
  AttachServer& operator=(const AttachServer&) = delete;

  // Looks at the rings of programs that were lately active. True: there was something.
  bool poll(Time now);
  void flush(Time now);
  // Something of a program is likely to come within a microsecond or so.
  [[nodiscard]] bool awaits_answer(Time now);
  // Some are looked at: their packets come without a descriptor that becomes ready.
  [[nodiscard]] bool any_active() const { return !active_.empty(); }
  // From now on, and until awake(), descriptors become ready for whatever programs do. False: one
  // has done something meanwhile, poll() again.
  [[nodiscard]] bool sleep();
  void awake();
  // When to poll() again, besides.
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const AttachCounters& counters() const { return counters_; }
  // Those that have a place on a port.
  [[nodiscard]] std::size_t programs() const { return arenas_.size(); }
  // One JSON object for each; docs/cli.md has its form.
  [[nodiscard]] nlohmann::json report() const;

 private:
  friend class AttachSession;
  // A program's memory, and who has been offered it.
  struct Arena {
    AttachSession* session = nullptr;
    uid_t user = 0;
    std::vector<std::uint64_t> offered;  // sessions
  };
  // The memory of a program that is gone, until nothing refers to it.
  struct Remains {
    std::uint32_t arena = 0;
    std::weak_ptr<port::ring::ProgramBlocks> blocks;
    std::vector<std::uint64_t> offered;
  };

  AttachServer(const AttachServerConfig& config, fabric::Fabric& fabric, io::Reactor& reactor);
  Expected<void> start();
  void take(io::UniqueFd socket, const io::PeerCredentials& peer);

  // What sessions say.
  [[nodiscard]] std::uint32_t new_arena() { return ++last_arena_; }
  void placed(AttachSession& session);
  void touched(AttachSession& session);
  void offered(const AttachSession& session, std::uint32_t arena);
  [[nodiscard]] bool may_read(const AttachSession& session,
                              const port::ring::ProgramBlocks& sender) const;
  // The program is gone.
  void end(AttachSession& session);

  [[nodiscard]] AttachSession* find(std::uint64_t id) const;
  // The program waits for blocks, which others have.
  void hurry(AttachSession& stalled, Time now);
  void watch_holders(const std::vector<std::uint64_t>& holders, Time now);
  void deactivate(std::size_t index);
  void cut_off(AttachSession& session);
  void bury(Time now);
  // Forgets all about it.
  void remove(AttachSession& session);

  const AttachServerConfig config_;
  fabric::Fabric& fabric_;
  io::Reactor& reactor_;
  AttachCounters counters_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::map<std::uint64_t, std::unique_ptr<AttachSession>> sessions_;
  std::uint64_t last_session_ = 0;
  std::unordered_map<std::uint32_t, Arena> arenas_;  // by their numbers
  std::uint32_t last_arena_ = 0;
  std::vector<Remains> remains_;
  std::vector<AttachSession*> active_;
  std::vector<AttachSession*> to_flush_;
  std::vector<AttachSession*> waiting_;  // with a deadline
  std::vector<AttachSession*> leaving_;
  Time now_{};
};

}  // namespace weft::daemon

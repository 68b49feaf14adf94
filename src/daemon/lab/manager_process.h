// SPDX-License-Identifier: Apache-2.0
// Weft's subnet manager and administrator as a process of their own, at a port of a lab's node that
// they reach as every program does that manages ports. There may be several on the nodes of a lab,
// beside OpenSM and the lab's own: one is the master (sm/mastership.h). Each is asked at a socket
// of its own (manager_admin.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/lab/managed_subnet.h"
#include "daemon/lab/manager_admin.h"
#include "daemon/lab/remote_mad_layer.h"
#include "fabric/lab.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "umad/connection.h"

namespace weft::daemon {

// The port of a node that a manager is at if nobody says another one: 1, of a switch 0. Errors: the
// lab has no such node, or does not run.
Expected<std::uint32_t> usual_manager_port(const umad::Place& place);

// How the names end of the sockets in a lab's directory at which such managers are asked.
inline constexpr const char* kManagerAdminSuffix = ".admin";

// Where a manager that is a process at this port is asked. Errors: there is no such node or port,
// or the lab does not run.
Expected<std::string> manager_admin_path(const umad::Place& place, std::uint32_t port);

struct ManagerProcessConfig {
  umad::Place place;
  std::uint32_t port = 1;
  // All but manager, node and database count.
  fabric::LabManagement management{};
  // Whose data services and rules for paths are this manager's; nothing: all paths are direct. Its
  // nodes are those of the lab that runs, by their GUIDs.
  std::optional<fabric::Lab> policies{};
  // The file by which it remembers; empty: it does not.
  std::string database{};
  // It ends when it has set up the subnet, or has found that it is not the one to do so.
  bool once = false;
};

class ManagerProcess {
 public:
  // It is there from now on: programs find that the port has a manager. `tell` hears what it has to
  // say, notes on its files first. Errors: address_in_use: another one is at this port; a file is
  // wrong; the database is another program's; what RemoteMadLayer::open() says.
  static Expected<std::unique_ptr<ManagerProcess>> open(const ManagerProcessConfig& config,
                                                        const sm::EventHandler& tell);
  ManagerProcess(const ManagerProcess&) = delete;
  ManagerProcess& operator=(const ManagerProcess&) = delete;

  // Until stop(), or with `once` until that is done. Errors: the lab has ended; with `once` why the
  // subnet is not as it should be.
  Expected<void> run();
  // From any thread, and from signal handlers.
  void stop();

 private:
  ManagerProcess(const ManagerProcessConfig& config, std::unique_ptr<io::Reactor> reactor,
                 std::unique_ptr<RemoteMadLayer> layer, std::unique_ptr<ManagedSubnet> subnet);
  Expected<void> announce(const umad::Place& place, std::uint32_t port);
  // Of one that runs once: nothing while there is something to do.
  [[nodiscard]] std::optional<Expected<void>> outcome() const;

  const bool once_;
  const std::optional<fabric::Lab> policies_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<RemoteMadLayer> layer_;
  std::unique_ptr<ManagedSubnet> subnet_;
  std::unique_ptr<ManagerAdmin> admin_;
  io::UniqueFd is_manager_;  // open: the port's CapabilityMask has IsSM
  std::atomic<bool> stopping_{false};
};

}  // namespace weft::daemon

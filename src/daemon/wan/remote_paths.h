// SPDX-License-Identifier: Apache-2.0
// The paths of an extender to its remotes, each through what its encapsulation asks for.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/remote_path.h"
#include "fabric/lab_extender.h"
#include "io/reactor.h"
#include "io/socket_address.h"

namespace weft::daemon {

class RemotePaths {
 public:
  // Opens all sockets and interfaces that the extender's remotes need. Errors name the remote, and
  // say what of its encapsulation cannot be. The reactor outlives it.
  static Expected<std::unique_ptr<RemotePaths>> open(const fabric::LabExtender& extender,
                                                     io::Reactor& reactor);

  // As PathSocket has it.
  void set_landing(wan::Landing& landing);
  // The paths to one of the extender's remotes; once of each. They stay as long as this.
  [[nodiscard]] std::vector<RemotePath*> add(std::size_t remote, Time now);
  // As PathSocket has it.
  void close();
  // After frames have been handed to paths.
  void watch_for_room();
  // Does what is due. False: there was nothing to do.
  bool run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Where the extender is reached; with the port that the kernel has chosen where there was none.
  [[nodiscard]] const std::vector<io::SocketAddress>& locals() const { return locals_; }
  [[nodiscard]] std::vector<CounterValue> counters() const;

 private:
  // What paths of the same kind share.
  struct Shared {
    std::string name;  // of the kind, and of what it needs
    std::unique_ptr<PathSocket> socket;
  };

  RemotePaths(const fabric::LabExtender& extender, io::Reactor& reactor);
  Expected<void> open_remote(const fabric::LabRemote& remote);
  Expected<std::unique_ptr<PathSocket>> open_socket(const fabric::LabRemote& remote);

  const fabric::LabExtender& extender_;
  io::Reactor& reactor_;
  std::vector<io::SocketAddress> locals_;
  std::vector<Shared> shared_;
  std::vector<std::size_t> of_remotes_;  // indices in shared_
};

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/remote_path.h"
#include "io/reactor.h"

namespace weft::daemon {

// Paths through one descriptor that a reactor watches: for what comes, and for room while there are
// frames that wait for it.
class WatchedPaths : public PathSocket {
 public:
  // PathSocket
  void watch_for_room() override;

 protected:
  // Begins, and ends, which must be before the descriptor is closed. The reactor outlives it.
  Expected<void> watch(int fd, io::Reactor& reactor);
  void end_watch() { watch_.reset(); }
  void watch(RemotePath& path) { watched_.push_back(&path); }
  // There may be something to receive.
  virtual void receive_all(Time now) = 0;
  // Frames that the socket refused, of all paths.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  void on_ready(std::uint32_t events);

  std::vector<RemotePath*> watched_;
  bool watching_for_room_ = false;
  io::Reactor* reactor_ = nullptr;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon

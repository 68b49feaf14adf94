// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/remote_path.h"
#include "io/reactor.h"

namespace weft::daemon {

// Paths through descriptors that a reactor watches: for what comes, and each for room while there
// are frames that wait for it.
class WatchedPaths : public PathSocket {
 public:
  // PathSocket
  void watch_for_room() override;

 protected:
  // Begins, of one more, whose place is how many were there before; ends, of all, which must be
  // before they are closed. The reactor outlives it.
  Expected<void> watch(int fd, io::Reactor& reactor);
  void end_watch() { watches_.clear(); }
  void watch(RemotePath& path) { watched_.push_back(&path); }
  // There may be something to receive.
  virtual void receive_all(Time now) = 0;
  // Frames that the socket refused, of all paths.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  void on_ready(std::uint32_t events);

  struct Watch {
    io::Reactor::Registration registration;
    bool for_room = false;
  };

  std::vector<RemotePath*> watched_;
  io::Reactor* reactor_ = nullptr;
  std::vector<Watch> watches_;  // by place
};

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// Between two processes on the two nodes of a service's pair, on one machine: each tells the other
// its services' records, so that whoever takes over knows what is connected. Each listens at a
// socket in the lab's directory, and tells by a connection of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "io/reactor.h"
#include "io/unique_fd.h"
#include "umad/connection.h"

namespace weft::daemon {

class PairLink {
 public:
  // How long after it was not there the other one is looked for again.
  static constexpr Duration kPause = 100ms;
  using Hear = std::function<void(std::size_t service, Bytes record)>;

  // `place` is this one's, `other` the other one's node in the same lab. `reactor` outlives it;
  // `hear` is called from its turns. Errors: address_in_use: another process is this member; the
  // lab's directory is another user's.
  static Expected<std::unique_ptr<PairLink>> open(const umad::Place& place,
                                                  const std::string& other, io::Reactor& reactor,
                                                  Hear hear);
  ~PairLink();
  PairLink(const PairLink&) = delete;
  PairLink& operator=(const PairLink&) = delete;

  // Any thread. False: the other one is there and has no room for it.
  bool tell(std::size_t service, Bytes record);
  // Looks for the other one, if it is time: call it every kPause.
  void run(Time now);
  [[nodiscard]] bool is_connected() const { return connected_.load(std::memory_order_relaxed); }

 private:
  PairLink(io::Reactor& reactor, std::string own, std::string other, Hear hear)
      : reactor_(reactor), own_(std::move(own)), other_(std::move(other)), hear_(std::move(hear)) {}
  Expected<void> listen();
  void accept();
  void read();

  io::Reactor& reactor_;
  const std::string own_;  // paths
  const std::string other_;
  const Hear hear_;
  io::UniqueFd listener_;
  io::UniqueFd hearing_;  // the newest connection to it
  io::Reactor::Registration listener_watch_;
  io::Reactor::Registration hearing_watch_;
  Time looked_{};

  std::mutex mutex_;      // of what follows
  io::UniqueFd telling_;  // none: the other one is not there
  std::atomic<bool> connected_{false};
};

}  // namespace weft::daemon

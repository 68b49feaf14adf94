// SPDX-License-Identifier: Apache-2.0
// The lines of an extender, each to one remote.
#pragma once

#include <memory>
#include <vector>

#include "daemon/wan/line_path.h"
#include "daemon/wan/remote_path.h"
#include "fabric/lab_extender.h"
#include "io/reactor.h"
#include "io/system_entropy.h"
#include "wan/encapsulation/ends.h"

namespace weft::daemon {

class LineSocket final : public PathSocket {
 public:
  // The reactor outlives it.
  explicit LineSocket(io::Reactor& reactor) : reactor_(reactor) {}

  // Of the next remote: what add() will give. Errors say what of its line, or of what is on it,
  // cannot be.
  Expected<void> open(const fabric::LabRemote& remote, const wan::Ends& ends);

  // PathSocket
  RemotePath& add(const fabric::LabRemote& remote, std::size_t place, Time now) override;
  void watch_for_room() override {}
  bool run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;
  [[nodiscard]] std::vector<CounterValue> counters() const override;
  void close() override;

 private:
  struct Of {
    std::string remote;
    std::unique_ptr<LinePath> path;
  };

  io::Reactor& reactor_;
  io::SystemEntropy entropy_;
  std::vector<Of> paths_;
};

}  // namespace weft::daemon

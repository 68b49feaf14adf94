// SPDX-License-Identifier: Apache-2.0
// The links of a lab's extenders whose WAN is a fibre: each remote is the other end of one, on
// which packets travel as they are (wan/fibre_end.h).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "fabric/fabric.h"
#include "io/reactor.h"
#include "wan/fibre_end.h"

namespace weft::daemon {

// As WanLinks, to which it belongs: packets that a fibre brought lie in the fabric's memory.
class FibreLinks final : private wan::FibreUser {
 public:
  explicit FibreLinks(fabric::Fabric& fabric);
  FibreLinks(const FibreLinks&) = delete;
  FibreLinks& operator=(const FibreLinks&) = delete;
  ~FibreLinks() override;

  // How many packets each remote may have here: as many as its credit lets come.
  [[nodiscard]] static std::size_t most_packets(const fabric::LabExtender& extender) {
    return static_cast<std::size_t>(extender.buffer_bytes / link::Packet::kBlock) * wan::kLanes;
  }
  // Of an extender all of whose remotes are on fibres. Errors name the remote.
  Expected<void> open(const fabric::LabExtender& extender, io::Reactor& reactor);
  void start(Time now);
  void stop(Time now);
  // Does what is due. False: there was nothing to do.
  bool run(Time now);
  // As of FibreStream: from now on the reactor tells what has come. False: run() again.
  [[nodiscard]] bool sleep();
  void awake();
  // When to run(): in the past when something is ready.
  [[nodiscard]] std::optional<Time> deadline() const;
  // An array of extenders, as docs/cli.md has them.
  [[nodiscard]] nlohmann::json report() const;

 private:
  struct Remote;

  // wan::FibreUser
  void wake(wan::FibreEnd& end) override;
  [[nodiscard]] nlohmann::json report(const Remote& remote) const;

  fabric::Fabric& fabric_;
  std::vector<const fabric::LabExtender*> extenders_;
  std::vector<std::unique_ptr<Remote>> remotes_;  // of all of them
  std::vector<wan::FibreEnd*> woken_;
  std::vector<wan::FibreEnd*> running_;
};

}  // namespace weft::daemon

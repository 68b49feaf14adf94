// SPDX-License-Identifier: Apache-2.0
// The ways to one remote, each sealed unless the extender is insecure, and what makes one path for
// a tunnel of them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "daemon/wan/connected_paths.h"
#include "daemon/wan/remote_path.h"
#include "fabric/lab_extender.h"
#include "wan/path_bundle.h"
#include "wan/sealed_path.h"
#include "wan/tunnel_end.h"

namespace weft::daemon {

class RemoteLegs {
 public:
  // One path at least, which outlive it and are its own from now on.
  RemoteLegs(std::vector<RemotePath*> paths, const fabric::LabRemote& remote,
             const fabric::LabExtender& extender, Entropy& entropy, Time now);
  RemoteLegs(const RemoteLegs&) = delete;
  RemoteLegs& operator=(const RemoteLegs&) = delete;

  // For a tunnel, which is told by set_tunnel() what comes. It outlives what comes.
  [[nodiscard]] wan::Path& path() { return bundle_; }
  void set_tunnel(wan::TunnelEnd& tunnel);
  // As of RemotePath, for each way.
  void set_admits(const RemotePath::Admits& admits);

  // What keys are for, one for each way; none where the extender is insecure.
  [[nodiscard]] std::vector<wan::SealedPath*> seals() const;

  // Does what is due.
  void run(Time now);
  // Ends the connections of networks that have such.
  void stop(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Where the remote is, for a person.
  [[nodiscard]] std::string remote_text() const;
  // What is known of the remote as a neighbour, of each way that needs it, as docs/cli.md has it.
  [[nodiscard]] nlohmann::json neighbours() const;
  // What the connection is doing, of each way that has one, likewise.
  [[nodiscard]] nlohmann::json connections() const;
  // Each way, as docs/cli.md has them; nothing where there is one alone that is not watched.
  [[nodiscard]] nlohmann::json report() const;
  // Of all ways.
  [[nodiscard]] std::vector<CounterValue> counters() const;

 private:
  // What carries whatever is sealed, or frames in the clear.
  [[nodiscard]] wan::Path& way(std::size_t leg) const;
  [[nodiscard]] std::vector<std::unique_ptr<wan::SealedPath>> seal(
      const fabric::LabExtender& extender) const;
  [[nodiscard]] std::vector<wan::Path*> carriers() const;
  [[nodiscard]] RemotePath::User sealed_user_of(std::size_t leg, wan::TunnelEnd& tunnel);
  [[nodiscard]] RemotePath::User user_of(std::size_t leg, wan::TunnelEnd& tunnel);
  [[nodiscard]] wan::SealedPath& seal_of(Bytes datagram, std::size_t leg) const;

  const std::vector<RemotePath*> paths_;
  const std::vector<std::unique_ptr<wan::ConnectedPath>> connections_;  // of all paths, or none
  const std::vector<std::unique_ptr<wan::SealedPath>> seals_;
  const bool adapts_;
  wan::PathBundle bundle_;
  wan::TunnelEnd* tunnel_ = nullptr;
};

}  // namespace weft::daemon

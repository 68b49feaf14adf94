// SPDX-License-Identifier: Apache-2.0
// The tunnels of one extender to its remotes, and the sockets that their frames go through, sealed
// with keys that both sites agree on. What is on this side of a tunnel its user brings along: a
// port of a switch, of a router, or of whatever else takes packets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/remote_paths.h"
#include "daemon/wan/site_calls.h"
#include "daemon/wan/site_keys.h"
#include "fabric/lab_extender.h"
#include "io/reactor.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/bulk_buffer.h"
#include "wan/tunnel_end.h"

namespace weft::daemon {

class SiteTunnels final : private wan::TunnelUser {
 public:
  // Listens at once, and reads the keys. `lab`, whose remotes are not on fibres, and the others
  // outlive it, the pool until stop(). `name`: what errors and log lines call it.
  static Expected<std::unique_ptr<SiteTunnels>> open(const fabric::LabExtender& lab,
                                                     const std::string& name,
                                                     link::PacketPool& pool, Entropy& entropy,
                                                     io::Reactor& reactor);
  // How many packets each direction of each remote may have: as many of 1 KiB as its buffer holds,
  // for all lanes together.
  [[nodiscard]] static std::size_t most_packets(const fabric::LabExtender& lab) {
    return static_cast<std::size_t>(std::max<std::uint64_t>(lab.buffer_bytes >> 10, 4096));
  }
  ~SiteTunnels() override;
  SiteTunnels(const SiteTunnels&) = delete;
  SiteTunnels& operator=(const SiteTunnels&) = delete;

  [[nodiscard]] const fabric::LabExtender& lab() const { return lab_; }
  // The tunnel to the next of the extender's remotes, with `near` on this side, until stop(). Of
  // `options` the port and the mode count: the rest is as the extender has it.
  void add(link::Port& near, wan::TunnelOptions options, Time now);
  // Tells the remotes that it ends, and lets go of the ports.
  void stop(Time now);

  // Does what is due. False: there was nothing to do.
  bool run(Time now);
  // In the past when something is ready.
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] std::size_t size() const { return remotes_.size(); }
  // Of the extender, with `remotes` still to come, and of one of its remotes, as docs/cli.md has
  // them.
  [[nodiscard]] nlohmann::json report() const;
  [[nodiscard]] nlohmann::json report(std::size_t remote) const;

 private:
  struct Remote;

  SiteTunnels(const fabric::LabExtender& lab, std::unique_ptr<RemotePaths> paths,
              link::PacketPool& pool, Entropy& entropy);
  Expected<void> open_keys(const std::string& name, io::Reactor& reactor);
  void follow_calls(Remote& remote, std::size_t index);

  // wan::TunnelUser
  void wake(wan::TunnelEnd& end) override;

  const fabric::LabExtender& lab_;
  link::PacketPool& pool_;
  Entropy& entropy_;
  std::unique_ptr<RemotePaths> paths_;
  wan::BulkBuffer buffer_;
  std::vector<std::unique_ptr<Remote>> remotes_;
  std::vector<std::vector<io::TlsFingerprint>> remote_keys_;
  std::unique_ptr<SiteKeys> keys_;    // null: it is insecure
  std::unique_ptr<SiteCalls> calls_;  // null: it has no setup by TCP
  std::vector<wan::TunnelEnd*> woken_;
  std::vector<wan::TunnelEnd*> running_;
};

}  // namespace weft::daemon

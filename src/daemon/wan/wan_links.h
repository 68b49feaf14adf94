// SPDX-License-Identifier: Apache-2.0
// The links of a lab's extenders to other sites: for each remote a tunnel (site_tunnels.h), whose
// port is joined to one of the extender's switch or of its router. Tunnels of others run with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/fibre_links.h"
#include "daemon/wan/roce_side.h"
#include "daemon/wan/site_tunnels.h"
#include "daemon/wan/subnet_router.h"
#include "fabric/fabric.h"
#include "io/reactor.h"

namespace weft::daemon {

// A turn of the reactor's thread is
//
//   run(now)         what has come goes into the fabric, and what the fabric has for others leaves
//   fabric.run(now)
//
// Packets that came over the WAN lie in its memory: it goes after the fabric, and is told stop()
// before.
class WanLinks final {
 public:
  // Listens at once, for all extenders that `fabric` runs, and reads their keys. Errors name the
  // extender.
  static Expected<std::unique_ptr<WanLinks>> open(fabric::Fabric& fabric, io::Reactor& reactor,
                                                  Entropy& entropy);
  // How many packets each direction of each remote may have: as many of 1 KiB as its buffer holds,
  // for all lanes together.
  [[nodiscard]] static std::size_t most_packets(const fabric::LabExtender& lab) {
    if (lab.on_fibres()) return FibreLinks::most_packets(lab);
    return SiteTunnels::most_packets(lab);
  }
  WanLinks(const WanLinks&) = delete;
  WanLinks& operator=(const WanLinks&) = delete;
  ~WanLinks();

  // Those of somebody else in this process, whose packets are of the fabric: from now on they are
  // run, and stopped, with the others. Errors have `name` before them.
  Expected<SiteTunnels*> open_tunnels(const fabric::LabExtender& lab, const std::string& name,
                                      io::Reactor& reactor);

  // After the fabric's: from now on other sites are looked for.
  void start(Time now);
  // Tells them that it ends, and lets go of the fabric.
  void stop(Time now);

  // Does what is due. False: there was nothing to do.
  bool run(Time now);
  // As of FibreStream: from now on the reactor tells what has come. False: run() again.
  [[nodiscard]] bool sleep() { return fibres_.sleep(); }
  void awake() { fibres_.awake(); }
  // When to run(): in the past when something is ready.
  [[nodiscard]] std::optional<Time> deadline() const;

  // The extenders and their remotes, as docs/cli.md has them.
  [[nodiscard]] nlohmann::json report() const;

 private:
  struct Extender;

  WanLinks(fabric::Fabric& fabric, Entropy& entropy);
  Expected<void> open_extender(const fabric::LabExtender& lab, io::Reactor& reactor);
  Expected<void> make_router(Extender& extender, io::Reactor& reactor);
  [[nodiscard]] static nlohmann::json report(const Extender& extender, std::size_t index);
  void add_remote(Extender& extender, std::size_t index, Time now);
  // Of the two between the extender and a tunnel.
  [[nodiscard]] link::PortOptions port_options(const fabric::LabExtender& lab) const;
  // What the tunnel to a remote is joined to.
  [[nodiscard]] link::Port& near_port(Extender& extender, std::size_t index);
  // What is between the extender's tunnels and what is here: a router, or a bridge for RoCE.
  static bool run_near(Extender& extender, Time now);
  [[nodiscard]] static std::optional<Time> near_deadline(const Extender& extender);

  fabric::Fabric& fabric_;
  Entropy& entropy_;
  std::vector<std::unique_ptr<Extender>> extenders_;
  FibreLinks fibres_;  // of extenders that have such
  std::vector<std::unique_ptr<SiteTunnels>> others_;
};

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
// The data services of a lab that work on external servers: of each port of theirs the place, and
// the tunnel from there to its server.
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
#include "daemon/service/external_place.h"
#include "daemon/service/place_ports.h"
#include "daemon/service/place_watches.h"
#include "daemon/wan/wan_links.h"
#include "fabric/fabric.h"
#include "fabric/lab.h"
#include "fabric/lab_service.h"
#include "fabric/lab_subnets.h"
#include "io/reactor.h"
#include "sm/policy/path_steering.h"

namespace weft::daemon {

class ExternalServices {
 public:
  // Whether the lab has any; how many packets each direction of each of them may have, all
  // together.
  [[nodiscard]] static bool has_any(const fabric::Lab& lab);
  [[nodiscard]] static std::size_t most_packets(const fabric::Lab& lab);

  // All outlive it. `wan` runs the tunnels, and stops them before this goes.
  ExternalServices(fabric::Fabric& fabric, WanLinks& wan, Entropy& entropy)
      : fabric_(fabric), wan_(wan), entropy_(entropy), subnets_(fabric.lab()) {}
  ExternalServices(const ExternalServices&) = delete;
  ExternalServices& operator=(const ExternalServices&) = delete;

  // Opens those whose ports are here. Errors: a key cannot be read; an address cannot be had; a
  // port has no room.
  Expected<void> open(io::Reactor& reactor);
  // After the fabric's: from now on the servers are looked for.
  void start(Time now);

  // Whom to tell of them, and who says their LIDs. They outlive this.
  void steer_by(Steerings steerings) { steerings_ = std::move(steerings); }
  // After Fabric::run(), and at deadline().
  struct Ran {
    bool worked = false;   // there was something to do
    bool changed = false;  // the managers are to run, for one was told what changes paths
  };
  Ran run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] bool empty() const { return places_.empty(); }
  // Appends a row for each service and port: docs/cli.md.
  void report(nlohmann::json& rows) const;

 private:
  struct Placed {
    const fabric::LabService* service = nullptr;
    Guid guid{};               // of the port
    bool joined = false;       // with the service's other ports at the node: it joins subnets
    std::size_t subnet = 0;    // of the lab's, that the port is in
    std::vector<Lid> given{};  // LIDs that the lab file has for it, and for its pair
    fabric::LabExtender way{};
    std::unique_ptr<ExternalPlace> place{};
    std::unique_ptr<PlacePorts> port{};
    SiteTunnels* tunnel = nullptr;
    bool woken = false;
    bool told_well = true;  // the manager, of its health: all are well at first
    std::string trouble{};  // why it has not all of its LIDs
  };

  Expected<void> open(const fabric::LabService& service, const fabric::LabServiceInstance& instance,
                      const fabric::LabServiceMember& member, std::size_t index,
                      io::Reactor& reactor);
  void set_lids(Placed& placed) const;
  // Without whose server or port it is of no use: itself, or another one at its node; null: it is
  // well.
  [[nodiscard]] const Placed* missed_by(const Placed& placed) const;
  [[nodiscard]] static std::string why(const Placed& missed);
  void tell_health();
  void publish(const ExternalPlace& from, const wan::ServiceRecord& record);

  fabric::Fabric& fabric_;
  WanLinks& wan_;
  Entropy& entropy_;
  const fabric::LabSubnets subnets_;
  std::vector<std::unique_ptr<Placed>> places_;
  Steerings steerings_;
  std::optional<std::uint64_t> generation_;  // of all steerings that the places know of
};

}  // namespace weft::daemon

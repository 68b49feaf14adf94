// SPDX-License-Identifier: Apache-2.0
// A data service on a host of its own, which need not be in any fabric: labs send it the packets
// that are to go through the service, over tunnels, and get back what goes on. One thread does it
// all. A router has an address for each port that a place of it is at.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/buffer_pool.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/service/firewall_log.h"
#include "daemon/service/firewall_rules.h"
#include "daemon/service/served_place.h"
#include "daemon/service/service_maker.h"
#include "daemon/wan/site_tunnels.h"
#include "fabric/lab_external.h"
#include "fabric/lab_service.h"
#include "io/reactor.h"
#include "io/system_entropy.h"
#include "link/packet_pool.h"

namespace weft::daemon {

struct ServiceServerConfig {
  fabric::LabService service{};  // type, and what is of that; its name is for messages
  fabric::LabExternalServer at{};
};

class ServiceServer {
 public:
  // `tell` hears, in a line each, who comes and who goes.
  using Tell = std::function<void(const std::string& line)>;

  // Listens from now on. Errors: a service's own file cannot be read or is wrong; a key cannot; an
  // address cannot be had; a router has one address alone.
  static Expected<std::unique_ptr<ServiceServer>> open(ServiceServerConfig config, Tell tell);
  ServiceServer(const ServiceServer&) = delete;
  ServiceServer& operator=(const ServiceServer&) = delete;
  ~ServiceServer();

  // Until stop(). `woken`: is called after wake().
  Expected<void> run(const std::function<void()>& woken);
  // From any thread, and from signal handlers.
  void stop();
  void wake();

  // By run()'s thread, as from `woken`: the rules of all its firewalls are read anew, and exchanged
  // if they are right; all of them together.
  Expected<FirewallReload> reload();

  // {"type", "server": {…}, "places": [{…}]}: docs/cli.md.
  [[nodiscard]] nlohmann::json report() const;

 private:
  struct Served {
    MadeService made{};  // but for the service itself, which is in its place
    std::unique_ptr<ServedPlace> place{};
    bool woken = false;
    std::vector<bool> told_up{};  // of each port
  };

  ServiceServer(ServiceServerConfig config, Tell tell, std::unique_ptr<io::Reactor> reactor);
  Expected<void> start();
  bool work(Time now);
  [[nodiscard]] Duration time_to_deadline(Time now) const;
  void tell_changes();
  // What is told of a place, by one of its ports.
  void tell_change(std::size_t place, std::size_t port, bool up) const;
  [[nodiscard]] nlohmann::json report(std::size_t place) const;
  [[nodiscard]] std::size_t places() const { return ways_.front().remotes.size(); }

  const ServiceServerConfig config_;
  const std::vector<fabric::LabExtender> ways_;  // by the number of a place's port, from 0
  const Tell tell_;
  std::unique_ptr<io::Reactor> reactor_;
  io::SystemEntropy entropy_;
  FirewallLog log_;
  BufferPool payloads_;
  BufferPool blocks_;
  link::PacketPool packets_;
  std::vector<std::unique_ptr<SiteTunnels>> tunnels_;  // one for each of `ways_`
  std::vector<std::unique_ptr<Served>> places_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> woken_{false};
};

}  // namespace weft::daemon

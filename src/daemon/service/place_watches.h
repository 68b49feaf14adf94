// SPDX-License-Identifier: Apache-2.0
// The places where a lab's data services work, those of processes too, and what the subnet manager
// is told of each: whether it is well, and how much it has to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "daemon/service/place_watch.h"
#include "daemon/service/service_place.h"
#include "fabric/channel_adapter.h"
#include "fabric/lab_service.h"
#include "sm/policy/path_steering.h"

namespace weft::daemon {

class PlaceWatches {
 public:
  // One that works in the daemon; both outlive it.
  void add(const fabric::LabService& service, std::size_t instance, const ServicePlace& place);
  // One of a process, at a port that `node` has; both outlive it.
  void add(const fabric::LabService& service, std::size_t instance, fabric::ChannelAdapter& node,
           mgmt::PortNumber port);
  [[nodiscard]] bool empty() const { return places_.empty(); }

  // After whatever has happened, and at deadline(). True: what services.lids() or paths come to may
  // have become another. `steering`: whom to tell; null: nobody.
  bool run(Time now, sm::PathSteering* steering);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Puts into a place's row whether it is well, and its packets a second: docs/cli.md.
  void report(const ServicePlace& place, nlohmann::json& row) const;
  // Rows for the places of processes; of one service by its name; empty: of all.
  void report_processes(const std::string& service, nlohmann::json& rows) const;

 private:
  struct Watched {
    const fabric::LabService* service = nullptr;
    std::size_t instance = 0;
    const fabric::ChannelAdapter* node = nullptr;
    mgmt::PortNumber port = 0;
    const ServicePlace* place = nullptr;   // null: of a process
    const fabric::RawPort* raw = nullptr;  // of a process
    PlaceWatch watch{true};
    bool told = true;  // of its port's health: all are well at first
    std::optional<std::uint64_t> revision{};
    [[nodiscard]] const fabric::NodePort& at() const { return node->port(port); }
  };
  [[nodiscard]] static PlaceWatch::Work work_of(const Watched& place);
  [[nodiscard]] static bool is_served(const Watched& place, const sm::PathSteering* steering);
  static void report(const Watched& place, nlohmann::json& row);
  void tell_health(sm::DataServices& services);
  void tell_rates(sm::DataServices& services) const;

  std::vector<Watched> places_;
  std::uint64_t generation_ = 0;  // of the steering, when it was looked who is served
};

}  // namespace weft::daemon

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

// By the lab's subnets, what the manager of each steers by; null: it is not here, or not Weft's.
using Steerings = std::vector<sm::PathSteering*>;
[[nodiscard]] sm::PathSteering* steering_of(const Steerings& steerings, std::size_t subnet);
// Grows when any of them has other LIDs or paths.
[[nodiscard]] std::uint64_t generation_of(const Steerings& steerings);

class PlaceWatches {
 public:
  // A port of a place, and what it is to the manager of its subnet.
  struct Seat {
    mgmt::PortNumber port = 0;
    std::size_t instance = 0;
    std::size_t subnet = 0;  // of the lab's
  };

  // One that works in the daemon; both outlive it.
  void add(const fabric::LabService& service, const Seat& seat, const ServicePlace& place);
  // One more port of a place that is there already, a router's.
  void add_port(const ServicePlace& place, const Seat& seat);
  // One of a process, at a port that `node` has; both outlive it. `others`: ports of the node that
  // it needs besides, as one does that joins subnets.
  void add(const fabric::LabService& service, const Seat& seat, fabric::ChannelAdapter& node,
           std::vector<mgmt::PortNumber> others);
  [[nodiscard]] bool empty() const { return places_.empty(); }

  // After whatever has happened, and at deadline(). True: what services.lids() or paths come to may
  // have become another. `steerings`: whom to tell.
  bool run(Time now, const Steerings& steerings);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Puts into a place's row whether it is well, and its packets a second: docs/cli.md.
  void report(const ServicePlace& place, nlohmann::json& row) const;
  // Rows for the places of processes; of one service by its name; empty: of all.
  void report_processes(const std::string& service, nlohmann::json& rows) const;

 private:
  struct Watched {
    const fabric::LabService* service = nullptr;
    std::vector<Seat> seats{};
    const fabric::ChannelAdapter* node = nullptr;
    const ServicePlace* place = nullptr;     // null: of a process
    fabric::RawPort* raw = nullptr;          // of a process
    std::vector<mgmt::PortNumber> others{};  // of a process: ports without which it is of no use
    PlaceWatch watch{true};
    std::vector<bool> told{true};  // of each seat's health: all are well at first
    std::optional<std::uint64_t> revision{};
    [[nodiscard]] bool is_at(const fabric::ChannelAdapter& adapter, mgmt::PortNumber port) const;
    // Whether one does not work without the other one.
    [[nodiscard]] bool is_joined_with(const Watched& other) const;
    // What is routed needs all ports of the place: empty, or which other one is not up.
    [[nodiscard]] std::optional<mgmt::PortNumber> missed_at(mgmt::PortNumber port) const;
  };
  [[nodiscard]] static PlaceWatch::Work work_of(const Watched& place);
  [[nodiscard]] static bool is_served(const Watched& place, const sm::PathSteering* steering);
  // Tells the port which service LIDs lead there: the process does not know them.
  static void tell_lids(const Watched& place, const sm::PathSteering* steering);
  void report(const Watched& place, nlohmann::json& row) const;
  void tell_health(const Steerings& steerings);
  [[nodiscard]] bool is_well(const Watched& place, mgmt::PortNumber port) const;
  void tell_rates(sm::DataServices& services, std::size_t subnet) const;

  std::vector<Watched> places_;
  std::uint64_t generation_ = 0;  // of all steerings, when it was looked who is served
};

}  // namespace weft::daemon

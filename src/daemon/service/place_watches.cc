// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/place_watches.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::daemon {

using fabric::LabService;
using Json = nlohmann::json;
using service::RuntimeCounter;

sm::PathSteering* steering_of(const Steerings& steerings, std::size_t subnet) {
  return subnet < steerings.size() ? steerings[subnet] : nullptr;
}

// They only grow, and so does their sum.
std::uint64_t generation_of(const Steerings& steerings) {
  std::uint64_t sum = 0;
  for (const sm::PathSteering* const steering : steerings)
    sum += steering == nullptr ? 0 : steering->generation();
  return sum;
}

void PlaceWatches::add(const LabService& service, const Seat& seat, const ServicePlace& place) {
  places_.push_back({.service = &service, .seats = {seat}, .node = &place.node(), .place = &place});
}

void PlaceWatches::add_port(const ServicePlace& place, const Seat& seat) {
  Watched& watched = *std::ranges::find(places_, &place, &Watched::place);
  watched.seats.push_back(seat);
  watched.told.push_back(true);
}

void PlaceWatches::add(const LabService& service, const Seat& seat, fabric::ChannelAdapter& node,
                       std::vector<mgmt::PortNumber> others) {
  const auto raw = node.raw_port(seat.port);
  if (!raw) return;
  places_.push_back({.service = &service,
                     .seats = {seat},
                     .node = &node,
                     .raw = *raw,
                     .others = std::move(others),
                     .watch = PlaceWatch(false)});
}

bool PlaceWatches::Watched::is_at(const fabric::ChannelAdapter& adapter,
                                  mgmt::PortNumber port) const {
  return node == &adapter && std::ranges::find(seats, port, &Seat::port) != seats.end();
}

bool PlaceWatches::Watched::is_joined_with(const Watched& other) const {
  return node == other.node && service == other.service && !others.empty();
}

std::optional<mgmt::PortNumber> PlaceWatches::Watched::missed_at(mgmt::PortNumber port) const {
  std::vector<mgmt::PortNumber> needed = others;
  for (const Seat& seat : seats)
    needed.push_back(seat.port);
  const auto missed = std::ranges::find_if(needed, [&](mgmt::PortNumber other) {
    return other != port && node->port_info(other).state != wire::PortState::kActive;
  });
  return missed == needed.end() ? std::nullopt : std::optional(*missed);
}

// Of a flood of packets to GIDs that nobody has, an instance is not to blame: its standby would
// fare no better. What finds no room among connections and numbers, or to wait, is another matter.
PlaceWatch::Work PlaceWatches::work_of(const Watched& place) {
  if (place.place == nullptr) {
    return {.packets = place.node->port(place.seats.front().port)
                           .counters()
                           .get(fabric::NodeCounter::kDiverted)};
  }
  const service::RuntimeCounters& counters = place.place->runtime().counters();
  const std::uint64_t no_memory = place.place->count(ServicePlaceCounter::kNoMemory);
  return {.packets = counters.get(RuntimeCounter::kPackets) + no_memory,
          .lost = counters.get(RuntimeCounter::kDropMapFull) +
                  counters.get(RuntimeCounter::kDropHoldFull) + no_memory};
}

// For all LIDs that the instance has, also while another port has them: who stands by must be
// ready.
bool PlaceWatches::is_served(const Watched& place, const sm::PathSteering* steering) {
  std::vector<Lid> lids;
  const auto index =
      steering == nullptr ? std::nullopt : steering->services().find(place.service->name);
  if (index) {
    const auto& instances = steering->services().services()[*index].instances;
    for (const sm::ServiceMember& member : instances[place.seats.front().instance])
      lids.insert(lids.end(), member.lids.begin(), member.lids.end());
  } else {
    for (const fabric::LabServiceMember& member :
         place.service->instances[place.seats.front().instance])
      lids.insert(lids.end(), member.lids.begin(), member.lids.end());
  }
  return !lids.empty() &&
         std::ranges::all_of(lids, [&](Lid lid) { return place.raw->is_served(lid); });
}

void PlaceWatches::tell_lids(const Watched& place, const sm::PathSteering* steering) {
  if (steering == nullptr) return;
  const Guid port = place.node->port(place.seats.front().port).guid();
  std::vector<Lid> lids;
  for (const sm::ServiceLid& lid : steering->services().lids()) {
    if (lid.port == port) lids.push_back(lid.lid);
  }
  place.raw->set_service_lids(std::move(lids));
}

bool PlaceWatches::run(Time now, const Steerings& steerings) {
  const std::uint64_t generation = generation_of(steerings);
  bool looked = false;
  for (Watched& place : places_) {
    if (place.raw != nullptr &&
        (place.revision != place.raw->revision() || generation_ != generation)) {
      place.revision = place.raw->revision();
      const std::size_t subnet = place.seats.front().subnet;
      const sm::PathSteering* const steering = steering_of(steerings, subnet);
      tell_lids(place, steering);
      place.watch.set_served(is_served(place, steering), now);
    }
    if (place.watch.is_due(now)) {
      place.watch.look(work_of(place), now);
      looked = true;
    }
    place.watch.run(now);
  }
  generation_ = generation;
  tell_health(steerings);
  for (std::size_t subnet = 0; looked && subnet < steerings.size(); ++subnet) {
    if (steerings[subnet] != nullptr) tell_rates(steerings[subnet]->services(), subnet);
  }
  return generation_of(steerings) != generation;
}

// Of several services at one port, none is to ail, nor what they need at others. No path leads to
// who gets copies.
bool PlaceWatches::is_well(const Watched& place, mgmt::PortNumber port) const {
  return std::ranges::none_of(places_, [&](const Watched& other) {
    const bool here = other.is_at(*place.node, port);
    if (!(here || other.is_joined_with(place)) || other.service->is_tap()) return false;
    return !other.watch.is_well() || (here && other.missed_at(port).has_value());
  });
}

// Health is a port's, and each subnet's manager has its own ports.
void PlaceWatches::tell_health(const Steerings& steerings) {
  for (Watched& place : places_) {
    for (std::size_t i = 0; i < place.seats.size(); ++i) {
      const Seat& seat = place.seats[i];
      sm::PathSteering* const steering = steering_of(steerings, seat.subnet);
      const bool well = is_well(place, seat.port);
      if (steering == nullptr || well == place.told[i]) continue;
      place.told[i] = well;
      steering->services().set_health(place.node->port(seat.port).guid(), well);
    }
  }
}

void PlaceWatches::tell_rates(sm::DataServices& services, std::size_t subnet) const {
  for (const Watched& first : places_) {
    if (!first.service->by_load || first.service->instances.size() < 2) continue;
    const auto index = services.find(first.service->name);
    if (!index || &first != &*std::ranges::find(places_, first.service, &Watched::service))
      continue;
    std::vector<std::uint64_t> rates(first.service->instances.size());
    for (const Watched& place : places_) {
      if (place.service != first.service) continue;
      for (const Seat& seat : place.seats) {
        if (seat.subnet == subnet) rates[seat.instance] += place.watch.rate();
      }
    }
    services.set_rates(*index, rates);
  }
}

std::optional<Time> PlaceWatches::deadline() const {
  std::optional<Time> first;
  for (const Watched& place : places_) {
    const auto due = place.watch.deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

void PlaceWatches::report(const Watched& place, Json& row) const {
  row["well"] = place.watch.is_well();
  if (!place.watch.is_well()) row["ails"] = place.watch.why();
  for (const Seat& seat : place.seats) {
    const auto missed = place.missed_at(seat.port);
    if (!missed || row.contains("ails")) continue;
    row["well"] = false;
    row["ails"] = fmt::format("its port {} is not up, and what is routed needs all", *missed);
  }
  for (const Watched& other : places_) {
    const bool ails = &other != &place && other.is_joined_with(place) && !other.watch.is_well();
    if (!ails || row.contains("ails")) continue;
    row["well"] = false;
    row["ails"] = fmt::format("at its port {}: {}, and what is routed needs all",
                              other.seats.front().port, other.watch.why());
  }
  row["packets_per_s"] = place.watch.rate();
}

void PlaceWatches::report(const ServicePlace& place, Json& row) const {
  const auto found = std::ranges::find(places_, &place, &Watched::place);
  if (found != places_.end()) report(*found, row);
}

void PlaceWatches::report_processes(const std::string& service, Json& rows) const {
  for (const Watched& place : places_) {
    if (place.place != nullptr || (!service.empty() && place.service->name != service)) continue;
    Json row{{"name", place.service->name},
             {"type", place.service->type},
             {"node", place.node->name()},
             {"port", place.seats.front().port}};
    report(place, row);
    rows.push_back(std::move(row));
  }
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/place_watches.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::daemon {

using fabric::LabService;
using Json = nlohmann::json;
using service::RuntimeCounter;

void PlaceWatches::add(const LabService& service, std::size_t instance, const ServicePlace& place) {
  places_.push_back({.service = &service,
                     .instance = instance,
                     .node = &place.node(),
                     .port = place.port(),
                     .place = &place});
}

void PlaceWatches::add(const LabService& service, std::size_t instance,
                       fabric::ChannelAdapter& node, mgmt::PortNumber port) {
  const auto raw = node.raw_port(port);
  if (!raw) return;
  places_.push_back({.service = &service,
                     .instance = instance,
                     .node = &node,
                     .port = port,
                     .raw = *raw,
                     .watch = PlaceWatch(false)});
}

// Of a flood of packets to GIDs that nobody has, an instance is not to blame: its standby would
// fare no better. What finds no room among connections and numbers, or to wait, is another matter.
PlaceWatch::Work PlaceWatches::work_of(const Watched& place) {
  if (place.place == nullptr) {
    return {.packets = place.at().counters().get(fabric::NodeCounter::kDiverted)};
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
    for (const sm::ServiceMember& member : instances[place.instance])
      lids.insert(lids.end(), member.lids.begin(), member.lids.end());
  } else {
    for (const fabric::LabServiceMember& member : place.service->instances[place.instance])
      lids.insert(lids.end(), member.lids.begin(), member.lids.end());
  }
  return !lids.empty() &&
         std::ranges::all_of(lids, [&](Lid lid) { return place.raw->is_served(lid); });
}

bool PlaceWatches::run(Time now, sm::PathSteering* steering) {
  const std::uint64_t generation = steering == nullptr ? 0 : steering->generation();
  bool looked = false;
  for (Watched& place : places_) {
    if (place.raw != nullptr &&
        (place.revision != place.raw->revision() || generation_ != generation)) {
      place.revision = place.raw->revision();
      place.watch.set_served(is_served(place, steering), now);
    }
    if (place.watch.is_due(now)) {
      place.watch.look(work_of(place), now);
      looked = true;
    }
    place.watch.run(now);
  }
  generation_ = generation;
  if (steering == nullptr) return false;
  tell_health(steering->services());
  if (looked) tell_rates(steering->services());
  return steering->generation() != generation;
}

// Health is a port's: of several services at one, none is to ail. No path leads to who gets copies.
void PlaceWatches::tell_health(sm::DataServices& services) {
  const auto same = [](const Watched& place) { return place.watch.is_well() == place.told; };
  if (std::ranges::all_of(places_, same)) return;
  for (Watched& place : places_) {
    const auto ails = [&](const Watched& other) {
      return other.node == place.node && other.port == place.port && !other.service->is_tap() &&
             !other.watch.is_well();
    };
    const bool well = std::ranges::none_of(places_, ails);
    if (well == place.told) continue;
    place.told = well;
    services.set_health(place.at().guid(), well);
  }
}

void PlaceWatches::tell_rates(sm::DataServices& services) const {
  for (const Watched& first : places_) {
    if (!first.service->by_load || first.service->instances.size() < 2) continue;
    const auto index = services.find(first.service->name);
    if (!index || &first != &*std::ranges::find(places_, first.service, &Watched::service))
      continue;
    std::vector<std::uint64_t> rates(first.service->instances.size());
    for (const Watched& place : places_) {
      if (place.service == first.service) rates[place.instance] += place.watch.rate();
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

void PlaceWatches::report(const Watched& place, Json& row) {
  row["well"] = place.watch.is_well();
  if (!place.watch.is_well()) row["ails"] = place.watch.why();
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
             {"port", place.port}};
    report(place, row);
    rows.push_back(std::move(row));
  }
}

}  // namespace weft::daemon

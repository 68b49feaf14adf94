// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/external_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/lab/steering_options.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;
using fabric::LabService;

// Calls `each` with every port of an external service, its pair, and the how manieth of its it is.
template <class Each>
void each_member(const fabric::Lab& lab, Each&& each) {
  for (const LabService& service : lab.data.services) {
    if (!service.is_external()) continue;
    std::size_t index = 0;
    for (const fabric::LabServiceInstance& instance : service.instances) {
      for (const fabric::LabServiceMember& member : instance)
        each(service, instance, member, index++);
    }
  }
}

}  // namespace

bool ExternalServices::has_any(const fabric::Lab& lab) {
  return std::ranges::any_of(lab.data.services, &LabService::is_external);
}

std::size_t ExternalServices::most_packets(const fabric::Lab& lab) {
  std::size_t packets = 0;
  each_member(lab, [&](const LabService& service, const auto&, const auto&, std::size_t index) {
    packets += SiteTunnels::most_packets(service.external.way_of(index));
  });
  return packets;
}

Expected<void> ExternalServices::open(io::Reactor& reactor) {
  Expected<void> done;
  each_member(fabric_.lab(), [&](const LabService& service, const auto& instance,
                                 const auto& member, std::size_t index) {
    if (done) done = open(service, instance, member, index, reactor);
  });
  return done;
}

Expected<void> ExternalServices::open(const LabService& service,
                                      const fabric::LabServiceInstance& instance,
                                      const fabric::LabServiceMember& member, std::size_t index,
                                      io::Reactor& reactor) {
  fabric::ChannelAdapter* const adapter = fabric_.find_adapter(member.at.node);
  if (adapter == nullptr) return {};
  const std::string name =
      fmt::format("service {} at {}:{}", service.name, member.at.node, member.at.port);
  auto placed = std::make_unique<Placed>();
  Placed* const raw = placed.get();
  auto place = ExternalPlace::open(
      *adapter, member.at.port, fabric_.pool(),
      [this](ExternalPlace& from, const wan::ServiceRecord& record) { publish(from, record); },
      [raw] { raw->woken = true; }, entropy_);
  if (!place) return fail(place.error().code, name + ": " + place.error().message);
  placed->service = &service;
  placed->guid = adapter->port(member.at.port).guid();
  placed->subnet = subnets_.of(fabric_.lab(), member.at);
  for (const fabric::LabServiceMember& each : instance)
    placed->given.insert(placed->given.end(), each.lids.begin(), each.lids.end());
  placed->way = service.external.way_of(index);
  placed->joined = joins_subnets(fabric_.lab(), subnets_, service);
  placed->place = std::move(*place);
  placed->port = std::make_unique<PlacePorts>(
      *adapter, [at = placed->place.get()](mgmt::PortNumber, std::uint64_t prefix) {
        at->set_subnet(prefix, io::now());
      });
  placed->port->add(member.at.port);
  if (service.select == LabService::Select::kOthers) {
    for (const fabric::RawRule& rule :
         {fabric::RawRule(fabric::OtherLids{}), fabric::RawRule(fabric::OtherGids{})}) {
      if (auto diverted = placed->place->at().divert(rule); !diverted) return diverted;
    }
  }
  for (const GidPrefix& gids : service.gids) {
    if (auto diverted = placed->place->at().divert(gids); !diverted) return diverted;
  }
  auto tunnel = wan_.open_tunnels(placed->way, name, reactor);
  if (!tunnel) return tl::unexpected(tunnel.error());
  placed->tunnel = *tunnel;
  places_.push_back(std::move(placed));
  return {};
}

void ExternalServices::start(Time now) {
  const wan::TunnelOptions options{.port = wan::ExternalEnd::kPort,
                                   .mode = wan::TunnelMode::kService};
  for (const auto& placed : places_)
    placed->tunnel->add(placed->place->tunnel_port(), options, now);
}

void ExternalServices::set_lids(Placed& placed) const {
  if (placed.service->select != LabService::Select::kLids) return;
  const sm::PathSteering* const steering = steering_of(steerings_, placed.subnet);
  std::vector<Lid> lids = steering == nullptr ? placed.given : std::vector<Lid>{};
  if (steering != nullptr) {
    const sm::DataServices& services = steering->services();
    const auto index = services.find(placed.service->name);
    for (const sm::ServiceLid& lid : services.lids()) {
      if (lid.port == placed.guid && services.owner_of(lid.lid) == index) lids.push_back(lid.lid);
    }
  }
  const auto set = placed.place->at().set_lids(lids);
  placed.trouble = set ? std::string() : set.error().message;
}

// Its own port's state its subnet manager knows; that of another one is another manager's to know.
const ExternalServices::Placed* ExternalServices::missed_by(const Placed& placed) const {
  if (!placed.place->well()) return &placed;
  if (!placed.joined) return nullptr;
  const auto missed = std::ranges::find_if(places_, [&](const auto& other) {
    const RawPlace& at = other->place->at();
    if (other.get() == &placed || other->service != placed.service ||
        &at.node() != &placed.place->at().node()) {
      return false;
    }
    return !other->place->well() ||
           at.node().port_info(at.port()).state != wire::PortState::kActive;
  });
  return missed == places_.end() ? nullptr : missed->get();
}

std::string ExternalServices::why(const Placed& missed) {
  if (missed.place->well()) {
    return fmt::format("its port {} is not up, and what is routed needs all",
                       missed.place->at().port());
  }
  const std::string why =
      missed.tunnel->size() == 0 ? "" : missed.tunnel->report(0).value("why", std::string());
  return fmt::format("the server at {} is not there{}{}",
                     to_string(*missed.way.remotes.front().address), why.empty() ? "" : ": ", why);
}

// Whose server is gone gets no new paths, and its pair takes over.
void ExternalServices::tell_health() {
  for (const auto& placed : places_) {
    sm::PathSteering* const steering = steering_of(steerings_, placed->subnet);
    const bool well = missed_by(*placed) == nullptr;
    if (steering == nullptr || placed->told_well == well) continue;
    placed->told_well = well;
    steering->services().set_health(placed->guid, well);
  }
}

ExternalServices::Ran ExternalServices::run(Time now) {
  Ran ran;
  if (places_.empty()) return ran;
  const std::uint64_t generation = generation_of(steerings_);
  if (generation_ != generation) {
    generation_ = generation;
    for (const auto& placed : places_) {
      set_lids(*placed);
      placed->place->paths_changed(now);
    }
  }
  for (const auto& placed : places_) {
    placed->port->run();
    const auto due = placed->place->deadline();
    if (!placed->woken && (!due || *due > now)) continue;
    placed->woken = false;
    placed->place->run(now);
    ran.worked = true;
  }
  tell_health();
  ran.changed = generation_of(steerings_) != generation;
  return ran;
}

std::optional<Time> ExternalServices::deadline() const {
  std::optional<Time> first;
  for (const auto& placed : places_) {
    if (placed->woken) return Time{};
    const auto due = placed->place->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

// One instance tells all the others of the same service. Several ports of a router are one
// instance, which hears it once.
void ExternalServices::publish(const ExternalPlace& from, const wan::ServiceRecord& record) {
  const auto teller =
      std::ranges::find(places_, &from, [](const auto& placed) { return placed->place.get(); });
  if (teller == places_.end()) return;
  const Time now = io::now();
  std::vector<const fabric::ChannelAdapter*> told{&from.at().node()};
  for (const auto& placed : places_) {
    if (placed->service != (*teller)->service || placed->place.get() == &from) continue;
    if (placed->joined) {
      const fabric::ChannelAdapter* const node = &placed->place->at().node();
      if (!placed->place->well() || std::ranges::find(told, node) != told.end()) continue;
      told.push_back(node);
    }
    placed->place->apply(record, now);
  }
}

void ExternalServices::report(Json& rows) const {
  for (const auto& placed : places_) {
    const ExternalPlace& place = *placed->place;
    const Placed* const missed = missed_by(*placed);
    Json lids = Json::array();
    for (const Lid lid : place.at().lids())
      lids.push_back(lid.value());
    Json row{{"name", placed->service->name},    {"type", placed->service->type},
             {"node", place.at().node().name()}, {"port", place.at().port()},
             {"lids", std::move(lids)},          {"well", missed == nullptr}};
    place.report(row);
    row["server"] = placed->tunnel->report();
    if (placed->tunnel->size() != 0) row["server"].update(placed->tunnel->report(0));
    if (!placed->trouble.empty()) {
      row["why"] = placed->trouble;
    } else if (missed != nullptr) {
      row["why"] = why(*missed);
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/lab_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/counters_json.h"
#include "daemon/service/service_maker.h"
#include "fabric/lab.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;
using fabric::LabService;

Json drops_json(const ServicePlace& place, const service::Service& service) {
  return counters_json(place.runtime().drops(service));
}

}  // namespace

LabServices::~LabServices() = default;

Expected<void> LabServices::open() {
  for (const LabService& service : fabric_.lab().data.services) {
    for (const fabric::LabServiceInstance& instance : service.instances) {
      for (const fabric::LabServiceMember& member : instance) {
        if (auto opened = open(service, member); !opened) return opened;
      }
    }
  }
  return {};
}

Expected<void> LabServices::open(const LabService& service,
                                 const fabric::LabServiceMember& member) {
  fabric::ChannelAdapter* const adapter = fabric_.find_adapter(member.at.node);
  if (adapter == nullptr) return {};
  if (!works_in_daemon(service)) {
    adapter->carry_service(entropy_);
    return {};
  }
  auto made = make_service(service);
  if (!made) return tl::unexpected(made.error());
  std::vector<std::unique_ptr<service::Service>> services;
  services.push_back(std::move(*made));
  ServicePlace::Peers& peers = *this;
  auto place = ServicePlace::open(*adapter, member.at.port, std::move(services),
                                  {.packets = fabric_.pool(), .blocks = blocks_}, peers, entropy_);
  if (!place) {
    return fail(place.error().code,
                fmt::format("service {} at {}:{}: {}", service.name, member.at.node, member.at.port,
                            place.error().message));
  }
  if (service.select == LabService::Select::kOthers) {
    for (const fabric::RawRule& rule :
         {fabric::RawRule(fabric::OtherLids{}), fabric::RawRule(fabric::OtherGids{})}) {
      if (auto diverted = (*place)->divert(rule); !diverted) return diverted;
    }
  }
  for (const GidPrefix& gids : service.gids) {
    if (auto diverted = (*place)->divert(gids); !diverted) return diverted;
  }
  places_.push_back({.service = &service,
                     .guid = adapter->port(member.at.port).guid(),
                     .given = member.lids,
                     .place = std::move(*place)});
  return {};
}

void LabServices::set_lids(const sm::PathSteering* steering) {
  std::vector<sm::ServiceLid> all;
  if (steering != nullptr) all = steering->services().lids();
  for (Placed& placed : places_) {
    if (placed.service->select != LabService::Select::kLids) continue;
    std::vector<Lid> lids = steering == nullptr ? placed.given : std::vector<Lid>{};
    const auto index =
        steering == nullptr ? std::nullopt : steering->services().find(placed.service->name);
    for (const sm::ServiceLid& lid : all) {
      if (lid.port == placed.guid && steering->services().owner_of(lid.lid) == index) {
        lids.push_back(lid.lid);
      }
    }
    const auto set = placed.place->set_lids(lids);
    placed.trouble = set ? std::string() : set.error().message;
  }
}

void LabServices::run(Time now, const sm::PathSteering* steering) {
  if (places_.empty()) return;
  const std::uint64_t generation = steering == nullptr ? 0 : steering->generation();
  if (generation_ != generation) {
    generation_ = generation;
    set_lids(steering);
    for (const Placed& placed : places_)
      placed.place->paths_changed();
  }
  for (const Placed& placed : places_)
    placed.place->run(now);
}

std::optional<Time> LabServices::deadline() const {
  std::optional<Time> first;
  for (const Placed& placed : places_) {
    const auto due = placed.place->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

// One instance tells all the others of the same service.
void LabServices::publish(ServicePlace& from, std::size_t service, Bytes record) {
  const auto teller =
      std::ranges::find(places_, &from, [](const Placed& placed) { return placed.place.get(); });
  if (teller == places_.end()) return;
  const Time now = io::now();
  for (const Placed& placed : places_) {
    if (placed.service == teller->service && placed.place.get() != &from) {
      placed.place->apply(service, record, now);
    }
  }
}

// No service that works here has a mirror.
void LabServices::mirror(ServicePlace&, Bytes, const service::Arrival&) {
}

Json LabServices::report() const {
  Json out = Json::array();
  for (const Placed& placed : places_) {
    const ServicePlace& place = *placed.place;
    Json lids = Json::array();
    for (const Lid lid : place.lids())
      lids.push_back(lid.value());
    Json row{{"name", placed.service->name},
             {"type", placed.service->type},
             {"node", place.node().name()},
             {"port", place.port()},
             {"lids", std::move(lids)},
             {"held", place.runtime().held()},
             {"paths", place.runtime().paths().size()},
             {"counters", counters_json(place.runtime().counters().snapshot())},
             {"port_counters", counters_json(place.counters())}};
    if (!placed.trouble.empty()) row["why"] = placed.trouble;
    for (const auto& service : place.services()) {
      row["drops"] = drops_json(place, *service);
      row["service"] = counters_json(service->counters());
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace weft::daemon

// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/lab_services.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "carrier/datagram_peer.h"
#include "daemon/counters_json.h"
#include "daemon/service/firewall_rules.h"
#include "fabric/lab.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;
using fabric::LabService;

// Of the services at a place, as other parts are told.
std::uint32_t which_of(std::size_t service) {
  return service == service::Runtime::kMapping ? PartRecord::kRuntime
                                               : static_cast<std::uint32_t>(service);
}

Json drops_json(const ServicePlace& place, const service::Service& service) {
  return counters_json(place.runtime().drops(service));
}

}  // namespace

LabServices::~LabServices() = default;

Expected<void> LabServices::open() {
  for (const LabService& service : fabric_.lab().data.services) {
    for (std::size_t i = 0; i < service.instances.size(); ++i) {
      for (const fabric::LabServiceMember& member : service.instances[i]) {
        if (auto opened = open(service, i, member); !opened) return opened;
      }
    }
  }
  return {};
}

Expected<void> LabServices::open(const LabService& service, std::size_t instance,
                                 const fabric::LabServiceMember& member) {
  if (service.is_external()) return {};  // ExternalServices has those
  fabric::ChannelAdapter* const adapter = fabric_.find_adapter(member.at.node);
  if (adapter == nullptr) return {};
  if (!works_in_daemon(service)) {
    adapter->carry_service(entropy_);
    const std::size_t subnet = subnets_.of(fabric_.lab(), member.at);
    watches_.add(service, {.port = member.at.port, .instance = instance, .subnet = subnet},
                 *adapter, joined_ports(service, member));
    if (service.has_threads() && threads_ != nullptr) {
      threads_->add(service, member.at.node, member.at.port);
    }
    return {};
  }
  const auto wrong = [&](const Error& error) {
    return fail(error.code, fmt::format("service {} at {}:{}: {}", service.name, member.at.node,
                                        member.at.port, error.message));
  };
  if (Placed* const there = find_router(service, member.at.node)) {
    if (auto joined = join(*there, instance, member); !joined) return wrong(joined.error());
    return {};
  }
  auto made = make_service(fabric_.lab(), service, member.at, entropy_, log_);
  if (!made) return wrong(made.error());
  std::vector<std::unique_ptr<service::Service>> services;
  if (made->before) services.push_back(std::move(made->before));
  services.push_back(std::move(made->service));
  ServicePlace::Peers& peers = *this;
  auto place = ServicePlace::open(*adapter, member.at.port, std::move(services),
                                  {.chain = chain_of(service), .is_tap = service.is_tap()},
                                  {.packets = fabric_.pool(), .blocks = blocks_}, peers, entropy_);
  if (!place) return wrong(place.error());
  if (auto diverted = divert(**place, service); !diverted) return wrong(diverted.error());
  // Another instance may have been at work for a while.
  const auto other = std::ranges::find(places_, &service, &Placed::service);
  if (other != places_.end()) (*place)->catch_up(*other->place, clock_());
  places_.push_back({.service = &service,
                     .seats = {seat_of(service.instances[instance], member)},
                     .made = std::move(*made),
                     .place = std::move(*place)});
  Placed& placed = places_.back();
  if (placed.made.in_subnet) {
    const auto tell = [in_subnet = placed.made.in_subnet, at = placed.place.get()](
                          mgmt::PortNumber port, std::uint64_t prefix) {
      in_subnet(port, prefix);
      at->paths_changed();
    };
    placed.ports = std::make_unique<PlacePorts>(*adapter, tell);
    placed.ports->add(member.at.port);
  }
  watches_.add(
      service,
      {.port = member.at.port, .instance = instance, .subnet = placed.seats.front().subnet},
      *placed.place);
  return {};
}

// Besides its LIDs, which the subnet manager says.
Expected<void> LabServices::divert(ServicePlace& place, const LabService& service) {
  std::vector<fabric::RawRule> rules(service.gids.begin(), service.gids.end());
  if (service.select == LabService::Select::kOthers) {
    rules.insert(rules.end(), {fabric::OtherLids{}, fabric::OtherGids{}});
  }
  if (service.is_tap()) rules.emplace_back(fabric::Everything{});
  for (const fabric::RawRule& rule : rules) {
    if (auto diverted = place.divert(rule); !diverted) return diverted;
  }
  return {};
}

std::vector<mgmt::PortNumber> LabServices::joined_ports(
    const LabService& service, const fabric::LabServiceMember& member) const {
  std::vector<mgmt::PortNumber> others;
  if (!joins_subnets(fabric_.lab(), subnets_, service)) return others;
  for (const fabric::LabServiceInstance& instance : service.instances) {
    for (const fabric::LabServiceMember& other : instance) {
      const bool is_same = other.at.port == member.at.port;
      if (other.at.node == member.at.node && !is_same) others.push_back(other.at.port);
    }
  }
  return others;
}

// Where no manager says so, nobody knows which of a pair has the LIDs of both: the one to which
// they are routed, and so each of them is ready for all.
LabServices::Seat LabServices::seat_of(const fabric::LabServiceInstance& instance,
                                       const fabric::LabServiceMember& member) {
  const fabric::Lab& lab = fabric_.lab();
  Seat seat{.port = member.at.port,
            .guid = lab.find_node(member.at.node)->port_guids[member.at.port - 1u],
            .subnet = subnets_.of(lab, member.at)};
  for (const fabric::LabServiceMember& each : instance)
    seat.given.insert(seat.given.end(), each.lids.begin(), each.lids.end());
  return seat;
}

LabServices::Placed* LabServices::find_router(const LabService& service, std::string_view node) {
  if (service.type != "router") return nullptr;
  const auto found = std::ranges::find_if(places_, [&](const Placed& placed) {
    return placed.service == &service && placed.place->node().name() == node;
  });
  return found == places_.end() ? nullptr : &*found;
}

Expected<void> LabServices::join(Placed& placed, std::size_t instance,
                                 const fabric::LabServiceMember& member) {
  if (auto added = placed.place->add_port(member.at.port, entropy_); !added) return added;
  placed.seats.push_back(seat_of(placed.service->instances[instance], member));
  placed.ports->add(member.at.port);
  const std::size_t subnet = placed.seats.back().subnet;
  watches_.add_port(*placed.place,
                    {.port = member.at.port, .instance = instance, .subnet = subnet});
  return {};
}

std::vector<Lid> LabServices::lids_of(const LabService& service, const Seat& seat) const {
  const sm::PathSteering* const steering = steering_of(steerings_, seat.subnet);
  if (steering == nullptr) return seat.given;
  const sm::DataServices& services = steering->services();
  const auto index = services.find(service.name);
  std::vector<Lid> lids;
  for (const sm::ServiceLid& lid : services.lids()) {
    if (lid.port == seat.guid && services.owner_of(lid.lid) == index) lids.push_back(lid.lid);
  }
  return lids;
}

void LabServices::set_lids() {
  for (Placed& placed : places_) {
    if (placed.service->select != LabService::Select::kLids) continue;
    placed.trouble.clear();
    for (const Seat& seat : placed.seats) {
      const auto set = placed.place->set_lids(seat.port, lids_of(*placed.service, seat));
      if (!set) placed.trouble = set.error().message;
    }
  }
}

void LabServices::forget_gone() {
  gone_.resize(steerings_.size());
  for (std::size_t subnet = 0; subnet < steerings_.size(); ++subnet) {
    if (steerings_[subnet] == nullptr) continue;
    const sm::DataServices& services = steerings_[subnet]->services();
    if (services.gone() == gone_[subnet]) continue;
    for (const Guid port : services.gone_since(gone_[subnet])) {
      for (const Placed& placed : places_)
        placed.place->forget(port);
    }
    gone_[subnet] = services.gone();
  }
}

bool LabServices::run(Time now) {
  const bool told = watches_.run(now, steerings_);
  forget_gone();
  const std::uint64_t generation = generation_of(steerings_);
  if (generation_ != generation) {
    generation_ = generation;
    set_lids();
    for (const Placed& placed : places_)
      placed.place->paths_changed();
  }
  for (const Placed& placed : places_) {
    if (placed.ports) placed.ports->run();
    placed.place->run(now);
  }
  return told;
}

std::optional<Time> LabServices::deadline() const {
  std::optional<Time> first = watches_.deadline();
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
  const Time now = clock_();
  for (const Placed& placed : places_) {
    if (placed.service == teller->service && placed.place.get() != &from) {
      placed.place->apply(service, record, now);
    }
  }
  if (parts_ == nullptr || !is_elsewhere_too(*teller->service)) return;
  parts_->tell(
      {.service = number_of(*teller->service), .which = which_of(service), .record = record});
}

bool LabServices::is_elsewhere_too(const LabService& service) const {
  return std::ranges::any_of(service.instances, [&](const auto& instance) {
    return std::ranges::any_of(instance, [&](const fabric::LabServiceMember& member) {
      return fabric_.find_adapter(member.at.node) == nullptr;
    });
  });
}

std::uint64_t LabServices::number_of(const LabService& service) const {
  return carrier::link_number(
      fmt::format("{} service {} {}", fabric_.lab().name, service.type, service.name));
}

// One that begins there learns all that those here know.
void LabServices::part_came(PartRecordSink& part) {
  struct Sink final : service::Service::RecordSink {
    Sink(PartRecordSink& to_part, std::uint64_t of, std::uint32_t which_one)
        : to(to_part), number(of), which(which_one) {}
    void take(Bytes record) override {
      to.tell({.service = number, .which = which, .record = record});
    }
    PartRecordSink& to;
    std::uint64_t number;
    std::uint32_t which;
  };
  for (const Placed& placed : places_) {
    if (!is_elsewhere_too(*placed.service)) continue;
    const std::uint64_t number = number_of(*placed.service);
    Sink mapping(part, number, PartRecord::kRuntime);
    placed.place->runtime().snapshot(mapping);
    const auto services = placed.place->services();
    for (std::size_t i = 0; i < services.size(); ++i) {
      Sink sink(part, number, which_of(i));
      services[i]->snapshot(sink);
    }
  }
}

void LabServices::record_came(const PartRecord& record) {
  const std::size_t which =
      record.which == PartRecord::kRuntime ? service::Runtime::kMapping : record.which;
  const Time now = clock_();
  for (const Placed& placed : places_) {
    if (number_of(*placed.service) == record.service) {
      placed.place->apply(which, record.record, now);
    }
  }
}

// The one at the same node where there is one, so that a pair's copies stay apart.
ServicePlace* LabServices::mirror_of(const ServicePlace& from) {
  const auto teller =
      std::ranges::find(places_, &from, [](const Placed& placed) { return placed.place.get(); });
  if (teller == places_.end() || teller->service->mirror_to.empty()) return nullptr;
  ServicePlace* found = nullptr;
  for (const Placed& placed : places_) {
    if (placed.service->name != teller->service->mirror_to) continue;
    if (&placed.place->node() == &from.node()) return placed.place.get();
    if (found == nullptr) found = placed.place.get();
  }
  return found;
}

bool LabServices::mirror(ServicePlace& from, Bytes packet, const service::Arrival& arrival) {
  ServicePlace* const to = mirror_of(from);
  return to != nullptr && to->show(packet, arrival, clock_());
}

Expected<const LabService*> LabServices::find(const std::string& name) const {
  const fabric::Lab& lab = fabric_.lab();
  if (const LabService* const found = lab.data.find(name)) return found;
  std::vector<std::string_view> names;
  for (const LabService& service : lab.data.services)
    names.push_back(service.name);
  return fail(
      std::errc::no_such_device,
      fmt::format("lab {} has no service {}{}", lab.name, name,
                  names.empty() ? "" : fmt::format("; there are {}", fmt::join(names, ", "))));
}

Expected<Json> LabServices::answer(const std::string& name, bool details) const {
  if (!name.empty()) {
    if (const auto found = find(name); !found) return tl::unexpected(found.error());
  }
  return Json{{"services", report(name, details)}};
}

// All instances have them from the same moment on: nothing passes while they are exchanged.
Expected<Json> LabServices::reload(const std::string& name) {
  const auto service = find(name);
  if (!service) return tl::unexpected(service.error());
  if ((*service)->has_threads() && threads_ != nullptr) return threads_->reload(**service);
  if (!works_in_daemon(**service)) {
    return fail(std::errc::operation_not_supported,
                fmt::format("{} works {} of its own: that reads its rules anew on SIGHUP", name,
                            (*service)->is_external() ? "on a server" : "in a process"));
  }
  std::vector<Placed*> of_it;
  for (Placed& placed : places_) {
    if (placed.service == *service) of_it.push_back(&placed);
  }
  auto programs = read_programs_anew(**service, of_it.size());
  if (!programs) return tl::unexpected(programs.error());
  const Time now = clock_();
  Json rows = Json::array();
  for (std::size_t i = 0; i < of_it.size(); ++i) {
    const FirewallReload done = exchange(*of_it[i]->made.firewall, std::move((*programs)[i]), now);
    rows.push_back({{"name", name},
                    {"node", of_it[i]->place->node().name()},
                    {"port", of_it[i]->place->port()},
                    {"rules", done.rules},
                    {"connections", done.connections},
                    {"forgotten", done.forgotten}});
  }
  return Json{{"services", std::move(rows)}};
}

Json LabServices::report(const std::string& name, bool details) const {
  Json out = Json::array();
  for (const Placed& placed : places_) {
    if (!name.empty() && placed.service->name != name) continue;
    const ServicePlace& place = *placed.place;
    Json lids = Json::array();
    Json ports = Json::array();
    for (const Seat& seat : placed.seats) {
      ports.push_back(seat.port);
      for (const Lid lid : place.lids(seat.port))
        lids.push_back(lid.value());
    }
    Json row{{"name", placed.service->name},
             {"type", placed.service->type},
             {"node", place.node().name()},
             {"port", place.port()},
             {"ports", std::move(ports)},
             {"lids", std::move(lids)},
             {"held", place.runtime().held()},
             {"paths", place.runtime().paths().size()},
             {"counters", counters_json(place.runtime().counters().snapshot())},
             {"port_counters", counters_json(place.counters())},
             {"filter", counters_json(place.filter_counters())}};
    if (placed.service->is_tap()) row["tap"] = true;
    if (placed.service->dry_run) row["dry_run"] = true;
    if (!placed.trouble.empty()) row["why"] = placed.trouble;
    for (const auto& service : place.services()) {
      Json drops = drops_json(place, *service);
      Json counters = counters_json(service->counters());
      const bool is_before = service != place.services().back();
      if (is_before) {
        row["before"] = {{"drops", std::move(drops)}, {"service", std::move(counters)}};
      } else {
        row["drops"] = std::move(drops);
        row["service"] = std::move(counters);
      }
    }
    if (details && placed.made.describe) row["details"] = placed.made.describe();
    watches_.report(place, row);
    out.push_back(std::move(row));
  }
  Json elsewhere = Json::array();
  watches_.report_processes(name, elsewhere);
  for (Json& row : elsewhere) {
    const LabService& service = *fabric_.lab().data.find(row["name"].get<std::string>());
    if (service.has_threads() && threads_ != nullptr) {
      threads_->report(service, row["node"].get<std::string>(), row);
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace weft::daemon
